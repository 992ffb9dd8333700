/* SPDX-License-Identifier: Apache-2.0
 * Waiting on a condition until a time of the monotonic clock. */
#ifndef INTERPOOL_WAIT_CLOCK_H
#define INTERPOOL_WAIT_CLOCK_H

#include <pthread.h>
#include <time.h>
#include <apr_time.h>

static inline apr_time_t wait_clock_read(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (apr_time_t)t.tv_sec * APR_USEC_PER_SEC + t.tv_nsec / 1000;
}

static inline apr_time_t wait_clock_now(void)
{
    return wait_clock_read(CLOCK_MONOTONIC);
}

static inline struct timespec wait_clock_timespec(apr_time_t t)
{
    return (struct timespec){(time_t)(t / APR_USEC_PER_SEC), (long)(t % APR_USEC_PER_SEC) * 1000};
}

/* wait_clock_wait returns 0 when woken (perhaps for nothing), ETIMEDOUT when `until` has passed. */
#if defined(__APPLE__)
static inline int wait_clock_cond_init(pthread_cond_t *cond)
{
    return pthread_cond_init(cond, NULL);
}

static inline int wait_clock_wait(pthread_cond_t *cond, pthread_mutex_t *lock, apr_time_t until)
{
    apr_time_t left = until - wait_clock_now();
    struct timespec t = wait_clock_timespec(left > 0 ? left : 0);

    return pthread_cond_timedwait_relative_np(cond, lock, &t);
}
#else
static inline int wait_clock_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t attr;
    int rv = pthread_condattr_init(&attr);

    if (rv)
        return rv;
    rv = pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    if (!rv)
        rv = pthread_cond_init(cond, &attr);
    pthread_condattr_destroy(&attr);
    return rv;
}

static inline int wait_clock_wait(pthread_cond_t *cond, pthread_mutex_t *lock, apr_time_t until)
{
    struct timespec t = wait_clock_timespec(until);

    return pthread_cond_timedwait(cond, lock, &t);
}
#endif

#endif
