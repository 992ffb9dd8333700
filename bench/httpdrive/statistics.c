/* SPDX-License-Identifier: Apache-2.0
 * Medians, bootstrap intervals and rank tests; see statistics.h. The exact tests count, by dynamic
 * programming over doubled ranks (ties have half ranks), how many of all equally likely outcomes
 * are at least as extreme as the one seen. */
#include "statistics.h"
#include "pace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of a false difference, two-sided */
#define LEVEL 0.05
/* An effect is seen in 80 % of all attempts when it is 2.8 standard errors; half the width of a
 * 95 % interval is 1.96 of them. */
#define POWER (2.8 / 1.96)

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* n is at least 1. */
static double median_of_sorted(const double *sorted, size_t n)
{
    return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

double statistics_median(const double *values, size_t n)
{
    double *sorted, median;

    if (n == 0 || !(sorted = malloc(n * sizeof(*sorted))))
        return NAN;
    memcpy(sorted, values, n * sizeof(*sorted));
    qsort(sorted, n, sizeof(*sorted), ascending);
    median = median_of_sorted(sorted, n);
    free(sorted);
    return median;
}

/* Twice the mean rank of each value among all; equal values share theirs. */
static void doubled_ranks(const double *values, size_t n, unsigned *ranks)
{
    for (size_t i = 0; i < n; i++) {
        unsigned below = 0, equal = 0;
        for (size_t k = 0; k < n; k++) {
            below += values[k] < values[i];
            equal += values[k] == values[i];
        }
        /* The ranks below + 1 to below + equal are shared; twice their mean is whole. */
        ranks[i] = 2 * below + equal + 1;
    }
}

/* Two-sided p of a value of a normal distribution. */
static double normal_p(double distance, double deviation)
{
    return deviation > 0 ? erfc(fabs(distance) / deviation / sqrt(2)) : 1;
}

/* The share of all sums that are as far from the middle as `seen`. ways[s]: how often sum s. */
static double two_sided(const double *ways, size_t sums, double middle, double seen)
{
    /* Counts of ways are doubles: up to 2^60 of them, where relative errors of 1e-16 do no harm. */
    double all = 0, extreme = 0;

    for (size_t s = 0; s < sums; s++) {
        all += ways[s];
        if (fabs((double)s - middle) >= fabs(seen - middle) - 1e-9)
            extreme += ways[s];
    }
    return all > 0 ? extreme / all : 1;
}

/* Each rank may have either sign: in how many ways does each sum of the positive ones come about?
 */
static double exact_wilcoxon(const unsigned *ranks, size_t n, size_t seen, size_t total)
{
    double *ways = calloc(total + 1, sizeof(*ways)), p;

    if (!ways)
        return NAN;
    ways[0] = 1;
    for (size_t i = 0; i < n; i++) {
        /* Downwards, so that each rank is used once. */
        for (size_t s = total + 1; s-- > ranks[i];)
            ways[s] += ways[s - ranks[i]];
    }
    p = two_sided(ways, total + 1, (double)total / 2, (double)seen);
    free(ways);
    return p;
}

/* The variance of the sum of signed ranks is a quarter of the sum of their squares, with ties too.
 */
double statistics_wilcoxon(const double *differences, size_t n)
{
    /* Room for n + 1, so that nothing is asked for 0 bytes. */
    double *sizes = calloc(n + 1, sizeof(*sizes)), p = NAN, squares = 0;
    unsigned *ranks = malloc((n + 1) * sizeof(*ranks));
    bool *positive = malloc((n + 1) * sizeof(*positive));
    size_t used = 0, seen = 0, total = 0;

    if (sizes && ranks && positive) {
        for (size_t i = 0; i < n; i++) {
            if (differences[i] == 0)
                continue; /* says nothing in either direction */
            positive[used] = differences[i] > 0;
            sizes[used++] = fabs(differences[i]);
        }
        doubled_ranks(sizes, used, ranks);
        for (size_t i = 0; i < used; i++) {
            total += ranks[i];
            seen += positive[i] ? ranks[i] : 0;
            squares += (double)ranks[i] * ranks[i];
        }
        p = used <= STATISTICS_EXACT
                ? exact_wilcoxon(ranks, used, seen, total)
                : normal_p((double)seen - (double)total / 2, sqrt(squares / 4));
    }
    free(sizes);
    free(ranks);
    free(positive);
    return p;
}

/* In how many ways does a choice of `chosen` ranks make each sum? ways[k * (total + 1) + s] */
static double exact_mann_whitney(const unsigned *ranks, size_t n, size_t chosen, size_t seen,
                                 size_t total)
{
    size_t width = total + 1;
    double *ways = calloc((chosen + 1) * width, sizeof(*ways)), p;

    if (!ways)
        return NAN;
    ways[0] = 1;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = i + 1 < chosen ? i + 1 : chosen; k > 0; k--) {
            for (size_t s = width; s-- > ranks[i];)
                ways[k * width + s] += ways[(k - 1) * width + s - ranks[i]];
        }
    }
    p = two_sided(ways + chosen * width, width, (double)total * (double)chosen / (double)n,
                  (double)seen);
    free(ways);
    return p;
}

/* Beyond the exact range: normal, with the variance of the ranks as they are, which corrects for
 * ties. */
double statistics_mann_whitney(const double *a, size_t na, const double *b, size_t nb)
{
    size_t n = na + nb, seen = 0, total = 0;
    double *all = malloc((n + 1) * sizeof(*all)), p = NAN, mean, squares = 0;
    unsigned *ranks = malloc((n + 1) * sizeof(*ranks));

    if (all && ranks && na && nb) {
        memcpy(all, a, na * sizeof(*all));
        memcpy(all + na, b, nb * sizeof(*all));
        doubled_ranks(all, n, ranks);
        for (size_t i = 0; i < n; i++) {
            total += ranks[i];
            seen += i < na ? ranks[i] : 0;
        }
        mean = (double)total / (double)n;
        for (size_t i = 0; i < n; i++)
            squares += (ranks[i] - mean) * (ranks[i] - mean);
        p = n <= STATISTICS_EXACT
                ? exact_mann_whitney(ranks, n, na, seen, total)
                : normal_p((double)seen - mean * (double)na,
                           sqrt((double)na * (double)nb / (double)n * squares / (double)(n - 1)));
    }
    free(all);
    free(ranks);
    return p;
}

/* The median of n values drawn with replacement. `room` has space for them. */
static double resampled_median(const double *values, size_t n, double *room, uint64_t *random)
{
    for (size_t i = 0; i < n; i++)
        room[i] = values[(size_t)(random_unit(random) * (double)n)];
    qsort(room, n, sizeof(*room), ascending);
    return median_of_sorted(room, n);
}

/* The 95 % interval of median(b) - median(a), or of median(b) alone when there is no a. */
static void bootstrap(const double *a, size_t na, const double *b, size_t nb, uint64_t seed,
                      double *low, double *high)
{
    double *found = malloc(STATISTICS_RESAMPLES * sizeof(*found));
    double *room = malloc((na + nb + 1) * sizeof(*room));

    /* Without memory there is no interval, and nothing will be called different. */
    *low = *high = NAN;
    if (found && room) {
        for (size_t i = 0; i < STATISTICS_RESAMPLES; i++) {
            found[i] = resampled_median(b, nb, room, &seed);
            if (na)
                found[i] -= resampled_median(a, na, room, &seed);
        }
        qsort(found, STATISTICS_RESAMPLES, sizeof(*found), ascending);
        /* The percentile interval: it needs no formula and works for ratios of medians. */
        *low = found[(size_t)(STATISTICS_RESAMPLES * (LEVEL / 2))];
        *high = found[(size_t)(STATISTICS_RESAMPLES * (1 - LEVEL / 2)) - 1];
    }
    free(found);
    free(room);
}

/* From logarithms back to ratios. */
static struct comparison conclude(size_t pairs, double middle, double low, double high, double p)
{
    struct comparison c = {.pairs = pairs,
                           .ratio = exp(middle),
                           .low = exp(low),
                           .high = exp(high),
                           .p = p,
                           .p_adjusted = p,
                           .detectable = exp((high - low) / 2 * POWER) - 1};

    /* Both have to agree: the interval alone is a little too narrow with few runs. */
    c.different = (c.low > 1 || c.high < 1) && p < LEVEL;
    return c;
}

struct comparison statistics_paired(const double *a, const double *b, size_t n, uint64_t seed)
{
    double *logs = malloc((n + 1) * sizeof(*logs)), low, high;
    struct comparison c;

    if (!logs || n == 0) {
        free(logs);
        return (struct comparison){.ratio = NAN, .low = NAN, .high = NAN, .p = 1, .p_adjusted = 1};
    }
    /* Ratios are compared by their logarithms, where twice as fast and half as fast lie at the same
     * distance. A round's own conditions cancel within its ratio. */
    for (size_t i = 0; i < n; i++)
        logs[i] = log(b[i] / a[i]);
    bootstrap(NULL, 0, logs, n, seed, &low, &high);
    c = conclude(n, statistics_median(logs, n), low, high, statistics_wilcoxon(logs, n));
    free(logs);
    return c;
}

struct comparison statistics_unpaired(const double *a, size_t na, const double *b, size_t nb,
                                      uint64_t seed)
{
    double *logs = malloc((na + nb + 1) * sizeof(*logs)), low, high;
    struct comparison c;

    if (!logs || na == 0 || nb == 0) {
        free(logs);
        return (struct comparison){.ratio = NAN, .low = NAN, .high = NAN, .p = 1, .p_adjusted = 1};
    }
    for (size_t i = 0; i < na; i++)
        logs[i] = log(a[i]);
    for (size_t i = 0; i < nb; i++)
        logs[na + i] = log(b[i]);
    bootstrap(logs, na, logs + na, nb, seed, &low, &high);
    c = conclude(na < nb ? na : nb, statistics_median(logs + na, nb) - statistics_median(logs, na),
                 low, high, statistics_mann_whitney(a, na, b, nb));
    free(logs);
    return c;
}

void statistics_correct(struct comparison *all, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double adjusted = 0;
        /* The k-th smallest p is multiplied by n - k + 1, and none may be below a smaller one's. */
        for (size_t k = 0; k < n; k++) {
            size_t smaller = 0;
            double candidate;
            if (all[k].p > all[i].p || (all[k].p == all[i].p && k > i))
                continue;
            for (size_t m = 0; m < n; m++)
                smaller += all[m].p < all[k].p || (all[m].p == all[k].p && m < k);
            candidate = all[k].p * (double)(n - smaller);
            adjusted = candidate > adjusted ? candidate : adjusted;
        }
        all[i].p_adjusted = adjusted < 1 ? adjusted : 1;
    }
    for (size_t i = 0; i < n; i++)
        all[i].different = (all[i].low > 1 || all[i].high < 1) && all[i].p_adjusted < LEVEL;
}
