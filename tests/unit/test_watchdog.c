/* SPDX-License-Identifier: Apache-2.0
 * watchdog: when an expire function is called. Rounds are played by hand at chosen times; the tests
 * of the thread wait for what must happen and never for what must not. */
#include "tests/unit/unit.h"
#include "modules/common/watchdog.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

/* What an expire function saw. */
typedef struct record {
    watch *w;
    int calls;    /* atomic */
    int finished; /* atomic */
    int hold;     /* atomic: the function does not return before this is 0 */
    int signals;  /* of those that matter, how many are not blocked on its thread */
    apr_interval_time_t again;
} record;

static void note_call(void *baton)
{
    record *seen = baton;

    __atomic_add_fetch(&seen->calls, 1, __ATOMIC_SEQ_CST);
}

static int calls(record *seen)
{
    return __atomic_load_n(&seen->calls, __ATOMIC_SEQ_CST);
}

static watchdog *manual(void **state)
{
    watchdog *dog;

    assert_int_equal(watchdog_make_manual(&dog, *state), APR_SUCCESS);
    return dog;
}

static watchdog *threaded(void **state)
{
    watchdog *dog;

    assert_int_equal(watchdog_make(&dog, *state), APR_SUCCESS);
    return dog;
}

static void add(watchdog *dog, watchdog_expire expire, record *seen)
{
    assert_int_equal(watchdog_add(dog, &seen->w, expire, seen), APR_SUCCESS);
}

static void calls_nobody_before_the_deadline(void **state)
{
    watchdog *dog = manual(state);
    record seen = {0};

    add(dog, note_call, &seen);
    assert_int_equal(watchdog_check(dog, 1), WATCHDOG_NEVER);
    watch_arm_at(seen.w, 1000);
    assert_int_equal(watchdog_check(dog, 999), 1000);
    assert_int_equal(calls(&seen), 0);
    watchdog_stop(dog);
}

static void calls_at_the_deadline_and_again_until_disarmed(void **state)
{
    watchdog *dog = manual(state);
    record seen = {0};

    add(dog, note_call, &seen);
    watch_arm_at(seen.w, 1000);
    assert_int_equal(watchdog_check(dog, 1000), 1000 + WATCHDOG_REPEAT);
    assert_int_equal(calls(&seen), 1);
    watchdog_check(dog, 999 + WATCHDOG_REPEAT);
    assert_int_equal(calls(&seen), 1);
    watchdog_check(dog, 1000 + WATCHDOG_REPEAT);
    assert_int_equal(calls(&seen), 2);
    watch_disarm(seen.w);
    assert_int_equal(watchdog_check(dog, 1000 + 9 * WATCHDOG_REPEAT), WATCHDOG_NEVER);
    assert_int_equal(calls(&seen), 2);
    watchdog_stop(dog);
}

static void starts_afresh_when_armed_again(void **state)
{
    watchdog *dog = manual(state);
    record seen = {0};

    add(dog, note_call, &seen);
    watch_arm_at(seen.w, 1000);
    watchdog_check(dog, 1000);
    watch_arm_at(seen.w, 5000);
    assert_int_equal(watchdog_check(dog, 4999), 5000);
    assert_int_equal(calls(&seen), 1);
    watchdog_check(dog, 5000);
    assert_int_equal(calls(&seen), 2);
    watchdog_stop(dog);
}

static void tells_the_earliest_deadline(void **state)
{
    watchdog *dog = manual(state);
    record a = {0}, b = {0}, c = {0};

    add(dog, note_call, &a);
    add(dog, note_call, &b);
    add(dog, note_call, &c);
    watch_arm_at(a.w, 3000);
    watch_arm_at(b.w, 2000);
    assert_int_equal(watchdog_check(dog, 1), 2000);
    watchdog_remove(b.w);
    assert_int_equal(watchdog_check(dog, 1), 3000);
    watchdog_check(dog, 3000);
    assert_int_equal(calls(&a), 1);
    assert_int_equal(calls(&c), 0);
    watchdog_stop(dog);
}

static void rearm(void *baton)
{
    record *seen = baton;

    note_call(seen);
    watch_arm_at(seen->w, seen->again * (calls(seen) + 1));
}

static void repeats_a_job_that_arms_itself(void **state)
{
    watchdog *dog = manual(state);
    record seen = {.again = 1000};

    add(dog, rearm, &seen);
    watch_arm_at(seen.w, 1000);
    assert_int_equal(watchdog_check(dog, 1000), 2000);
    assert_int_equal(watchdog_check(dog, 2000), 3000);
    assert_int_equal(calls(&seen), 2);
    watchdog_stop(dog);
}

static void is_overdue_only_while_armed_and_late(void **state)
{
    watchdog *dog = manual(state);
    record seen = {0};

    add(dog, note_call, &seen);
    assert_false(watch_overdue(seen.w));
    watch_arm_at(seen.w, 1);
    assert_true(watch_overdue(seen.w));
    watch_disarm(seen.w);
    assert_false(watch_overdue(seen.w));
    watch_arm(seen.w, 3600 * APR_USEC_PER_SEC);
    assert_false(watch_overdue(seen.w));
    watchdog_stop(dog);
}

static void takes_no_limit_for_no_deadline(void **state)
{
    watchdog *dog = manual(state);
    record seen = {0};

    add(dog, note_call, &seen);
    watch_arm_at(seen.w, 1);
    watch_arm(seen.w, 0);
    assert_int_equal(watchdog_check(dog, 1000), WATCHDOG_NEVER);
    assert_int_equal(calls(&seen), 0);
    watchdog_stop(dog);
}

static void calls_nobody_once_the_pool_is_gone(void **state)
{
    watchdog *dog;
    record seen = {0};
    apr_pool_t *child;

    apr_pool_create(&child, *state);
    assert_int_equal(watchdog_make_manual(&dog, child), APR_SUCCESS);
    add(dog, note_call, &seen);
    watch_arm_at(seen.w, 1000);
    apr_pool_destroy(child);
    watchdog_check(dog, 5000);
    assert_int_equal(calls(&seen), 0);
    watchdog_stop(dog);
}

/* A crew of watches, of which the first to be called sends home the others. */
typedef struct crew {
    watchdog *dog;
    watch *boss, *before, *after, *late;
    int calls;
} crew;

static void note_crew_call(void *baton)
{
    ((crew *)baton)->calls++;
}

static void send_home(void *baton)
{
    crew *c = baton;

    watch_disarm(c->boss);
    watchdog_remove(c->before);
    watchdog_remove(c->after);
    assert_int_equal(watchdog_add(c->dog, &c->late, note_crew_call, c), APR_SUCCESS);
    watch_arm_at(c->late, 2000);
}

static void lets_an_expire_function_add_and_remove_others(void **state)
{
    crew c = {.dog = manual(state)};

    assert_int_equal(watchdog_add(c.dog, &c.before, note_crew_call, &c), APR_SUCCESS);
    assert_int_equal(watchdog_add(c.dog, &c.boss, send_home, &c), APR_SUCCESS);
    assert_int_equal(watchdog_add(c.dog, &c.after, note_crew_call, &c), APR_SUCCESS);
    watch_arm_at(c.boss, 1000);
    assert_int_equal(watchdog_check(c.dog, 1000), 2000);
    assert_int_equal(watchdog_check(c.dog, 2000), 2000 + WATCHDOG_REPEAT);
    assert_int_equal(c.calls, 1);
    watchdog_stop(c.dog);
}

/* --- the thread --- */

static void note_mask(void *baton)
{
    record *seen = baton;
    sigset_t mask;

    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    seen->signals = !sigismember(&mask, SIGTERM) + !sigismember(&mask, SIGHUP) +
                    !sigismember(&mask, SIGUSR1) + !sigismember(&mask, SIGUSR2);
    note_call(seen);
}

static void calls_on_its_own_thread_with_signals_blocked(void **state)
{
    watchdog *dog = threaded(state);
    record seen = {0};

    add(dog, note_mask, &seen);
    watch_arm(seen.w, 1000);
    UNIT_WAIT_FOR(calls(&seen) > 0);
    assert_int_equal(seen.signals, 0);
    watchdog_stop(dog);
}

static void wakes_for_an_earlier_deadline(void **state)
{
    watchdog *dog = threaded(state);
    record late = {0}, early = {0};

    add(dog, note_call, &late);
    add(dog, note_call, &early);
    watch_arm(late.w, 3600 * APR_USEC_PER_SEC);
    apr_sleep(20000); /* most likely asleep until `late` now; right either way */
    watch_arm(early.w, 1000);
    UNIT_WAIT_FOR(calls(&early) > 0);
    assert_int_equal(calls(&late), 0);
    watchdog_stop(dog);
}

static void stay_a_while(void *baton)
{
    record *seen = baton;

    note_call(seen);
    while (__atomic_load_n(&seen->hold, __ATOMIC_SEQ_CST))
        apr_sleep(1000);
    __atomic_store_n(&seen->finished, 1, __ATOMIC_SEQ_CST);
}

static void *let_go_later(void *baton)
{
    record *seen = baton;

    apr_sleep(20000);
    __atomic_store_n(&seen->hold, 0, __ATOMIC_SEQ_CST);
    return NULL;
}

static void removal_waits_for_a_call_that_runs(void **state)
{
    watchdog *dog = threaded(state);
    record seen = {.hold = 1};
    pthread_t helper;

    add(dog, stay_a_while, &seen);
    watch_arm(seen.w, 1000);
    UNIT_WAIT_FOR(calls(&seen) == 1);
    assert_int_equal(pthread_create(&helper, NULL, let_go_later, &seen), 0);
    watchdog_remove(seen.w);
    assert_int_equal(__atomic_load_n(&seen.finished, __ATOMIC_SEQ_CST), 1);
    pthread_join(helper, NULL);
    watchdog_stop(dog);
}

static void nobody_else_waits_for_a_call_that_runs(void **state)
{
    watchdog *dog = threaded(state);
    record slow = {.hold = 1}, other = {0}, third = {0};

    add(dog, stay_a_while, &slow);
    add(dog, note_call, &other);
    watch_arm(slow.w, 1000);
    UNIT_WAIT_FOR(calls(&slow) == 1);
    watch_arm(other.w, 1000); /* none of these would return if they waited */
    add(dog, note_call, &third);
    watchdog_remove(third.w);
    watch_disarm(slow.w);
    __atomic_store_n(&slow.hold, 0, __ATOMIC_SEQ_CST);
    UNIT_WAIT_FOR(calls(&other) > 0);
    watchdog_stop(dog);
}

#define STRESS_THREADS 6
#define STRESS_ROUNDS  400

typedef struct worker {
    watchdog *dog;
    unsigned seed;
    int late; /* calls that never came */
} worker;

/* Most watches are disarmed in time; some are left until they have been called. */
static void *come_and_go(void *data)
{
    worker *me = data;
    int i;

    for (i = 0; i < STRESS_ROUNDS; i++) {
        record seen = {0};
        int wait = rand_r(&me->seed) % 100 == 0;
        int rounds;

        if (watchdog_add(me->dog, &seen.w, note_call, &seen) != APR_SUCCESS) {
            me->late++;
            continue;
        }
        watch_arm(seen.w, wait ? 500 : 1 + rand_r(&me->seed) % 20000);
        for (rounds = 0; wait && !calls(&seen) && rounds < 60000; rounds++)
            apr_sleep(1000);
        me->late += wait && !calls(&seen);
        watch_disarm(seen.w);
        watchdog_remove(seen.w); /* `seen` goes: a call after this would be seen by a sanitizer */
    }
    return NULL;
}

static void misses_nobody_while_many_come_and_go(void **state)
{
    watchdog *dog = threaded(state);
    pthread_t threads[STRESS_THREADS];
    worker workers[STRESS_THREADS];
    int i;

    for (i = 0; i < STRESS_THREADS; i++) {
        workers[i] = (worker){.dog = dog, .seed = 31u * i + 7};
        assert_int_equal(pthread_create(&threads[i], NULL, come_and_go, &workers[i]), 0);
    }
    for (i = 0; i < STRESS_THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(workers[i].late, 0);
    }
    watchdog_stop(dog);
}

static void stops_with_watches_armed(void **state)
{
    watchdog *dog = threaded(state);
    record a = {0}, b = {0};

    add(dog, note_call, &a);
    add(dog, note_call, &b);
    watch_arm(a.w, 3600 * APR_USEC_PER_SEC);
    watchdog_stop(dog);
    assert_int_equal(calls(&a) + calls(&b), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT_TEST(calls_nobody_before_the_deadline),
        UNIT_TEST(calls_at_the_deadline_and_again_until_disarmed),
        UNIT_TEST(starts_afresh_when_armed_again),
        UNIT_TEST(tells_the_earliest_deadline),
        UNIT_TEST(repeats_a_job_that_arms_itself),
        UNIT_TEST(is_overdue_only_while_armed_and_late),
        UNIT_TEST(takes_no_limit_for_no_deadline),
        UNIT_TEST(calls_nobody_once_the_pool_is_gone),
        UNIT_TEST(lets_an_expire_function_add_and_remove_others),
        UNIT_TEST(calls_on_its_own_thread_with_signals_blocked),
        UNIT_TEST(wakes_for_an_earlier_deadline),
        UNIT_TEST(removal_waits_for_a_call_that_runs),
        UNIT_TEST(nobody_else_waits_for_a_call_that_runs),
        UNIT_TEST(misses_nobody_while_many_come_and_go),
        UNIT_TEST(stops_with_watches_armed),
    };
    int failed;

    apr_initialize();
    failed = cmocka_run_group_tests_name("watchdog", tests, NULL, NULL);
    apr_terminate();
    return failed;
}
