/* SPDX-License-Identifier: Apache-2.0
 * The driver's plan of an open loop. */
#include "bench/httpdrive/pace.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static void spaces_requests_evenly(void **state)
{
    struct pace p;

    (void)state;
    pace_init(&p, 1000, false, 0, 1, 0, 0);
    for (nsec due = 0; due < NSEC_PER_SEC; due += NSEC_PER_MSEC) {
        assert_int_equal(p.due, due);
        pace_take(&p);
    }
}

static void does_not_drift(void **state)
{
    static const double rates[] = {0.3, 7, 333.3333, 999983};
    struct pace p;

    (void)state;
    for (size_t i = 0; i < sizeof(rates) / sizeof(*rates); i++) {
        double k = floor(rates[i] * 86400 * 30); /* a month */
        pace_init(&p, rates[i], false, 0, 1, 0, 0);
        p.next = (uint64_t)k - 1;
        pace_take(&p);
        assert_true(fabsl((long double)p.due - (long double)k * 1e9L / (long double)rates[i]) <
                    1000);
    }
}

static void parts_make_one_schedule(void **state)
{
    struct pace whole, parts[3];

    (void)state;
    pace_init(&whole, 700, false, 0, 1, 1000, 0);
    for (uint64_t i = 0; i < 3; i++)
        pace_init(&parts[i], 700, false, i, 3, 1000, 0);
    for (int k = 0; k < 1000; k++) {
        assert_int_equal(whole.due, parts[k % 3].due);
        pace_take(&whole);
        pace_take(&parts[k % 3]);
    }
    assert_true(whole.due == NSEC_NEVER);
    for (int i = 0; i < 3; i++)
        assert_true(parts[i].due == NSEC_NEVER);
}

static void makes_exponential_gaps(void **state)
{
    struct pace p;
    double sum = 0, squares = 0;
    nsec before = 0;
    int n = 100000;

    (void)state;
    pace_init(&p, 1000, true, 1, 2, 0, 42); /* half of the load: 500 a second */
    for (int i = 0; i < n; i++) {
        double gap = (double)(p.due - before);
        assert_true(p.due >= before);
        sum += gap;
        squares += gap * gap;
        before = p.due;
        pace_take(&p);
    }
    assert_true(fabs(sum / n / 2e6 - 1) < 0.02);
    /* The deviation of exponential gaps equals their mean. */
    assert_true(fabs(sqrt(squares / n - (sum / n) * (sum / n)) / (sum / n) - 1) < 0.03);
}

static void repeats_with_the_same_seed(void **state)
{
    struct pace a, b, other;
    int different = 0;

    (void)state;
    pace_init(&a, 100, true, 0, 1, 0, 5);
    pace_init(&b, 100, true, 0, 1, 0, 5);
    pace_init(&other, 100, true, 0, 1, 0, 6);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(a.due, b.due);
        different += a.due != other.due;
        pace_take(&a);
        pace_take(&b);
        pace_take(&other);
    }
    assert_true(different > 90);
}

static void counts_what_it_skips(void **state)
{
    struct pace p;

    (void)state;
    pace_init(&p, 10, false, 0, 1, 25, 0);
    assert_int_equal(pace_skip(&p, NSEC_PER_SEC), 10);
    assert_int_equal(pace_skip(&p, 10 * NSEC_PER_SEC), 15);
    assert_int_equal(pace_skip(&p, NSEC_NEVER), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spaces_requests_evenly),     cmocka_unit_test(does_not_drift),
        cmocka_unit_test(parts_make_one_schedule),    cmocka_unit_test(makes_exponential_gaps),
        cmocka_unit_test(repeats_with_the_same_seed), cmocka_unit_test(counts_what_it_skips),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
