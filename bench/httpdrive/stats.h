/* SPDX-License-Identifier: Apache-2.0
 * What a run counts: plain numbers that belong to one thread and are added afterwards. Nothing
 * here knows sockets, the clock, or how a report looks. */
#ifndef HTTPDRIVE_STATS_H
#define HTTPDRIVE_STATS_H

#include "clock.h"
#include "hist.h"
#include "outcome.h"
#include "series.h"

#include <stdint.h>

#define STATUS_CODES 1000
#define ERROR_KINDS  32
#define TALLY_VALUE  64

enum phase_time {
    TIME_RESPONSE, /* from the due time (open loop) or the first step (closed loop) to the end */
    TIME_SERVICE,  /* from sending to the end */
    TIME_TTFB,     /* from sending to the first byte of the answer */
    TIME_SETUP,    /* from the first step to sending, of requests that needed a new connection */
    TIME_CONNECT,  /* TCP connect, and the proxy's answer to CONNECT */
    TIME_TLS,      /* handshake */
    TIME_LATENESS, /* the driver's own: from the wake-up to the handling of an event */
    TIMES
};

/* "connect": the name in reports; stable. */
const char *phase_time_name(enum phase_time t);

/* A failure and the system's reason for it. */
struct error_count {
    enum outcome outcome; /* the failure */
    int number;           /* errno; 0 when the reason is text only */
    const char *reason;   /* static text, or NULL */
    uint64_t count;
};

struct tally_entry {
    char value[TALLY_VALUE]; /* cut off if longer */
    uint64_t count;
};

/* How often each value of one header was seen; open addressing, doubled when half full. */
struct tally {
    struct tally_entry *entries; /* `size` of them; count 0: free */
    size_t size;                 /* a power of two, or 0 */
    size_t used;                 /* different values */
};

/* One request, for lists of all (-g). */
struct logged {
    nsec begun; /* on the monotonic clock */
    nsec setup; /* connecting; 0 on a connection that was open */
    nsec wait;  /* from sending to the first byte */
    nsec total;
};

struct request_log {
    struct logged *entries;
    size_t count, room;
    bool wanted; /* -g: nothing is kept otherwise */
    bool lost;   /* no memory was left for some */
};

struct target_stats {
    uint64_t started;
    uint64_t ok;
    struct hist *response; /* ns, as TIME_RESPONSE */
};

struct stats {
    uint64_t started;
    uint64_t outcomes[OUTCOMES];   /* each request that ended is in one */
    uint64_t status[STATUS_CODES]; /* whole answers, by code */
    uint64_t in_flight;            /* at the end */
    nsec oldest_in_flight;         /* how long it had been waiting */
    uint64_t completed_in_time;    /* before the clock of the measurement ended */
    uint64_t resent;         /* sent again since the server had closed a kept-alive connection */
    uint64_t interim;        /* 1xx answers */
    uint64_t kept_alive;     /* answers after which the connection stayed open */
    uint64_t bytes_received; /* heads, framing and bodies; TLS not included */
    uint64_t bytes_body;     /* bodies without chunk framing */
    uint64_t bytes_sent;     /* the same of requests */
    uint64_t bytes_body_sent;
    nsec last_completion; /* on the monotonic clock */

    uint64_t connect_attempts;    /* calls of connect(), also to other addresses */
    uint64_t connections_opened;  /* TCP established */
    uint64_t connections_carried; /* open when this phase began */
    uint64_t connections_closed;
    uint64_t connections_alive;      /* at the end: carried + opened = closed + alive */
    uint64_t connections_unanswered; /* that never carried a whole answer */
    uint64_t tls_resumed;            /* handshakes that were short */
    uint64_t connect_retransmits;    /* connections whose first packets were lost */
    struct hist *per_connection;     /* requests answered on each connection */

    uint64_t scheduled; /* open loop: due before the end */
    uint64_t late;      /* sent more than 1 ms after they were due */
    uint64_t unsent;    /* still waiting at the end */

    struct hist *times[TIMES]; /* ns */
    struct series series;      /* by seconds since the begin of the measurement */
    struct tally tally;        /* --tally */
    struct request_log log;
    struct error_count errors[ERROR_KINDS];
    unsigned error_kinds;
    uint64_t errors_unlisted;     /* of kinds beyond the table */
    struct target_stats *targets; /* with several URLs, else NULL */
    unsigned target_count;
};

/* Makes room for everything; false when there is no memory. `targets` may be 1, then nothing is
 * kept per target. */
bool stats_init(struct stats *s, unsigned targets);
void stats_free(struct stats *s);
bool stats_merge(struct stats *into, const struct stats *from);

void stats_error(struct stats *s, enum outcome o, int number, const char *reason, uint64_t count);
void stats_log(struct stats *s, const struct logged *entry);
bool tally_add(struct tally *t, const char *value, size_t length, uint64_t count);

uint64_t stats_failed(const struct stats *s);
uint64_t stats_completed(const struct stats *s); /* all outcomes */
bool stats_conserved(const struct stats *s);     /* started = outcomes + in flight */

#endif
