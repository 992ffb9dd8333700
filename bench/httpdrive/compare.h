/* SPDX-License-Identifier: Apache-2.0
 * Two or more servers, or sets of stored results, compared with each other. */
#ifndef HTTPDRIVE_COMPARE_H
#define HTTPDRIVE_COMPARE_H

#include "options.h"
#include "statistics.h"

#include <stdio.h>

#define COMPARE_SIDES OPTIONS_LIST_MAX

/* What is compared. The first is the one the verdict is about. */
enum metric {
    METRIC_RATE,       /* requests a second; more is better. Not compared at a given rate. */
    METRIC_MEDIAN,     /* median response time */
    METRIC_SERVER_CPU, /* with --server-pid */
    METRICS
};

struct compare_side {
    char name[64];
    const char *what;        /* URL, or the pattern of its files */
    double *values[METRICS]; /* one for each run; 0: not measured */
    size_t runs;
    uint64_t failed;
    bool client_bound; /* in any run */
};

struct compare_report {
    bool paired; /* measured in turns, round by round */
    bool open_loop;
    uint64_t rounds, seed;
    struct compare_side sides[COMPARE_SIDES];
    size_t side_count;
    /* Each side against the first one, for each metric. pairs is 0 where nothing was measured. */
    struct comparison results[COMPARE_SIDES][METRICS];
    bool interrupted;
};

/* "requests/s": the name in reports. */
const char *metric_name(enum metric m);

/* Measures in turns what the operands name, or reads it. False when that failed; `error` says why.
 * With `progress`, a line for each round is written there. */
bool compare_execute(struct compare_report *r, const struct options *o, FILE *progress, char *error,
                     size_t error_size);
void compare_free(struct compare_report *r);

void compare_print(const struct compare_report *r, FILE *out);
void compare_json(const struct compare_report *r, FILE *out);

#endif
