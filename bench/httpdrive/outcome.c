/* SPDX-License-Identifier: Apache-2.0
 * Names and groups of outcomes; see outcome.h. */
#include "outcome.h"

/* ab knows four reasons only; a script that reads them finds each failure in the nearest one. A
 * status is no failure to ab. */
enum {
    AB_NONE = -1,
    AB_CONNECT,
    AB_RECEIVE,
    AB_LENGTH,
    AB_EXCEPTION
};

/* The names are part of the JSON's contract (docs/httpdrive-json.md): add, but do not rename. */
static const struct {
    const char *name;
    signed char ab_class;
} outcomes[OUTCOMES] = {
    [OUTCOME_OK] = {"ok", AB_NONE},
    /* ab has a line "Non-2xx responses" for it. */
    [OUTCOME_STATUS] = {"status", AB_NONE},
    [OUTCOME_LENGTH] = {"length-mismatch", AB_LENGTH},
    [OUTCOME_BODY] = {"body-mismatch", AB_LENGTH},
    [OUTCOME_REFUSED] = {"refused", AB_CONNECT},
    [OUTCOME_UNREACHABLE] = {"unreachable", AB_CONNECT},
    [OUTCOME_CONNECT] = {"connect-failed", AB_CONNECT},
    [OUTCOME_PROXY] = {"proxy", AB_CONNECT},
    [OUTCOME_TLS] = {"tls", AB_CONNECT},
    [OUTCOME_RESET_BEFORE] = {"reset-before-answer", AB_RECEIVE},
    [OUTCOME_CLOSED_BEFORE] = {"closed-before-answer", AB_RECEIVE},
    [OUTCOME_REUSED_CLOSED] = {"reused-closed", AB_RECEIVE},
    [OUTCOME_RESET_IN] = {"reset-in-answer", AB_RECEIVE},
    /* ab takes a short body for a good one (its length is compared with the first answer's only).
     */
    [OUTCOME_SHORT_BODY] = {"short-body", AB_LENGTH},
    [OUTCOME_BAD_HEAD] = {"bad-head", AB_EXCEPTION},
    [OUTCOME_HEAD_TOO_LONG] = {"head-too-long", AB_EXCEPTION},
    [OUTCOME_BAD_CHUNK] = {"bad-chunk", AB_EXCEPTION},
    [OUTCOME_EXCESS] = {"excess-bytes", AB_LENGTH},
    [OUTCOME_TIMEOUT_CONNECT] = {"timeout-connect", AB_CONNECT},
    [OUTCOME_TIMEOUT_SEND] = {"timeout-send", AB_EXCEPTION},
    [OUTCOME_TIMEOUT_ANSWER] = {"timeout-answer", AB_EXCEPTION},
    [OUTCOME_TIMEOUT_BODY] = {"timeout-body", AB_EXCEPTION},
};

const char *outcome_name(enum outcome o)
{
    return outcomes[o].name;
}

/* The order of the enum is used here: whole answers first, time-outs last. */
bool outcome_answered(enum outcome o)
{
    return o <= OUTCOME_BODY;
}

bool outcome_timed_out(enum outcome o)
{
    return o >= OUTCOME_TIMEOUT_CONNECT && o <= OUTCOME_TIMEOUT_BODY;
}

int outcome_ab_class(enum outcome o)
{
    return outcomes[o].ab_class;
}
