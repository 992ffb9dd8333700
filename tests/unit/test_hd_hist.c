/* SPDX-License-Identifier: Apache-2.0
 * The driver's histogram against sorted samples. */
#include "bench/httpdrive/hist.h"
#include "bench/httpdrive/pace.h"
#include "bench/httpdrive/series.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#define WORST_ERROR (1.0 / HIST_SUB)

static void keeps_every_value_within_the_bound(void **state)
{
    (void)state;
    for (int64_t value = 0; value < (INT64_C(1) << 42);
         value = value < 10000 ? value + 1 : value + value / 97) {
        unsigned index = hist_index(value);
        assert_true(index < HIST_BUCKETS);
        assert_true(hist_low(index) <= value && value < hist_low(index + 1));
        assert_true(fabs((double)(hist_mid(index) - value)) <= WORST_ERROR * (double)value);
    }
    assert_int_equal(hist_index(-5), 0);
    assert_int_equal(hist_index(INT64_MAX), hist_index((int64_t)HIST_MAX));
}

static void has_buckets_without_gaps(void **state)
{
    (void)state;
    for (unsigned i = 0; i + 1 < HIST_BUCKETS; i++) {
        assert_int_equal(hist_index(hist_low(i)), i);
        assert_int_equal(hist_index(hist_low(i + 1) - 1), i);
    }
}

static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void compare_with_sorted(int64_t *samples, size_t n)
{
    static const double percents[] = {0, 1, 25, 50, 66, 75, 80, 90, 95, 98, 99, 99.9, 99.99, 100};
    struct hist *h = hist_make();

    for (size_t i = 0; i < n; i++)
        hist_record(h, samples[i]);
    qsort(samples, n, sizeof(*samples), ascending);
    assert_int_equal(h->min, samples[0]);
    assert_int_equal(h->max, samples[n - 1]);
    for (size_t i = 0; i < sizeof(percents) / sizeof(*percents); i++) {
        size_t rank = (size_t)ceil((double)n * percents[i] / 100 - 1e-9);
        int64_t exact = samples[rank ? rank - 1 : 0];
        double error = fabs((double)(hist_percentile(h, percents[i]) - exact));
        assert_true(error <= WORST_ERROR * (double)exact);
    }
    hist_free(h);
}

static void has_the_percentiles_of_the_sorted_samples(void **state)
{
    static int64_t samples[20000];
    uint64_t random = 1;

    (void)state;
    for (size_t n = 1; n <= 20000; n = n < 20 ? n + 1 : n * 3 - 7) {
        for (size_t i = 0; i < n; i++)
            samples[i] = (int64_t)exp(random_unit(&random) * 25);
        compare_with_sorted(samples, n);
    }
}

static void has_the_middle_one_of_three_as_median(void **state)
{
    struct hist *h = hist_make();

    (void)state;
    hist_record(h, 10);
    hist_record(h, 300);
    hist_record(h, 20);
    assert_int_equal(hist_percentile(h, 50), 20);
    assert_int_equal(hist_percentile(h, 100), 300);
    hist_free(h);
}

static void does_not_take_the_next_rank(void **state)
{
    struct hist *h = hist_make();

    (void)state;
    for (int i = 0; i < 99; i++)
        hist_record(h, 2);
    hist_record(h, 100);
    assert_int_equal(hist_percentile(h, 99), 2);
    assert_int_equal(hist_percentile(h, 99.5), 100);
    hist_free(h);
}

static void merges_as_if_recorded_together(void **state)
{
    struct hist *a = hist_make(), *b = hist_make(), *both = hist_make();
    uint64_t random = 7;

    (void)state;
    hist_merge(a, b);
    assert_int_equal(a->count, 0);
    for (int i = 0; i < 5000; i++) {
        int64_t value = (int64_t)(random_unit(&random) * 1e9);
        hist_record(i % 3 ? a : b, value);
        hist_record(both, value);
    }
    hist_merge(a, b);
    assert_int_equal(a->count, both->count);
    assert_int_equal(a->min, both->min);
    assert_int_equal(a->max, both->max);
    assert_memory_equal(a->buckets, both->buckets, sizeof(a->buckets));
    assert_true(fabs(hist_mean(a) - hist_mean(both)) < 1);
    assert_true(fabs(hist_sd(a) - hist_sd(both)) < 1);
    hist_free(a);
    hist_free(b);
    hist_free(both);
}

static void has_mean_and_deviation(void **state)
{
    struct hist *h = hist_make();

    (void)state;
    assert_true(hist_mean(h) == 0 && hist_sd(h) == 0 && hist_percentile(h, 50) == 0);
    for (int i = 2; i <= 8; i += 2)
        hist_record(h, i * 1000);
    assert_true(fabs(hist_mean(h) - 5000) < 1e-6);
    assert_true(fabs(hist_sd(h) - 2581.988897) < 1e-3);
    hist_free(h);
}

static void knows_which_percentiles_mean_something(void **state)
{
    struct hist *h = hist_make();

    (void)state;
    assert_false(hist_percentile_known(h, 50));
    for (int i = 0; i < 999; i++)
        hist_record(h, i);
    assert_true(hist_percentile_known(h, 50));
    assert_false(hist_percentile_known(h, 99.9));
    hist_record(h, 5);
    assert_true(hist_percentile_known(h, 99));
    hist_free(h);
}

static void keeps_a_coarse_histogram_of_each_second(void **state)
{
    struct series a, b;
    struct second *s;

    (void)state;
    assert_true(series_init(&a) && series_init(&b));
    s = series_second(&a, 0);
    for (int i = 1; i <= 100; i++)
        series_record(&a, s, i * 1000000);
    s = series_second(&a, 3);
    series_record(&a, s, 5);
    series_close(&a);
    assert_int_equal(a.count, 4);
    assert_true(fabs((double)second_percentile(&a.seconds[0], 50) - 50e6) < 50e6 / 128);
    assert_int_equal(a.seconds[0].max, 100000000);
    assert_int_equal(second_percentile(&a.seconds[1], 50), 0);
    assert_int_equal(second_percentile(&a.seconds[3], 99), 5);
    assert_true(series_merge(&b, &a) && series_merge(&b, &a));
    assert_int_equal(b.seconds[3].buckets[0].count, 2);
    assert_int_equal(b.seconds[0].bucket_count, a.seconds[0].bucket_count);
    series_free(&a);
    series_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_every_value_within_the_bound),
        cmocka_unit_test(has_buckets_without_gaps),
        cmocka_unit_test(has_the_percentiles_of_the_sorted_samples),
        cmocka_unit_test(has_the_middle_one_of_three_as_median),
        cmocka_unit_test(does_not_take_the_next_rank),
        cmocka_unit_test(merges_as_if_recorded_together),
        cmocka_unit_test(has_mean_and_deviation),
        cmocka_unit_test(knows_which_percentiles_mean_something),
        cmocka_unit_test(keeps_a_coarse_histogram_of_each_second),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
