/* SPDX-License-Identifier: Apache-2.0
 * A pool of idle interpreters, shared by the threads of a child process.
 *
 * It decides how many items exist, which one is next (the last one given back: its memory is warm
 * and the others can expire) and who waits. It knows nothing of what an item is, of requests, or of
 * httpd. One short lock guards it; the lock is never held while an item is made or destroyed. */
#ifndef INTERPOOL_IDLE_POOL_H
#define INTERPOOL_IDLE_POOL_H

#include <apr_pools.h>
#include <apr_time.h>

typedef struct idle_pool idle_pool;

/* The first member of whatever the pool holds, so that giving back needs no search and no memory.
 * It is the pool's own: nobody else touches it. */
typedef struct idle_item {
    struct idle_item *next;
    apr_time_t idle_since; /* wall clock */
    int uses;              /* how often it was handed out */
} idle_item;

typedef struct idle_pool_limits {
    int min;      /* idle_pool_warm makes so many; idle_pool_expire keeps them */
    int max_idle; /* a release that finds so many idle destroys its item */
    int max;      /* so many exist at once, busy, idle or being made; >= 1 */
    int max_uses; /* an item is destroyed after so many uses; 0: no bound */
    apr_interval_time_t idle_timeout; /* idle_pool_expire destroys what idled longer; 0: never */
    apr_interval_time_t wait_timeout; /* acquire waits so long for a use to end; 0: does not */
} idle_pool_limits;

typedef struct idle_pool_calls {
    idle_item *(*create)(void *baton); /* NULL when it failed; may be slow, may log */
    void (*destroy)(idle_item *item, void *baton);
    apr_time_t (*now)(void *baton); /* wall clock; NULL: apr_time_now */
    void *baton;
} idle_pool_calls;

/* Counters, each written under the pool's lock with a relaxed atomic store, so that they may lie in
 * shared memory (a row of status_board.h) and be read at any time without the lock. */
typedef struct idle_pool_counts {
    apr_uint64_t made;         /* items made */
    apr_uint64_t failed;       /* creations that failed */
    apr_uint64_t reused;       /* acquires that got an item that had been used before */
    apr_uint64_t reset;        /* items given back healthy, hence clean for the next user */
    apr_uint64_t dropped;      /* items destroyed: unhealthy, used up, expired or one too many */
    apr_uint64_t waited;       /* acquires that had to wait */
    apr_uint64_t timed_out;    /* ... and got nothing in time */
    apr_uint64_t longest_wait; /* microseconds */
    apr_uint64_t idle;         /* now */
    apr_uint64_t busy;         /* now, those being made included */
} idle_pool_counts;

/* Makes an empty pool that lives as long as `parent`. `counts` may be NULL (the pool then has its
 * own). Nothing is destroyed with `parent`: a child that ends on a signal may be anywhere inside an
 * interpreter. Who wants the items destroyed calls idle_pool_close first.
 * APR_EINVAL when the limits contradict each other (min > max, max_idle > max, max < 1, ...). */
apr_status_t idle_pool_make(idle_pool **pool, const idle_pool_limits *limits,
                            const idle_pool_calls *calls, idle_pool_counts *counts,
                            apr_pool_t *parent);

/* Hands out an idle item; or makes one while fewer than `max` exist; or waits, first come first
 * served, until one is given back. The caller owns the item until idle_pool_release.
 * Items that nobody has, but which are at work or are made or destroyed unasked, are waited for in
 * any case. APR_TIMEUP: none came free within wait_timeout. APR_EGENERAL: `create` failed (its
 * place is free again and the next waiter may try). APR_EOF: the pool is closed. */
apr_status_t idle_pool_acquire(idle_pool *pool, idle_item **item);

/* Takes an item back. Unhealthy or used-up ones are destroyed, in this thread, without the lock.
 * `now` is a wall clock time such as r->request_time, used only with an idle_timeout; 0 asks the
 * clock when needed. */
void idle_pool_release(idle_pool *pool, idle_item *item, int healthy, apr_time_t now);

/* As acquire for whoever must not wait, nor make one: an idle item, or NULL at once. */
idle_item *idle_pool_try(idle_pool *pool);

/* For work on an item that is no use of it, such as collecting garbage after the response: takes
 * the newest idle item, or gives NULL at once; and takes it back. Neither counts,
 * and an acquire that finds no other item waits for this one, even with a wait_timeout of 0. */
idle_item *idle_pool_borrow(idle_pool *pool);
void idle_pool_give_back(idle_pool *pool, idle_item *item);

/* Makes items until `min` exist. Called in child_init, and later off the request path to replace
 * what was dropped. APR_EGENERAL as soon as one can't be made. */
apr_status_t idle_pool_warm(idle_pool *pool);

/* Destroys what has been idle for longer than idle_timeout, but keeps `min`. Returns how many. */
int idle_pool_expire(idle_pool *pool);

/* A copy of the counters, consistent with each other. */
void idle_pool_stats(idle_pool *pool, idle_pool_counts *counts);

/* Destroys the idle items and wakes who waits. Items still out are destroyed when given back. */
void idle_pool_close(idle_pool *pool);

#endif
