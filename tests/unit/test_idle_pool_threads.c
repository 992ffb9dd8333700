/* SPDX-License-Identifier: Apache-2.0
 * idle_pool among threads: who waits, in which order, and that nothing is ever shared. */
#include "tests/unit/fake_vms.h"

#include <pthread.h>
#include <sched.h>

#define LONG_WAIT (120 * SECOND) /* never over when a test is right */

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
    assert_int_equal(w.existing, 0);
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

static void waits_for_an_item_at_work_even_without_a_timeout(void **state)
{
    world w;
    user u;
    idle_item *item, *none = NULL;
    int order = 0;

    start(state, &w, (idle_pool_limits){.max_idle = 1, .max = 1});
    idle_pool_release(w.pool, take(&w), 1, 0);
    item = idle_pool_borrow(w.pool);
    queue_up(&w, &u, 1, &order);
    assert_int_equal(idle_pool_acquire(w.pool, &none), APR_TIMEUP); /* one item, one who waits */
    idle_pool_give_back(w.pool, item);
    pthread_join(u.thread, NULL);
    assert_int_equal(u.rv, APR_SUCCESS);
    assert_ptr_equal(u.item, item);

    item = take(&w); /* a use is not waited for */
    assert_int_equal(idle_pool_acquire(w.pool, &none), APR_TIMEUP);
    idle_pool_release(w.pool, item, 1, 0);
    finish(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT_TEST(serves_those_who_wait_in_their_order),
        UNIT_TEST(lets_a_waiter_make_one_in_place_of_a_dropped_item),
        UNIT_TEST(wakes_the_next_waiter_when_a_creation_fails),
        UNIT_TEST(wakes_all_who_wait_when_it_closes),
        UNIT_TEST(waits_for_an_item_at_work_even_without_a_timeout),
        UNIT_TEST(never_shares_an_item_nor_exceeds_the_maximum),
    };
    int failed;

    apr_initialize();
    failed = cmocka_run_group_tests_name("idle_pool_threads", tests, NULL, NULL);
    apr_terminate();
    return failed;
}
