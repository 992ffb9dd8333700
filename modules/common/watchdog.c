/* SPDX-License-Identifier: Apache-2.0
 * Deadlines: a list of watches and a thread that sleeps until the earliest of them.
 *
 * Arming must not take a lock, so the two sides meet as in Dekker's algorithm, all accesses being
 * sequentially consistent: who arms stores the deadline and then reads `asleep_until`; the thread
 * stores `asleep_until` and then reads the deadlines once more. At least one of them sees the
 * other, so no deadline is slept over. */
#include "modules/common/watchdog.h"
#include "modules/common/hot.h"
#include "modules/common/wait_clock.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

struct watch {
    watch *next;
    watchdog *dog;
    watchdog_expire expire;
    void *baton;
    apr_time_t deadline;   /* atomic; WATCHDOG_NEVER: disarmed */
    apr_time_t called_for; /* the deadline `expire` was last called for; the thread's own */
    apr_time_t repeat_at;  /* when to call again for the same deadline; the thread's own */
};

struct watchdog {
    pthread_mutex_t lock; /* guards the list, `running`, `poked`, `stopping`, `started` */
    pthread_cond_t wake;
    pthread_cond_t finished; /* an expire function returned */
    watch *watches;
    watch *running; /* whose expire function runs now; it stays in the list until that returns */
    apr_time_t asleep_until; /* atomic; 0: awake */
    int poked;
    int stopping;
    int silenced; /* atomic: the child's pool is going; nobody is called any more */
    int manual;
    int started;
    pthread_t thread;
    apr_pool_t *pool;
};

/* The cheap clock lags: deadlines are set by it and judged by the exact one, never the other way
 * round, or the thread would wake up before a deadline and spin. */
HOT_PATH apr_time_t watchdog_now(void)
{
#if defined(CLOCK_MONOTONIC_COARSE)
    return wait_clock_read(CLOCK_MONOTONIC_COARSE);
#else
    return wait_clock_now();
#endif
}

static apr_status_t silence(void *dog)
{
    __atomic_store_n(&((watchdog *)dog)->silenced, 1, __ATOMIC_SEQ_CST);
    return APR_SUCCESS;
}

static int is_silenced(watchdog *dog)
{
    return __atomic_load_n(&dog->silenced, __ATOMIC_SEQ_CST);
}

static apr_status_t make(watchdog **made, apr_pool_t *pool, int manual)
{
    watchdog *dog = calloc(1, sizeof(*dog));

    if (!dog)
        return APR_ENOMEM;
    if (pthread_mutex_init(&dog->lock, NULL) || wait_clock_cond_init(&dog->wake) ||
        wait_clock_cond_init(&dog->finished)) {
        free(dog);
        return APR_ENOMEM;
    }
    dog->manual = manual;
    dog->pool = pool;
    apr_pool_cleanup_register(pool, dog, silence, apr_pool_cleanup_null);
    *made = dog;
    return APR_SUCCESS;
}

apr_status_t watchdog_make(watchdog **dog, apr_pool_t *pool)
{
    return make(dog, pool, 0);
}

apr_status_t watchdog_make_manual(watchdog **dog, apr_pool_t *pool)
{
    return make(dog, pool, 1);
}

static apr_time_t due(watch *w)
{
    apr_time_t deadline = __atomic_load_n(&w->deadline, __ATOMIC_SEQ_CST);

    return deadline != WATCHDOG_NEVER && deadline == w->called_for ? w->repeat_at : deadline;
}

/* With the lock held, which it lets go during the call. */
static void call_expire(watchdog *dog, watch *w, apr_time_t now)
{
    w->called_for = __atomic_load_n(&w->deadline, __ATOMIC_SEQ_CST);
    w->repeat_at = now + WATCHDOG_REPEAT;
    dog->running = w;
    pthread_mutex_unlock(&dog->lock);
    w->expire(w->baton);
    pthread_mutex_lock(&dog->lock);
    dog->running = NULL;
    pthread_cond_broadcast(&dog->finished);
}

static apr_time_t earliest_due(watchdog *dog)
{
    apr_time_t earliest = WATCHDOG_NEVER;
    watch *w;

    for (w = dog->watches; w; w = w->next) {
        apr_time_t t = due(w);

        if (t < earliest)
            earliest = t;
    }
    return earliest;
}

/* With the lock held: calls what is due at `now`. */
static void call_due(watchdog *dog, apr_time_t now)
{
    watch *w;

    for (w = dog->watches; w; w = w->next)
        if (due(w) <= now && !is_silenced(dog))
            call_expire(dog, w, now);
}

apr_time_t watchdog_check(watchdog *dog, apr_time_t now)
{
    apr_time_t next;

    pthread_mutex_lock(&dog->lock);
    call_due(dog, now);
    next = earliest_due(dog);
    pthread_mutex_unlock(&dog->lock);
    return next;
}

/* With the lock held: sleeps until the earliest deadline or a poke. */
static void sleep_until_due(watchdog *dog)
{
    apr_time_t until = earliest_due(dog);

    __atomic_store_n(&dog->asleep_until, until, __ATOMIC_SEQ_CST);
    if (earliest_due(dog) >= until) {
        while (!dog->poked && !dog->stopping) {
            if (until == WATCHDOG_NEVER)
                pthread_cond_wait(&dog->wake, &dog->lock);
            else if (wait_clock_wait(&dog->wake, &dog->lock, until) == ETIMEDOUT)
                break;
        }
    }
    dog->poked = 0;
    __atomic_store_n(&dog->asleep_until, 0, __ATOMIC_SEQ_CST);
}

static void *watch_over(void *data)
{
    watchdog *dog = data;

    pthread_mutex_lock(&dog->lock);
    while (!dog->stopping && !is_silenced(dog)) {
        call_due(dog, wait_clock_now());
        sleep_until_due(dog);
    }
    pthread_mutex_unlock(&dog->lock);
    return NULL;
}

/* With the lock held. Signals are the server's threads' business: this one has none. */
static apr_status_t start_thread(watchdog *dog)
{
    sigset_t all, before;
    int rv;

    sigfillset(&all);
    rv = pthread_sigmask(SIG_SETMASK, &all, &before);
    if (rv)
        return rv;
    rv = pthread_create(&dog->thread, NULL, watch_over, dog);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    dog->started = rv == 0;
    return rv;
}

apr_status_t watchdog_add(watchdog *dog, watch **added, watchdog_expire expire, void *baton)
{
    watch *w = calloc(1, sizeof(*w));
    apr_status_t rv = APR_SUCCESS;

    if (!w)
        return APR_ENOMEM;
    w->dog = dog;
    w->expire = expire;
    w->baton = baton;
    w->deadline = w->called_for = WATCHDOG_NEVER;
    pthread_mutex_lock(&dog->lock);
    if (!dog->manual && !dog->started)
        rv = start_thread(dog);
    if (rv == APR_SUCCESS) {
        w->next = dog->watches;
        dog->watches = w;
    }
    pthread_mutex_unlock(&dog->lock);
    if (rv != APR_SUCCESS) {
        free(w);
        return rv;
    }
    *added = w;
    return APR_SUCCESS;
}

void watchdog_remove(watch *w)
{
    watchdog *dog = w->dog;
    watch **link = &dog->watches;

    watch_disarm(w);
    pthread_mutex_lock(&dog->lock);
    while (dog->running == w)
        pthread_cond_wait(&dog->finished, &dog->lock);
    while (*link != w)
        link = &(*link)->next;
    *link = w->next;
    pthread_mutex_unlock(&dog->lock);
    free(w);
}

void watchdog_stop(watchdog *dog)
{
    pthread_mutex_lock(&dog->lock);
    dog->stopping = 1;
    pthread_cond_signal(&dog->wake);
    pthread_mutex_unlock(&dog->lock);
    if (dog->started)
        pthread_join(dog->thread, NULL);
    apr_pool_cleanup_kill(dog->pool, dog, silence);
    while (dog->watches) {
        watch *w = dog->watches;

        dog->watches = w->next;
        free(w);
    }
    pthread_cond_destroy(&dog->finished);
    pthread_cond_destroy(&dog->wake);
    pthread_mutex_destroy(&dog->lock);
    free(dog);
}

static void poke(watchdog *dog)
{
    pthread_mutex_lock(&dog->lock);
    dog->poked = 1;
    pthread_cond_signal(&dog->wake);
    pthread_mutex_unlock(&dog->lock);
}

HOT_PATH void watch_arm_at(watch *w, apr_time_t deadline)
{
    __atomic_store_n(&w->deadline, deadline, __ATOMIC_SEQ_CST);
    if (deadline < __atomic_load_n(&w->dog->asleep_until, __ATOMIC_SEQ_CST))
        poke(w->dog);
}

HOT_PATH void watch_arm(watch *w, apr_interval_time_t limit)
{
    if (limit > 0)
        watch_arm_at(w, watchdog_now() + limit);
    else
        watch_disarm(w);
}

HOT_PATH void watch_disarm(watch *w)
{
    __atomic_store_n(&w->deadline, WATCHDOG_NEVER, __ATOMIC_RELEASE);
}

int watch_overdue(const watch *w)
{
    apr_time_t deadline = __atomic_load_n(&w->deadline, __ATOMIC_SEQ_CST);

    return deadline != WATCHDOG_NEVER && deadline <= wait_clock_now();
}
