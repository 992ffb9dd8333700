/* SPDX-License-Identifier: Apache-2.0
 * Log-linear histogram of non-negative integers (nanoseconds, mostly). Each power of two is cut
 * into 2048 equal buckets, so a value is known to 1/2048 of itself at worst, and values below 4096
 * are kept exactly. It belongs to one thread; histograms of several threads are added afterwards.
 */
#ifndef HTTPDRIVE_HIST_H
#define HTTPDRIVE_HIST_H

#include <stdbool.h>
#include <stdint.h>

#define HIST_BITS      11
#define HIST_SUB       (1u << HIST_BITS)
#define HIST_EXPONENTS 32
#define HIST_BUCKETS   ((HIST_EXPONENTS + 1) * HIST_SUB)
/* Larger values are counted in the last bucket; in nanoseconds this is two and a half hours. */
#define HIST_MAX ((UINT64_C(1) << (HIST_BITS + HIST_EXPONENTS)) - 1)

struct hist {
    uint64_t count;
    int64_t min; /* exact; meaningless while count is 0 */
    int64_t max; /* exact */
    double sum;  /* exact to 53 bits */
    double sum_squares;
    uint64_t buckets[HIST_BUCKETS];
};

/* Room for one histogram. Untouched buckets cost no memory. NULL when there is none. */
struct hist *hist_make(void);
void hist_free(struct hist *h);

unsigned hist_index(int64_t value);
/* The smallest value of a bucket, and the value that stands for all of it. */
int64_t hist_low(unsigned index);
int64_t hist_mid(unsigned index);

void hist_record(struct hist *h, int64_t value);
void hist_merge(struct hist *into, const struct hist *from);

double hist_mean(const struct hist *h);
double hist_sd(const struct hist *h);
/* Nearest rank: the value at rank ceil(count * percent / 100). 0 when nothing was recorded. */
int64_t hist_percentile(const struct hist *h, double percent);
/* Do at least ten samples stand above this percentile, so that it means something? */
bool hist_percentile_known(const struct hist *h, double percent);

#endif
