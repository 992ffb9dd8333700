/* SPDX-License-Identifier: Apache-2.0
 * Log-linear histogram; see hist.h. Nothing here knows what the values are. */
#include "hist.h"

#include <math.h>
#include <stdlib.h>

/* Samples that have to stand above a percentile before it is worth printing. */
#define SAMPLES_ABOVE 10

/* Large blocks come from the kernel as pages that do not exist until they are written to: half a
 * megabyte is reserved, and what is used is the few pages around the values that occur. */
struct hist *hist_make(void)
{
    return calloc(1, sizeof(struct hist));
}

void hist_free(struct hist *h)
{
    free(h);
}

unsigned hist_index(int64_t value)
{
    /* Clocks are monotonic, so this is for callers that subtract them in the wrong order. */
    uint64_t v = value < 0 ? 0 : (uint64_t)value;
    unsigned shift;

    if (v > HIST_MAX)
        v = HIST_MAX;
    /* The first two groups of buckets are one wide: the value is its own index. */
    if (v < 2 * HIST_SUB)
        return (unsigned)v;
    /* All but the highest HIST_BITS + 1 bits are dropped. The highest one is always set, so it adds
     * HIST_SUB to the index, which is why groups are counted from the second one. */
    shift = 63u - (unsigned)__builtin_clzll(v) - HIST_BITS;
    return shift * HIST_SUB + (unsigned)(v >> shift);
}

/* The inverse of hist_index(). */
int64_t hist_low(unsigned index)
{
    unsigned shift;

    if (index < 2 * HIST_SUB)
        return index;
    shift = index / HIST_SUB - 1;
    return (int64_t)(index - shift * HIST_SUB) << shift;
}

/* Half a bucket above its beginning, so that the error is half a bucket at most. */
int64_t hist_mid(unsigned index)
{
    unsigned shift;

    if (index < 2 * HIST_SUB)
        return index;
    shift = index / HIST_SUB - 1;
    return hist_low(index) + ((INT64_C(1) << shift) >> 1);
}

void hist_record(struct hist *h, int64_t value)
{
    if (value < 0)
        value = 0;
    /* The extremes are kept exactly: a bucket's middle would make a shortest or longest time that
     * nobody measured. */
    if (h->count == 0 || value < h->min)
        h->min = value;
    if (value > h->max)
        h->max = value;
    h->count++;
    h->sum += (double)value;
    h->sum_squares += (double)value * (double)value;
    h->buckets[hist_index(value)]++;
}

void hist_merge(struct hist *into, const struct hist *from)
{
    if (from->count == 0)
        return;
    if (into->count == 0 || from->min < into->min)
        into->min = from->min;
    if (from->max > into->max)
        into->max = from->max;
    into->count += from->count;
    into->sum += from->sum;
    into->sum_squares += from->sum_squares;
    for (unsigned i = 0; i < HIST_BUCKETS; i++) {
        /* Reading is free of memory, writing is not: leave empty buckets untouched. */
        if (from->buckets[i])
            into->buckets[i] += from->buckets[i];
    }
}

double hist_mean(const struct hist *h)
{
    return h->count ? h->sum / (double)h->count : 0;
}

/* Of a sample (n - 1). */
double hist_sd(const struct hist *h)
{
    double n = (double)h->count, variance;

    if (h->count < 2)
        return 0;
    /* The difference of two large sums: rounding can make it a little less than nothing. */
    variance = (h->sum_squares - h->sum * h->sum / n) / (n - 1);
    return variance > 0 ? sqrt(variance) : 0;
}

/* Which of the samples, counted from the smallest, is the one asked for: from 1 to count. */
static uint64_t rank_of(const struct hist *h, double percent)
{
    /* The product of two decimal numbers may lie a hair above the integer it means. */
    double exact = ceil((double)h->count * percent / 100 - 1e-9);

    if (exact < 1)
        return 1;
    return exact >= (double)h->count ? h->count : (uint64_t)exact;
}

int64_t hist_percentile(const struct hist *h, double percent)
{
    uint64_t rank, seen = 0;

    if (h->count == 0)
        return 0;
    rank = rank_of(h, percent);
    /* The largest sample is known better than by its bucket. */
    if (rank == h->count)
        return h->max;
    for (unsigned i = 0; i < HIST_BUCKETS; i++) {
        seen += h->buckets[i];
        if (seen >= rank) {
            /* A middle may lie outside of what was measured when all samples fell to one side of
             * it. */
            int64_t value = hist_mid(i);
            if (value < h->min)
                return h->min;
            return value > h->max ? h->max : value;
        }
    }
    return h->max;
}

bool hist_percentile_known(const struct hist *h, double percent)
{
    if (h->count == 0)
        return false;
    /* Half of the samples stand above the median, and the maximum is no estimate. */
    if (percent <= 50 || percent >= 100)
        return true;
    return h->count - rank_of(h, percent) + 1 > SAMPLES_ABOVE;
}
