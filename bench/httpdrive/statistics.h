/* SPDX-License-Identifier: Apache-2.0
 * Is B faster than A, or was it chance? Pure functions over a few numbers, one for each run: the
 * run is the unit, never the request. No normality is assumed anywhere. */
#ifndef HTTPDRIVE_STATISTICS_H
#define HTTPDRIVE_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STATISTICS_RESAMPLES 10000
/* Beyond this many runs the exact distributions are replaced by normal ones. */
#define STATISTICS_EXACT 60

/* What a comparison found. All ratios are B / A. */
struct comparison {
    size_t pairs;      /* rounds, or the smaller of two sets */
    double ratio;      /* median */
    double low, high;  /* its 95 % interval */
    double p;          /* two-sided */
    double p_adjusted; /* with Holm's correction, when several things were compared */
    double detectable; /* the smallest relative difference that would most likely be seen */
    bool different;    /* interval and p agree that it is no chance */
};

double statistics_median(const double *values, size_t n);

/* Wilcoxon's signed-rank test: two-sided p of "the differences are around 0". Exact with ties. */
double statistics_wilcoxon(const double *differences, size_t n);
/* Mann-Whitney's test: two-sided p of "both sets come from one distribution". Exact with ties. */
double statistics_mann_whitney(const double *a, size_t na, const double *b, size_t nb);

/* a[i] and b[i] are of the same round. All have to be above 0. */
struct comparison statistics_paired(const double *a, const double *b, size_t n, uint64_t seed);
/* Two sets of runs that are not paired. */
struct comparison statistics_unpaired(const double *a, size_t na, const double *b, size_t nb,
                                      uint64_t seed);
/* Holm's correction over several comparisons of the same runs; sets p_adjusted and different. */
void statistics_correct(struct comparison *all, size_t n);

#endif
