/* SPDX-License-Identifier: Apache-2.0
 * How a request can end. Every request has exactly one outcome, so that
 * started = sum of all outcomes + in flight. */
#ifndef HTTPDRIVE_OUTCOME_H
#define HTTPDRIVE_OUTCOME_H

#include <stdbool.h>

enum outcome {
    OUTCOME_OK,
    OUTCOME_STATUS,        /* a whole answer, but its status is not an expected one */
    OUTCOME_LENGTH,        /* a whole answer of an unexpected length */
    OUTCOME_BODY,          /* a whole answer of unexpected content */
    OUTCOME_REFUSED,       /* nobody listens */
    OUTCOME_UNREACHABLE,   /* no route, no such host or network */
    OUTCOME_CONNECT,       /* any other failure to connect, e.g. no port or descriptor left */
    OUTCOME_PROXY,         /* the proxy refused the tunnel */
    OUTCOME_TLS,           /* the handshake failed, or the TLS stream is damaged */
    OUTCOME_RESET_BEFORE,  /* reset before the first byte of the answer */
    OUTCOME_CLOSED_BEFORE, /* closed before the first byte, on a fresh connection */
    OUTCOME_REUSED_CLOSED, /* same on a reused one, and the method may not be sent twice */
    OUTCOME_RESET_IN,      /* reset within the answer */
    OUTCOME_SHORT_BODY,    /* closed before the end of the answer */
    OUTCOME_BAD_HEAD,      /* not HTTP, or framing headers that contradict each other */
    OUTCOME_HEAD_TOO_LONG,
    OUTCOME_BAD_CHUNK,       /* damaged chunked framing */
    OUTCOME_EXCESS,          /* more bytes than the answer's own length */
    OUTCOME_TIMEOUT_CONNECT, /* the time ran out while connecting (TLS included) */
    OUTCOME_TIMEOUT_SEND,    /* ... before the request was sent whole */
    OUTCOME_TIMEOUT_ANSWER,  /* ... before the first byte of the answer */
    OUTCOME_TIMEOUT_BODY,    /* ... within the answer */
    OUTCOMES
};

/* "reset-before-answer": the name in reports; stable. */
const char *outcome_name(enum outcome o);
/* Was there a whole answer, so that its latency counts? */
bool outcome_answered(enum outcome o);
bool outcome_timed_out(enum outcome o);
/* Which of ab's four classes of failure: 0 connect, 1 receive, 2 length, 3 exceptions; -1 none. */
int outcome_ab_class(enum outcome o);

#endif
