/* SPDX-License-Identifier: Apache-2.0
 * The result of a run as plain data: what the reports read. It owns what it points to. */
#ifndef HTTPDRIVE_RESULT_H
#define HTTPDRIVE_RESULT_H

#include "health.h"
#include "plan.h"
#include "stats.h"

#include <stdio.h>

#define WARNINGS_MAX  16
#define WARNING_TEXT  200
#define BOUND_REASONS 3

struct thread_report {
    double busy;  /* CPU time / wall time */
    double delay; /* share of the time it waited for a CPU; negative: not known */
};

/* One machine's share in a merged result. */
struct part_report {
    char host[128];             /* as the machine calls itself */
    uint64_t segment;           /* which part of the load */
    double requests_per_second; /* completed within `seconds`, over `seconds` */
    uint64_t failed;
    nsec p50, p99;  /* of the response time */
    bool p99_known; /* enough samples are above it */
    bool client_bound;
};

struct result {
    const struct plan *plan;
    struct stats stats;    /* the measurement */
    struct stats warmup;   /* before it */
    double warmup_seconds; /* from the first connection to the measurement */

    nsec began, started;  /* first connection; begin of the measurement; monotonic */
    double started_epoch; /* begin of the measurement, seconds since 1970 */
    double seconds;       /* its length: to the last answer with -n, to the stop with -t */
    double wall_seconds;  /* with draining */
    double requests_per_second;
    bool interrupted;            /* by SIGINT or SIGTERM */
    bool nothing_connected;      /* not one connection in the whole run */
    char ended_by[WARNING_TEXT]; /* why it was cut short; "" if it was not */

    char server[128];      /* Server header, status and length of the first answer */
    bool have_first;       /* there was a first answer */
    uint64_t first_length; /* of its body */
    unsigned first_status, first_minor;
    char tls[128], tls_key[64]; /* as in struct first_answer */
    char head[4096];            /* header lines of the first answer */

    struct part_report *parts; /* of a merged result */
    size_t part_count;

    struct thread_report *threads; /* owned; NULL in a merged result */
    unsigned thread_count;
    double busy, delay;                 /* of the busiest thread, of the most delayed one */
    double cpu_seconds;                 /* of all threads */
    double cpu_us_per_request;          /* the driver's own cost */
    double waits_per_request;           /* epoll_wait calls */
    double machine_idle, machine_steal; /* shares; negative: not known */
    bool client_bound;
    char bound_reasons[BOUND_REASONS][WARNING_TEXT];
    unsigned bound_reason_count;

    bool have_tree; /* --server-pid was given */
    pid_t tree_pid; /* the root of the server's processes */
    struct tree_sample tree_before, tree_after;
    double tree_cpu_seconds, tree_cpu_us_per_request;

    int steady;           /* 1 yes, 0 no, -1 too short to tell */
    double steady_change; /* last third against first third, as a ratio */
    double concurrency;   /* Little's law: throughput x mean response time; 0: does not apply */
    double
        clock_error; /* of the wall clock in seconds, says the kernel; negative: unsynchronised */

    char warnings[WARNINGS_MAX][WARNING_TEXT];
    unsigned warning_count;
};

/* Everything that follows from the counters: rates, steadiness, warnings. */
void result_conclude(struct result *r);
void result_free(struct result *r);
/* "HD051: nothing could connect to ...", and why. */
void result_unconnected(const struct result *r, char *out, size_t size);
/* The exit code that the options ask for. */
int result_exit_code(const struct result *r);

enum {
    EXIT_GOOD = 0,         /* nothing to complain of */
    EXIT_FAILURES = 1,     /* more than --max-fail */
    EXIT_USAGE = 2,        /* the run could not begin */
    EXIT_UNCONNECTED = 3,  /* nobody listened */
    EXIT_CLIENT_BOUND = 4, /* with --strict */
    EXIT_THRESHOLD = 5,    /* --p99-max */
    EXIT_INTERRUPTED = 130 /* 128 + SIGINT, as shells say */
};

#endif
