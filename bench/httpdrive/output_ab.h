/* SPDX-License-Identifier: Apache-2.0
 * The quantities of ab's reports, for its text and its HTML table: one set of numbers in both. */
#ifndef HTTPDRIVE_OUTPUT_AB_H
#define HTTPDRIVE_OUTPUT_AB_H

#include "result.h"

/* A row of "Connection Times", in ns. */
struct ab_row {
    const char *name, *what; /* "Connect:", "the initial connection time" */
    double min, mean, sd, median, max;
};

enum {
    ROW_CONNECT,
    ROW_PROCESSING,
    ROW_WAITING,
    ROW_TOTAL,
    AB_ROWS
};

void ab_rows(const struct result *r, struct ab_row rows[AB_ROWS]);
/* ab's tables hold whole milliseconds. */
long ab_whole_ms(double ns);

/* Each failure in one of ab's classes, in its order: connect, receive, length, exceptions. */
void ab_failure_classes(const struct stats *s, uint64_t classes[4]);
/* Failures in ab's sense: an answer with an error status is none, it has a line of its own. */
uint64_t ab_failed(const struct stats *s);
uint64_t ab_not_2xx(const struct stats *s);

/* Are there lines on what was sent? */
bool ab_sends_body(const struct plan *p);
uint64_t ab_body_sent(const struct result *r);
/* In KiB/s */
double ab_received_rate(const struct result *r);
double ab_sent_rate(const struct result *r);

#endif
