/* SPDX-License-Identifier: Apache-2.0
 * A pool of fake interpreters, for the tests of idle_pool: items are numbers, time is a number. */
#ifndef INTERPOOL_FAKE_VMS_H
#define INTERPOOL_FAKE_VMS_H

#include "tests/unit/unit.h"
#include "modules/common/idle_pool.h"

#include <stdlib.h>

#define SECOND APR_USEC_PER_SEC

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

static inline idle_item *make_vm(void *baton)
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

static inline void unmake_vm(idle_item *item, void *baton)
{
    world *w = baton;

    __atomic_sub_fetch(&w->existing, 1, __ATOMIC_SEQ_CST);
    free(item);
}

static inline apr_time_t fake_now(void *baton)
{
    return ((world *)baton)->now;
}

static inline void start(void **state, world *w, idle_pool_limits limits)
{
    idle_pool_calls calls = {make_vm, unmake_vm, fake_now, w};

    *w = (world){.now = 1000 * SECOND, .max = limits.max};
    assert_int_equal(idle_pool_make(&w->pool, &limits, &calls, NULL, *state), APR_SUCCESS);
}

static inline void finish(world *w)
{
    idle_pool_close(w->pool);
    assert_int_equal(w->existing, 0);
}

static inline idle_item *take(world *w)
{
    idle_item *item = NULL;

    assert_int_equal(idle_pool_acquire(w->pool, &item), APR_SUCCESS);
    assert_non_null(item);
    return item;
}

static inline idle_pool_counts counts_of(world *w)
{
    idle_pool_counts c;

    idle_pool_stats(w->pool, &c);
    return c;
}

#endif
