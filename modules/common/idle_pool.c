/* SPDX-License-Identifier: Apache-2.0
 * A pool of idle interpreters: a stack, and a queue of those who wait.
 *
 * While somebody waits the stack is empty and `max` items exist, because whatever comes free, an
 * item or only the place of one, goes straight to the first in the queue. So nobody who comes later
 * can overtake, and a place that is passed on stays counted in `existing` all the time. */
#include "modules/common/idle_pool.h"
#include "modules/common/hot.h"
#include "modules/common/wait_clock.h"

#include <errno.h>

/* On the stack of the thread that waits, linked while it is in the queue. */
typedef struct waiter {
    struct waiter *next;
    pthread_cond_t ready;
    int served;
    apr_status_t rv; /* when served: APR_EOF when the pool was closed */
    idle_item *item; /* when served: NULL is a place to make an item in */
} waiter;

/* Whoever may not wait for another's use waits for an item that is nobody's. That takes
 * milliseconds; this is for when it does not. */
#define AWAY_TIMEOUT apr_time_from_sec(5)

struct idle_pool {
    pthread_mutex_t lock; /* guards all below; never held during a call of `calls` */
    idle_pool_limits limits;
    idle_pool_calls calls;
    idle_item *top; /* newest first */
    int idle;       /* items on the stack */
    int existing;   /* idle, busy, being made, being destroyed */
    int away;       /* of those, nobody's and yet not idle: at work, or coming or going unasked */
    int closed;
    int waiting; /* in the queue */
    waiter *first;
    waiter **end; /* where the next waiter is linked */
    idle_pool_counts *counts;
    idle_pool_counts own_counts;
};

static void count(apr_uint64_t *counter, apr_uint64_t n)
{
    __atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

/* Every change of `idle` or `existing` ends here, with the lock held. */
static void unlock(idle_pool *pool)
{
    __atomic_store_n(&pool->counts->idle, pool->idle, __ATOMIC_RELAXED);
    __atomic_store_n(&pool->counts->busy, pool->existing - pool->idle, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&pool->lock);
}

static void lock(idle_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
}

static apr_time_t wall_clock(const idle_pool *pool)
{
    return pool->calls.now ? pool->calls.now(pool->calls.baton) : apr_time_now();
}

static int limits_make_sense(const idle_pool_limits *l)
{
    return l->max >= 1 && l->min >= 0 && l->min <= l->max_idle && l->max_idle <= l->max &&
           l->max_uses >= 0 && l->idle_timeout >= 0 && l->wait_timeout >= 0;
}

apr_status_t idle_pool_make(idle_pool **made, const idle_pool_limits *limits,
                            const idle_pool_calls *calls, idle_pool_counts *counts,
                            apr_pool_t *parent)
{
    idle_pool *pool;
    int rv;

    if (!limits_make_sense(limits))
        return APR_EINVAL;
    pool = apr_pcalloc(parent, sizeof(*pool));
    if (!pool)
        return APR_ENOMEM;
    rv = pthread_mutex_init(&pool->lock, NULL);
    if (rv)
        return rv;
    pool->limits = *limits;
    pool->calls = *calls;
    pool->end = &pool->first;
    pool->counts = counts ? counts : &pool->own_counts;
    *made = pool;
    return APR_SUCCESS;
}

/* Serves the first who waits with an item, with a place (NULL) or with bad news. The signal is
 * given under the lock: without it the waiter could be gone, and its condition with it. */
static int serve(idle_pool *pool, apr_status_t rv, idle_item *item)
{
    waiter *w = pool->first;

    if (!w)
        return 0;
    pool->first = w->next;
    if (!pool->first)
        pool->end = &pool->first;
    pool->waiting--;
    w->item = item;
    w->rv = rv;
    w->served = 1;
    pthread_cond_signal(&w->ready);
    return 1;
}

static void leave_queue(idle_pool *pool, waiter *gone)
{
    waiter **link = &pool->first;

    while (*link != gone)
        link = &(*link)->next;
    *link = gone->next;
    if (!*link)
        pool->end = link;
    pool->waiting--;
}

/* How long one more may wait. Each item that is away serves one of the queue. */
static apr_interval_time_t patience(const idle_pool *pool)
{
    apr_interval_time_t most = pool->limits.wait_timeout;

    return pool->away > pool->waiting && most < AWAY_TIMEOUT ? AWAY_TIMEOUT : most;
}

static void place_came_free(idle_pool *pool)
{
    if (!serve(pool, APR_SUCCESS, NULL))
        pool->existing--;
}

/* With the lock held: waits for an item or a place. */
COLD_PATH static apr_status_t wait_turn(idle_pool *pool, idle_item **item)
{
    waiter w = {0};
    apr_time_t start = wait_clock_now();
    apr_time_t until = start + patience(pool);
    apr_uint64_t waited;

    if (wait_clock_cond_init(&w.ready))
        return APR_ENOMEM;
    *pool->end = &w;
    pool->end = &w.next;
    pool->waiting++;
    while (!w.served && wait_clock_wait(&w.ready, &pool->lock, until) != ETIMEDOUT)
        continue;
    if (!w.served)
        leave_queue(pool, &w);
    pthread_cond_destroy(&w.ready);

    waited = wait_clock_now() - start;
    if (waited > pool->counts->longest_wait)
        __atomic_store_n(&pool->counts->longest_wait, waited, __ATOMIC_RELAXED);
    if (!w.served) {
        count(&pool->counts->timed_out, 1);
        return APR_TIMEUP;
    }
    *item = w.item;
    return w.rv;
}

static idle_item *pop(idle_pool *pool)
{
    idle_item *item = pool->top;

    pool->top = item->next;
    pool->idle--;
    return item;
}

static void push(idle_pool *pool, idle_item *item)
{
    item->next = pool->top;
    pool->top = item;
    pool->idle++;
}

/* Fills a place that `existing` counts already, and `away` too when that is 1. */
COLD_PATH static idle_item *make_item(idle_pool *pool, int away)
{
    idle_item *item = pool->calls.create(pool->calls.baton);

    lock(pool);
    if (item) {
        item->next = NULL;
        item->uses = 0;
        count(&pool->counts->made, 1);
    } else {
        count(&pool->counts->failed, 1);
        pool->away -= away;
        place_came_free(pool);
    }
    unlock(pool);
    return item;
}

HOT_PATH apr_status_t idle_pool_acquire(idle_pool *pool, idle_item **acquired)
{
    apr_status_t rv = APR_SUCCESS;
    idle_item *item = NULL;

    lock(pool);
    if (pool->closed) {
        rv = APR_EOF;
    } else if (pool->top) {
        item = pop(pool);
    } else if (pool->existing < pool->limits.max) {
        pool->existing++;
    } else {
        count(&pool->counts->waited, 1);
        rv = wait_turn(pool, &item);
    }
    if (item && item->uses > 0)
        count(&pool->counts->reused, 1);
    unlock(pool);

    if (rv != APR_SUCCESS)
        return rv;
    if (!item)
        item = make_item(pool, 0);
    if (!item)
        return APR_EGENERAL;
    item->uses++;
    *acquired = item;
    return APR_SUCCESS;
}

/* The place stays taken until the item is gone, so that never more than `max` exist. `away` is 1
 * for an item that is counted there. */
COLD_PATH static void drop(idle_pool *pool, idle_item *item, int away)
{
    pool->calls.destroy(item, pool->calls.baton);
    lock(pool);
    pool->away -= away;
    count(&pool->counts->dropped, 1);
    place_came_free(pool);
    unlock(pool);
}

static int used_up(const idle_pool *pool, const idle_item *item)
{
    return pool->limits.max_uses > 0 && item->uses >= pool->limits.max_uses;
}

/* With the lock held: passes a good item on or keeps it. Returns 0 when there is no use for it. */
static int keep(idle_pool *pool, idle_item *item)
{
    if (pool->closed)
        return 0;
    if (serve(pool, APR_SUCCESS, item))
        return 1;
    if (pool->idle >= pool->limits.max_idle)
        return 0;
    push(pool, item);
    return 1;
}

HOT_PATH void idle_pool_release(idle_pool *pool, idle_item *item, int healthy, apr_time_t now)
{
    int kept = 0;

    if (pool->limits.idle_timeout > 0)
        item->idle_since = now ? now : wall_clock(pool);
    lock(pool);
    if (healthy) {
        count(&pool->counts->reset, 1);
        kept = !used_up(pool, item) && keep(pool, item);
    }
    unlock(pool);
    if (!kept)
        drop(pool, item, 0);
}

idle_item *idle_pool_try(idle_pool *pool)
{
    idle_item *item = NULL;

    lock(pool);
    if (pool->top) {
        item = pop(pool);
        if (item->uses++ > 0)
            count(&pool->counts->reused, 1);
    }
    unlock(pool);
    return item;
}

idle_item *idle_pool_borrow(idle_pool *pool)
{
    idle_item *item = NULL;

    lock(pool);
    if (pool->top) {
        item = pop(pool);
        pool->away++;
    }
    unlock(pool);
    return item;
}

void idle_pool_give_back(idle_pool *pool, idle_item *item)
{
    int kept;

    lock(pool);
    kept = keep(pool, item);
    pool->away -= kept;
    unlock(pool);
    if (!kept)
        drop(pool, item, 1);
}

apr_status_t idle_pool_warm(idle_pool *pool)
{
    for (;;) {
        idle_item *item;
        int wanted;

        lock(pool);
        wanted = !pool->closed && pool->existing < pool->limits.min;
        pool->existing += wanted;
        pool->away += wanted;
        unlock(pool);
        if (!wanted)
            return APR_SUCCESS;

        item = make_item(pool, 1);
        if (!item)
            return APR_EGENERAL;
        item->idle_since = pool->limits.idle_timeout > 0 ? wall_clock(pool) : 0;
        idle_pool_give_back(pool, item);
    }
}

/* With the lock held: takes the oldest `n` off the stack; returns them as a list for drop_all. */
static idle_item *cut_oldest(idle_pool *pool, int n)
{
    idle_item **link = &pool->top;
    idle_item *cut;
    int i;

    for (i = pool->idle - n; i > 0; i--)
        link = &(*link)->next;
    cut = *link;
    *link = NULL;
    pool->idle -= n;
    pool->away += n;
    return cut;
}

static void drop_all(idle_pool *pool, idle_item *list)
{
    while (list) {
        idle_item *next = list->next;

        drop(pool, list, 1);
        list = next;
    }
}

/* Only what lies below all that is to stay goes: an item on top with an old time came from a use
 * that took long. */
int idle_pool_expire(idle_pool *pool)
{
    apr_time_t oldest_kept;
    idle_item *item;
    int n = 0;

    if (pool->limits.idle_timeout <= 0)
        return 0;
    oldest_kept = wall_clock(pool) - pool->limits.idle_timeout;
    lock(pool);
    for (item = pool->top; item; item = item->next)
        n = item->idle_since < oldest_kept ? n + 1 : 0;
    if (n > pool->existing - pool->limits.min)
        n = pool->existing > pool->limits.min ? pool->existing - pool->limits.min : 0;
    item = cut_oldest(pool, n);
    unlock(pool);
    drop_all(pool, item);
    return n;
}

void idle_pool_stats(idle_pool *pool, idle_pool_counts *counts)
{
    lock(pool);
    *counts = *pool->counts;
    unlock(pool);
}

void idle_pool_close(idle_pool *pool)
{
    idle_item *item;

    lock(pool);
    pool->closed = 1;
    while (serve(pool, APR_EOF, NULL))
        continue;
    item = cut_oldest(pool, pool->idle);
    unlock(pool);
    drop_all(pool, item);
}
