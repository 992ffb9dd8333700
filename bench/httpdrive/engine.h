/* SPDX-License-Identifier: Apache-2.0
 * The engine: threads, each with its own epoll, connections and counters, that share nothing but a
 * few atomics. Knows nothing of reports. conn.c moves one connection, record.c writes down how a
 * request ended, worker.c decides which connection sends when, run.c starts and joins. */
#ifndef HTTPDRIVE_ENGINE_H
#define HTTPDRIVE_ENGINE_H

#include "health.h"
#include "pace.h"
#include "plan.h"
#include "response.h"
#include "stats.h"
#include "transport.h"

#include <pthread.h>
#include <stdatomic.h>

#define READ_BUFFER 65536
/* The longest sleep on one socket: within it, the thread sees nothing else. */
#define CONN_SLEEP (10 * NSEC_PER_MSEC)

enum conn_state {
    CONN_CLOSED,
    CONN_CONNECTING,
    CONN_TUNNEL,    /* waiting for the proxy's answer to CONNECT */
    CONN_HANDSHAKE, /* TLS */
    CONN_IDLE,      /* open, without a request */
    CONN_SENDING,
    CONN_WAITING, /* the request is sent, no byte of the answer has come */
    CONN_READING
};

/* A connection, and the request it carries. It is in exactly one list of its worker. */
struct conn {
    struct conn *next, *previous;
    struct conn_list *list; /* the one it is in */
    nsec when;              /* busy: deadline; parked: when to go on */

    int fd; /* -1: closed */
    enum conn_state state;
    SSL *ssl;                 /* NULL: plain, or not that far */
    unsigned address;         /* which of the plan's addresses is being tried */
    unsigned addresses_tried; /* by this request, to give up after all */
    bool watches_out;         /* epoll reports writability too */
    bool peer_closed;         /* no more bytes will come after those that are here */
    bool pending;             /* parked with its request: the socket cannot be connected just now */
    bool ever_used;           /* for --warmup auto */
    bool sleepable;           /* the socket was made ready for transport_wait() */
    unsigned backoff;         /* failures to connect in a row */
    uint32_t served;          /* requests answered since it was opened */

    struct stats *stats;         /* where its request is counted: warm-up or measurement */
    const struct target *target; /* what is asked for */
    bool resent;                 /* once already: not again */
    bool slept;                  /* long enough in transport_wait() */
    bool has_due;                /* open loop */
    size_t sent_bytes;           /* of the target's */
    nsec connecting;             /* when this attempt to connect began */
    nsec begun;                  /* when the request was given to this connection */
    nsec due;                    /* open loop: when it should have been sent */
    nsec sent;                   /* before its first byte went out; 0: not yet */
    nsec first;                  /* first byte of the answer */
    uint32_t body_sum;           /* --verify first: CRC of the body so far */
    bool body_differs;           /* --verify FILE */
    struct response response;    /* parser of the answer */
};

/* Doubly linked, by ascending `when` if filled with list_insert(). */
struct conn_list {
    struct conn *first, *last;
    size_t count;
};

/* What a thread shows to others while it runs; written by it alone. */
struct live {
    _Atomic uint64_t completed;
    _Atomic uint64_t failed;
    _Atomic uint64_t bytes;
    _Atomic uint64_t connections;
    _Atomic nsec slowest; /* of the responses since the reader last took it */
};

enum phase {
    PHASE_WARMUP,  /* not counted in the result */
    PHASE_MEASURE, /* counted */
    PHASE_DRAIN    /* nothing new is begun */
};

/* What the first answer was like. Each group is written by the thread that claimed it. */
struct first_answer {
    atomic_bool claimed, ready;
    char server[128];
    uint64_t length;
    unsigned status;
    unsigned minor; /* HTTP/1.minor */
    atomic_bool tls_claimed;
    char tls[128];    /* version,cipher,key bits,cipher bits */
    char tls_key[64]; /* "X25519 253 bits": the key exchange */
    char head[4096];  /* header lines */
    _Atomic uint64_t
        reference; /* --verify length, first: what all answers have to equal; 0: none */
};

struct run {
    const struct plan *plan;
    struct worker *workers;
    unsigned worker_count;
    pthread_barrier_t barrier;     /* all threads set up; all let go */
    bool aborted;                  /* before it began: some thread could not be set up */
    nsec began;                    /* when the threads were let go */
    _Atomic nsec start;            /* of the measurement; NSEC_NEVER while warming up */
    _Atomic nsec stop;             /* no request begins after it */
    _Atomic nsec give_up;          /* interrupted: no answer is waited for after it */
    _Atomic uint64_t left;         /* -n: requests not yet taken by a thread */
    _Atomic uint64_t warmed;       /* requests of the warm-up answered */
    atomic_uint workers_warmed;    /* threads all of whose connections were used */
    atomic_uint workers_running;   /* 0 ends the main thread's watch */
    atomic_uint preferred_address; /* the one that answered last */
    atomic_bool ever_connected;    /* else the exit code is 3 */
    _Atomic nsec last_answer;      /* to notice that the server is gone */
    int main_fd;                   /* eventfd: wakes the main thread */
    struct first_answer first;
};

struct worker {
    struct run *run;
    const struct plan *plan;
    unsigned index;
    pthread_t thread;
    bool failed; /* set-up failed; `error` says why */
    char error[256];
    int epoll_fd, wake_fd;
    enum phase phase;   /* this thread's; others may be ahead */
    nsec start, stop;   /* as in struct run, once known */
    nsec drained;       /* when requests in flight are given up; NSEC_NEVER: at their deadlines */
    nsec woken;         /* return of the last wait */
    nsec now;           /* read once for each event, not for each use */
    bool eager;         /* sending right after connect works here */
    struct conn *conns; /* all of this thread's, one block */
    unsigned conn_count, conns_used, conns_pending;
    struct conn_list busy, ready, parked, idle, unopened;
    uint64_t quota;                /* requests taken from run->left, not yet begun */
    struct pace pace;              /* open loop: this thread's part of the schedule */
    uint64_t random;               /* state of the choice among URLs */
    unsigned next_source;          /* index of the next source address */
    struct tls_side tls;           /* context and session to resume */
    struct stats warmup, measured; /* written by this thread alone, read after it ended */
    struct second *second;         /* of the series, that is being filled */
    nsec second_end;               /* when the next one begins */
    struct live live;
    struct thread_health health;
    struct response_hooks hooks; /* what of answers has to be looked at */
    struct conn *reading;        /* whose bytes the hooks see */
    struct conn *first;          /* whose answer is the first of the run */
    char buffer[READ_BUFFER];
};

/* conn.c */
void conn_begin(struct worker *w, struct conn *c, nsec due, bool has_due);
void conn_event(struct worker *w, struct conn *c, uint32_t events);
void conn_expire(struct worker *w, struct conn *c);
/* Can this thread sleep on the connection's socket instead of in epoll? See conn.c. */
bool conn_may_sleep(struct conn *c);
/* Does so, for CONN_SLEEP at most, and takes what comes. */
void conn_sleep(struct worker *w, struct conn *c);
/* A pending connection's time has come. */
void conn_resume(struct worker *w, struct conn *c);
void conn_close(struct worker *w, struct conn *c);

/* record.c */
void record_start(struct worker *w, struct conn *c);
void record_opened(struct worker *w);
void record_closed(struct worker *w, struct conn *c);
/* Still open at the end of the run. */
void record_alive(struct worker *w, struct conn *c);
/* Moves on to the second of the series that w->now lies in. */
void record_second(struct worker *w);
void record_end(struct worker *w, struct conn *c, enum outcome o, int number, const char *reason);
void record_in_flight(struct worker *w, struct conn *c);
void record_header(void *baton, const char *name, size_t name_length, const char *value,
                   size_t value_length);
void record_body(void *baton, const char *bytes, size_t n);
/* Is a whole answer a good one? */
enum outcome record_judge(struct worker *w, struct conn *c);
/* The first byte of an answer has come. */
void record_first_byte(struct worker *w, struct conn *c);

/* worker.c */
void *worker_main(void *worker);
/* A connection without a request: what does it do next? */
void worker_next(struct worker *w, struct conn *c);
void worker_rest(struct worker *w, struct conn *c);
void list_insert(struct conn_list *list, struct conn *c, nsec when);
void list_remove(struct conn *c);

/* run.c */
void run_wake(const struct run *run);

#endif
