/* SPDX-License-Identifier: Apache-2.0
 * idle_pool in one thread: who gets which item, how many there are, when one is destroyed. */
#include "tests/unit/fake_vms.h"

static void makes_an_item_when_none_is_idle(void **state)
{
    world w;
    idle_item *a, *b;

    start(state, &w, (idle_pool_limits){.max_idle = 2, .max = 2});
    a = take(&w);
    b = take(&w);
    assert_ptr_not_equal(a, b);
    assert_int_equal(counts_of(&w).made, 2);
    assert_int_equal(counts_of(&w).busy, 2);
    idle_pool_release(w.pool, a, 1, 0);
    idle_pool_release(w.pool, b, 1, 0);
    finish(&w);
}

static void reuses_an_idle_item(void **state)
{
    world w;
    idle_item *a;

    start(state, &w, (idle_pool_limits){.max_idle = 1, .max = 1});
    a = take(&w);
    idle_pool_release(w.pool, a, 1, 0);
    assert_int_equal(counts_of(&w).idle, 1);
    assert_ptr_equal(take(&w), a);
    assert_int_equal(counts_of(&w).made, 1);
    assert_int_equal(counts_of(&w).reused, 1);
    assert_int_equal(counts_of(&w).idle, 0);
    idle_pool_release(w.pool, a, 1, 0);
    assert_int_equal(counts_of(&w).reset, 2);
    finish(&w);
}

static void hands_out_the_item_given_back_last(void **state)
{
    world w;
    idle_item *a, *b, *c;

    start(state, &w, (idle_pool_limits){.max_idle = 3, .max = 3});
    a = take(&w);
    b = take(&w);
    c = take(&w);
    idle_pool_release(w.pool, a, 1, 0);
    idle_pool_release(w.pool, c, 1, 0);
    idle_pool_release(w.pool, b, 1, 0);
    assert_ptr_equal(take(&w), b);
    assert_ptr_equal(take(&w), c);
    assert_ptr_equal(take(&w), a);
    idle_pool_release(w.pool, a, 1, 0);
    idle_pool_release(w.pool, b, 1, 0);
    idle_pool_release(w.pool, c, 1, 0);
    finish(&w);
}

static void drops_an_unhealthy_item(void **state)
{
    world w;

    start(state, &w, (idle_pool_limits){.max_idle = 1, .max = 1});
    idle_pool_release(w.pool, take(&w), 0, 0);
    assert_int_equal(w.existing, 0);
    assert_int_equal(counts_of(&w).dropped, 1);
    assert_int_equal(counts_of(&w).reset, 0);
    idle_pool_release(w.pool, take(&w), 1, 0);
    assert_int_equal(counts_of(&w).made, 2);
    finish(&w);
}

static void drops_an_item_after_its_last_use(void **state)
{
    world w;
    int i;

    start(state, &w, (idle_pool_limits){.max_idle = 1, .max = 1, .max_uses = 3});
    for (i = 0; i < 7; i++)
        idle_pool_release(w.pool, take(&w), 1, 0);
    assert_int_equal(counts_of(&w).made, 3);
    assert_int_equal(counts_of(&w).dropped, 2);
    finish(&w);
}

static void keeps_no_more_idle_than_allowed(void **state)
{
    world w;
    idle_item *a, *b, *c;

    start(state, &w, (idle_pool_limits){.max_idle = 1, .max = 3});
    a = take(&w);
    b = take(&w);
    c = take(&w);
    idle_pool_release(w.pool, a, 1, 0);
    idle_pool_release(w.pool, b, 1, 0);
    idle_pool_release(w.pool, c, 1, 0);
    assert_int_equal(counts_of(&w).idle, 1);
    assert_int_equal(counts_of(&w).dropped, 2);
    assert_int_equal(w.existing, 1);
    finish(&w);
}

static void warms_up_to_the_minimum(void **state)
{
    world w;

    start(state, &w, (idle_pool_limits){.min = 2, .max_idle = 3, .max = 4});
    assert_int_equal(idle_pool_warm(w.pool), APR_SUCCESS);
    assert_int_equal(counts_of(&w).idle, 2);
    assert_int_equal(idle_pool_warm(w.pool), APR_SUCCESS);
    assert_int_equal(counts_of(&w).made, 2);
    idle_pool_release(w.pool, take(&w), 0, 0);
    assert_int_equal(counts_of(&w).idle, 1);
    assert_int_equal(idle_pool_warm(w.pool), APR_SUCCESS);
    assert_int_equal(counts_of(&w).idle, 2);
    assert_int_equal(counts_of(&w).reused, 0);
    finish(&w);
}

static void says_when_warming_failed(void **state)
{
    world w;

    start(state, &w, (idle_pool_limits){.min = 2, .max_idle = 2, .max = 2});
    w.failures_wanted = 1;
    assert_int_equal(idle_pool_warm(w.pool), APR_EGENERAL);
    assert_int_equal(counts_of(&w).failed, 1);
    assert_int_equal(counts_of(&w).busy, 0);
    assert_int_equal(idle_pool_warm(w.pool), APR_SUCCESS);
    assert_int_equal(counts_of(&w).idle, 2);
    finish(&w);
}

static void lends_the_newest_idle_item_without_counting_a_use(void **state)
{
    world w;
    idle_item *a;
    idle_pool_counts before;

    start(state, &w, (idle_pool_limits){.max_idle = 1, .max = 1, .max_uses = 2});
    assert_null(idle_pool_borrow(w.pool));
    a = take(&w);
    assert_null(idle_pool_borrow(w.pool));
    idle_pool_release(w.pool, a, 1, 0);
    before = counts_of(&w);
    assert_ptr_equal(idle_pool_borrow(w.pool), a);
    assert_int_equal(counts_of(&w).busy, 1);
    idle_pool_give_back(w.pool, a);
    assert_int_equal(counts_of(&w).idle, 1);
    assert_int_equal(counts_of(&w).reset, before.reset);
    assert_int_equal(counts_of(&w).reused, before.reused);
    assert_ptr_equal(take(&w), a);
    idle_pool_release(w.pool, a, 1, 0);
    assert_int_equal(counts_of(&w).dropped, 1);
    finish(&w);
}

static void hands_out_an_idle_item_or_none(void **state)
{
    world w;
    idle_item *a;

    start(state, &w, (idle_pool_limits){.max_idle = 1, .max = 1, .max_uses = 2});
    assert_null(idle_pool_try(w.pool));
    a = take(&w);
    assert_null(idle_pool_try(w.pool));
    idle_pool_release(w.pool, a, 1, 0);
    assert_ptr_equal(idle_pool_try(w.pool), a);
    assert_int_equal(counts_of(&w).reused, 1);
    idle_pool_release(w.pool, a, 1, 0);
    assert_int_equal(counts_of(&w).dropped, 1); /* the second use was its last */
    finish(&w);
}

static void destroys_a_lent_item_when_it_was_closed_meanwhile(void **state)
{
    world w;
    idle_item *a;

    start(state, &w, (idle_pool_limits){.min = 1, .max_idle = 1, .max = 1});
    assert_int_equal(idle_pool_warm(w.pool), APR_SUCCESS);
    a = idle_pool_borrow(w.pool);
    idle_pool_close(w.pool);
    assert_int_equal(w.existing, 1);
    idle_pool_give_back(w.pool, a);
    assert_int_equal(w.existing, 0);
    finish(&w);
}

static void expires_the_longest_idle_and_keeps_the_minimum(void **state)
{
    world w;
    idle_item *a, *b, *c;

    start(state, &w,
          (idle_pool_limits){.min = 1, .max_idle = 3, .max = 3, .idle_timeout = 10 * SECOND});
    a = take(&w);
    b = take(&w);
    c = take(&w);
    idle_pool_release(w.pool, a, 1, 0);
    w.now += 8 * SECOND;
    idle_pool_release(w.pool, b, 1, w.now);
    idle_pool_release(w.pool, c, 1, w.now);
    assert_int_equal(idle_pool_expire(w.pool), 0);
    w.now += 4 * SECOND;
    assert_int_equal(idle_pool_expire(w.pool), 1);
    w.now += 100 * SECOND;
    assert_int_equal(idle_pool_expire(w.pool), 1);
    assert_ptr_equal(take(&w), c);
    assert_int_equal(counts_of(&w).dropped, 2);
    idle_pool_release(w.pool, c, 1, 0);
    finish(&w);
}

static void expires_no_other_for_one_that_was_used_for_long(void **state)
{
    world w;
    idle_item *a, *b;

    start(state, &w, (idle_pool_limits){.max_idle = 2, .max = 2, .idle_timeout = 10 * SECOND});
    a = take(&w);
    b = take(&w);
    idle_pool_release(w.pool, a, 1, w.now);
    idle_pool_release(w.pool, b, 1, w.now - 60 * SECOND);
    assert_int_equal(idle_pool_expire(w.pool), 0);
    w.now += 11 * SECOND;
    assert_int_equal(idle_pool_expire(w.pool), 2);
    finish(&w);
}

static void expires_nothing_without_a_timeout(void **state)
{
    world w;

    start(state, &w, (idle_pool_limits){.max_idle = 1, .max = 1});
    idle_pool_release(w.pool, take(&w), 1, 0);
    w.now += 1000000 * SECOND;
    assert_int_equal(idle_pool_expire(w.pool), 0);
    assert_int_equal(counts_of(&w).idle, 1);
    finish(&w);
}

static void gives_a_failed_creation_its_place_back(void **state)
{
    world w;
    idle_item *item;

    start(state, &w, (idle_pool_limits){.max_idle = 1, .max = 1});
    w.failures_wanted = 2;
    assert_int_equal(idle_pool_acquire(w.pool, &item), APR_EGENERAL);
    assert_int_equal(idle_pool_acquire(w.pool, &item), APR_EGENERAL);
    assert_int_equal(counts_of(&w).busy, 0);
    assert_int_equal(counts_of(&w).failed, 2);
    idle_pool_release(w.pool, take(&w), 1, 0);
    finish(&w);
}

static void gives_up_waiting_after_the_timeout(void **state)
{
    world w;
    idle_item *item, *none = NULL;

    start(state, &w, (idle_pool_limits){.max_idle = 1, .max = 1, .wait_timeout = 2000});
    item = take(&w);
    assert_int_equal(idle_pool_acquire(w.pool, &none), APR_TIMEUP);
    assert_null(none);
    assert_int_equal(counts_of(&w).waited, 1);
    assert_int_equal(counts_of(&w).timed_out, 1);
    assert_true(counts_of(&w).longest_wait >= 2000);
    assert_int_equal(idle_pool_acquire(w.pool, &none), APR_TIMEUP); /* the first left the queue */
    idle_pool_release(w.pool, item, 1, 0);
    idle_pool_release(w.pool, take(&w), 1, 0);
    finish(&w);
}

static void does_not_wait_without_a_timeout(void **state)
{
    world w;
    idle_item *item, *none;

    start(state, &w, (idle_pool_limits){.max_idle = 1, .max = 1});
    item = take(&w);
    assert_int_equal(idle_pool_acquire(w.pool, &none), APR_TIMEUP);
    idle_pool_release(w.pool, item, 1, 0);
    finish(&w);
}

static void refuses_limits_that_contradict_each_other(void **state)
{
    static const idle_pool_limits bad[] = {
        {.max = 0},
        {.max = 1, .max_idle = 2},
        {.max = 2, .max_idle = 1, .min = 2},
        {.max = 1, .min = -1},
        {.max = 1, .max_uses = -1},
        {.max = 1, .idle_timeout = -1},
        {.max = 1, .wait_timeout = -1},
    };
    idle_pool_calls calls = {make_vm, unmake_vm, NULL, NULL};
    idle_pool *pool;
    size_t i;

    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(idle_pool_make(&pool, &bad[i], &calls, NULL, *state), APR_EINVAL);
}

static void counts_where_the_caller_wants(void **state)
{
    idle_pool_limits limits = {.max_idle = 1, .max = 1};
    idle_pool_counts shared = {0};
    world w = {0};
    idle_pool_calls calls = {make_vm, unmake_vm, NULL, &w};

    assert_int_equal(idle_pool_make(&w.pool, &limits, &calls, &shared, *state), APR_SUCCESS);
    idle_pool_release(w.pool, take(&w), 1, 0);
    assert_int_equal(shared.made, 1);
    assert_int_equal(shared.idle, 1);
    finish(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT_TEST(makes_an_item_when_none_is_idle),
        UNIT_TEST(reuses_an_idle_item),
        UNIT_TEST(hands_out_the_item_given_back_last),
        UNIT_TEST(drops_an_unhealthy_item),
        UNIT_TEST(drops_an_item_after_its_last_use),
        UNIT_TEST(keeps_no_more_idle_than_allowed),
        UNIT_TEST(warms_up_to_the_minimum),
        UNIT_TEST(says_when_warming_failed),
        UNIT_TEST(lends_the_newest_idle_item_without_counting_a_use),
        UNIT_TEST(hands_out_an_idle_item_or_none),
        UNIT_TEST(destroys_a_lent_item_when_it_was_closed_meanwhile),
        UNIT_TEST(expires_the_longest_idle_and_keeps_the_minimum),
        UNIT_TEST(expires_no_other_for_one_that_was_used_for_long),
        UNIT_TEST(expires_nothing_without_a_timeout),
        UNIT_TEST(gives_a_failed_creation_its_place_back),
        UNIT_TEST(gives_up_waiting_after_the_timeout),
        UNIT_TEST(does_not_wait_without_a_timeout),
        UNIT_TEST(refuses_limits_that_contradict_each_other),
        UNIT_TEST(counts_where_the_caller_wants),
    };
    int failed;

    apr_initialize();
    failed = cmocka_run_group_tests_name("idle_pool", tests, NULL, NULL);
    apr_terminate();
    return failed;
}
