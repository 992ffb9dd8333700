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
    char host[128];
    uint64_t segment;
    double requests_per_second;
    uint64_t failed;
    nsec p50, p99; /* of the response time */
    bool client_bound;
};

struct result {
    const struct plan *plan;
    struct stats stats;  /* the measurement */
    struct stats warmup; /* before it */
    double warmup_seconds;

    nsec began, started;  /* first connection; begin of the measurement; monotonic */
    double started_epoch; /* begin of the measurement, seconds since 1970 */
    double seconds;       /* its length: to the last answer with -n, to the stop with -t */
    double wall_seconds;  /* with draining */
    double requests_per_second;
    bool interrupted;
    bool nothing_connected;
    char ended_by[WARNING_TEXT]; /* why it was cut short; "" if it was not */

    char server[128]; /* Server header, status and length of the first answer */
    bool have_first;
    uint64_t first_length;
    unsigned first_status, first_minor;
    char tls[128], tls_key[64];
    char head[4096]; /* header lines of the first answer */

    struct part_report *parts; /* of a merged result */
    size_t part_count;

    struct thread_report *threads;
    unsigned thread_count;
    double busy, delay; /* of the busiest thread, of the most delayed one */
    double cpu_seconds; /* of all threads */
    double cpu_us_per_request;
    double waits_per_request;
    double machine_idle, machine_steal; /* shares; negative: not known */
    bool client_bound;
    char bound_reasons[BOUND_REASONS][WARNING_TEXT];
    unsigned bound_reason_count;

    bool have_tree;
    pid_t tree_pid;
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
/* The exit code that the options ask for. */
int result_exit_code(const struct result *r);

enum {
    EXIT_GOOD = 0,
    EXIT_FAILURES = 1,
    EXIT_USAGE = 2,
    EXIT_UNCONNECTED = 3,
    EXIT_CLIENT_BOUND = 4,
    EXIT_THRESHOLD = 5,
    EXIT_INTERRUPTED = 130
};

#endif
