/* SPDX-License-Identifier: Apache-2.0
 * idle_pool: who gets which item, how many there are, who waits. Items are fakes, time is a number.
 */
#include "tests/unit/unit.h"
#include "modules/common/idle_pool.h"

#include <pthread.h>
#include <stdlib.h>

#define SECOND    APR_USEC_PER_SEC
#define LONG_WAIT (120 * SECOND)

typedef struct fake_vm {
    idle_item item;
    int users; /* atomic: threads that have it now */
} fake_vm;

/* The world of one test: the fakes' maker and clock. */
typedef struct world {
    idle_pool *pool;
    int existing, most_existing; /* atomic */
    int failures_wanted;         /* atomic: so many creations fail next */
    apr_time_t now;
    int max;
} world;

static idle_item *make_vm(void *baton)
{
    world *w = baton;
    fake_vm *vm;
    int existing, most;

    if (__atomic_load_n(&w->failures_wanted, __ATOMIC_SEQ_CST) > 0) {
        __atomic_sub_fetch(&w->failures_wanted, 1, __ATOMIC_SEQ_CST);
        return NULL;
    }
    existing = __atomic_add_fetch(&w->existing, 1, __ATOMIC_SEQ_CST);
    most = __atomic_load_n(&w->most_existing, __ATOMIC_SEQ_CST);
    while (existing > most && !__atomic_compare_exchange_n(&w->most_existing, &most, existing, 0,
                                                           __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        continue;
    vm = malloc(sizeof(*vm));
    vm->users = 0;
    return &vm->item;
}

static void unmake_vm(idle_item *item, void *baton)
{
    world *w = baton;

    __atomic_sub_fetch(&w->existing, 1, __ATOMIC_SEQ_CST);
    free(item);
}

static apr_time_t fake_now(void *baton)
{
    return ((world *)baton)->now;
}

static void start(void **state, world *w, idle_pool_limits limits)
{
    idle_pool_calls calls = {make_vm, unmake_vm, fake_now, w};

    *w = (world){.now = 1000 * SECOND, .max = limits.max};
    assert_int_equal(idle_pool_make(&w->pool, &limits, &calls, NULL, *state), APR_SUCCESS);
}

static void finish(world *w)
{
    idle_pool_close(w->pool);
    assert_int_equal(w->existing, 0);
}

static idle_item *take(world *w)
{
    idle_item *item = NULL;

    assert_int_equal(idle_pool_acquire(w->pool, &item), APR_SUCCESS);
    assert_non_null(item);
    return item;
}

static idle_pool_counts counts_of(world *w)
{
    idle_pool_counts c;

    idle_pool_stats(w->pool, &c);
    return c;
}

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

/* --- threads --- */

typedef struct user {
    world *w;
    pthread_t thread;
    apr_status_t rv;
    int order; /* when it got its item */
    int *next_order;
    idle_item *item;
} user;

static void *take_one(void *data)
{
    user *u = data;

    u->rv = idle_pool_acquire(u->w->pool, &u->item);
    u->order = __atomic_add_fetch(u->next_order, 1, __ATOMIC_SEQ_CST);
    if (u->rv == APR_SUCCESS)
        idle_pool_release(u->w->pool, u->item, 1, 0);
    return NULL;
}

/* Starts `n` users one after the other, each waiting in the queue before the next one comes. */
static void queue_up(world *w, user *users, int n, int *next_order)
{
    int i;

    for (i = 0; i < n; i++) {
        users[i] = (user){.w = w, .next_order = next_order};
        assert_int_equal(pthread_create(&users[i].thread, NULL, take_one, &users[i]), 0);
        UNIT_WAIT_FOR((int)counts_of(w).waited == i + 1);
    }
}

static void serves_those_who_wait_in_their_order(void **state)
{
    world w;
    user users[4];
    idle_item *item;
    int order = 0, i;

    start(state, &w, (idle_pool_limits){.max_idle = 1, .max = 1, .wait_timeout = LONG_WAIT});
    item = take(&w);
    queue_up(&w, users, 4, &order);
    idle_pool_release(w.pool, item, 1, 0);
    for (i = 0; i < 4; i++) {
        pthread_join(users[i].thread, NULL);
        assert_int_equal(users[i].rv, APR_SUCCESS);
        assert_ptr_equal(users[i].item, item);
        assert_int_equal(users[i].order, i + 1);
    }
    assert_int_equal(counts_of(&w).made, 1);
    finish(&w);
}

static void lets_a_waiter_make_one_in_place_of_a_dropped_item(void **state)
{
    world w;
    user u;
    idle_item *item;
    int order = 0;

    start(state, &w, (idle_pool_limits){.max_idle = 1, .max = 1, .wait_timeout = LONG_WAIT});
    item = take(&w);
    queue_up(&w, &u, 1, &order);
    idle_pool_release(w.pool, item, 0, 0);
    pthread_join(u.thread, NULL);
    assert_int_equal(u.rv, APR_SUCCESS);
    assert_int_equal(w.most_existing, 1);
    assert_int_equal(counts_of(&w).made, 2);
    finish(&w);
}

static void wakes_the_next_waiter_when_a_creation_fails(void **state)
{
    world w;
    user users[2];
    idle_item *item;
    int order = 0;

    start(state, &w, (idle_pool_limits){.max_idle = 1, .max = 1, .wait_timeout = LONG_WAIT});
    item = take(&w);
    queue_up(&w, users, 2, &order);
    w.failures_wanted = 1;
    idle_pool_release(w.pool, item, 0, 0);
    pthread_join(users[0].thread, NULL);
    pthread_join(users[1].thread, NULL);
    assert_int_equal(users[0].rv, APR_EGENERAL);
    assert_int_equal(users[1].rv, APR_SUCCESS);
    finish(&w);
}

static void wakes_all_who_wait_when_it_closes(void **state)
{
    world w;
    user users[3];
    idle_item *item, *none;
    int order = 0, i;

    start(state, &w, (idle_pool_limits){.max_idle = 1, .max = 1, .wait_timeout = LONG_WAIT});
    item = take(&w);
    queue_up(&w, users, 3, &order);
    idle_pool_close(w.pool);
    for (i = 0; i < 3; i++) {
        pthread_join(users[i].thread, NULL);
        assert_int_equal(users[i].rv, APR_EOF);
    }
    assert_int_equal(idle_pool_acquire(w.pool, &none), APR_EOF);
    assert_int_equal(w.existing, 1);
    idle_pool_release(w.pool, item, 1, 0);
    finish(&w);
}

#define STRESS_THREADS 8
#define STRESS_ROUNDS  3000

typedef struct stress {
    world *w;
    unsigned seed;
    int got, failed, shared, other;
} stress;

static void use_one(stress *s)
{
    idle_item *item;
    apr_status_t rv = idle_pool_acquire(s->w->pool, &item);
    unsigned luck = rand_r(&s->seed);

    if (rv == APR_EGENERAL) {
        s->failed++;
        return;
    }
    if (rv != APR_SUCCESS) {
        s->other++;
        return;
    }
    s->got++;
    s->shared += __atomic_add_fetch(&((fake_vm *)item)->users, 1, __ATOMIC_SEQ_CST) != 1;
    if (luck % 8 == 0)
        sched_yield();
    if (luck % 64 == 0)
        __atomic_store_n(&s->w->failures_wanted, 2, __ATOMIC_SEQ_CST);
    __atomic_sub_fetch(&((fake_vm *)item)->users, 1, __ATOMIC_SEQ_CST);
    idle_pool_release(s->w->pool, item, luck % 16 != 0, luck % 2 ? s->w->now : 0);
    if (luck % 128 == 1)
        idle_pool_expire(s->w->pool);
}

static void *use_many(void *data)
{
    stress *s = data;
    int i;

    for (i = 0; i < STRESS_ROUNDS; i++)
        use_one(s);
    return NULL;
}

static void never_shares_an_item_nor_exceeds_the_maximum(void **state)
{
    world w;
    pthread_t threads[STRESS_THREADS];
    stress s[STRESS_THREADS];
    idle_pool_counts c;
    int i, got = 0, failed = 0;

    start(state, &w,
          (idle_pool_limits){.min = 1,
                             .max_idle = 2,
                             .max = 3,
                             .max_uses = 50,
                             .idle_timeout = 1,
                             .wait_timeout = LONG_WAIT});
    for (i = 0; i < STRESS_THREADS; i++) {
        s[i] = (stress){.w = &w, .seed = 7u * i + 1};
        assert_int_equal(pthread_create(&threads[i], NULL, use_many, &s[i]), 0);
    }
    for (i = 0; i < STRESS_THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(s[i].shared, 0);
        assert_int_equal(s[i].other, 0);
        got += s[i].got;
        failed += s[i].failed;
    }
    assert_int_equal(got + failed, STRESS_THREADS * STRESS_ROUNDS);
    assert_true(w.most_existing <= w.max);
    idle_pool_close(w.pool);
    c = counts_of(&w);
    assert_int_equal(c.failed, failed);
    assert_int_equal(c.made, c.dropped);
    assert_int_equal(c.timed_out, 0);
    assert_int_equal(c.idle, 0);
    assert_int_equal(c.busy, 0);
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
        UNIT_TEST(destroys_a_lent_item_when_it_was_closed_meanwhile),
        UNIT_TEST(expires_the_longest_idle_and_keeps_the_minimum),
        UNIT_TEST(expires_nothing_without_a_timeout),
        UNIT_TEST(gives_a_failed_creation_its_place_back),
        UNIT_TEST(gives_up_waiting_after_the_timeout),
        UNIT_TEST(does_not_wait_without_a_timeout),
        UNIT_TEST(refuses_limits_that_contradict_each_other),
        UNIT_TEST(counts_where_the_caller_wants),
        UNIT_TEST(serves_those_who_wait_in_their_order),
        UNIT_TEST(lets_a_waiter_make_one_in_place_of_a_dropped_item),
        UNIT_TEST(wakes_the_next_waiter_when_a_creation_fails),
        UNIT_TEST(wakes_all_who_wait_when_it_closes),
        UNIT_TEST(never_shares_an_item_nor_exceeds_the_maximum),
    };
    int failed;

    apr_initialize();
    failed = cmocka_run_group_tests_name("idle_pool", tests, NULL, NULL);
    apr_terminate();
    return failed;
}
