/* SPDX-License-Identifier: Apache-2.0
 * Applications and their interpreters.
 *
 * A pool is some interpreters; a group is an application that uses a pool. Each group begins with a
 * pool of its own, except that all applications under `PythonGIL main` use the pool whose only
 * member is the main interpreter, and that an application may be moved there.
 *
 * Groups and pool members are only ever added, by one atomic store each, so finding them takes no
 * lock. A pool's lock guards making and waiting; it is never held while an interpreter is made. */
#include "modules/python/group.h"

#include <http_log.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "modules/common/conf_value.h"
#include "modules/common/hot.h"
#include "modules/common/wait_clock.h"
#include "modules/python/child.h"
#include "modules/python/memory.h"
#include "modules/python/state.h"

APLOG_USE_MODULE(pypool);

typedef struct interp_pool {
    pthread_mutex_t lock; /* for making and waiting */
    pthread_cond_t changed;
    int failures; /* how often making failed; guarded by lock */
    int own_gil;
    /* what each request looks at */
    int exclusive;        /* members take one request at a time; atomic, is never taken back */
    int made;             /* members, or being made; guarded by lock */
    int usual;            /* members that are made as soon as the others are busy */
    int most;             /* members, however long requests wait */
    apr_time_t pause;     /* after a failure: until when none is made; atomic */
    int waiting;          /* threads that wait for a change; written under lock, read without */
    int last;             /* the member that was taken last: a hint */
    pp_interp *members[]; /* NULL until made; atomic */
} interp_pool;

struct pp_group {
    struct pp_group *next;
    const char *name;
    int gil, interpreters, exclusive; /* as configured: an application is a name and these */
    interp_pool *pool;                /* atomic: may become the main one */
};

/* With own GILs. What the latter costs is memory; it saves the processor a sleep and a wake-up for
 * each request that finds its interpreter's GIL taken by one that computes. */
#define USUAL_EACH_CORE 2
#define MOST_EACH_CORE  8

/* A failure to make one more may pass (memory was short), and costs requests time until it does. */
#define PAUSE   (5 * APR_USEC_PER_SEC)

#define BUCKETS 64
static pp_group *buckets[BUCKETS]; /* by hash of the name; atomic heads */
static pthread_mutex_t groups_lock = PTHREAD_MUTEX_INITIALIZER; /* for adding a group */
static interp_pool *main_pool;                                  /* guarded by groups_lock */

/* malloc'd and never freed, like what it holds: it lives as long as the process. */
static interp_pool *pool_make(int usual, int most, int own_gil)
{
    interp_pool *pool = calloc(1, sizeof(*pool) + (size_t)most * sizeof(pool->members[0]));

    if (!pool)
        return NULL;
    pool->usual = usual;
    pool->most = most;
    pool->own_gil = own_gil;
    pthread_mutex_init(&pool->lock, NULL);
    if (wait_clock_cond_init(&pool->changed)) {
        free(pool);
        return NULL;
    }
    return pool;
}

/* Under groups_lock. The main interpreter is there already, so this pool never grows. */
static interp_pool *pool_of_main(pp_interp *main)
{
    if (!main_pool && (main_pool = pool_make(1, 1, 0))) {
        main_pool->members[0] = main;
        main_pool->made = 1;
    }
    return main_pool;
}

/* Whether interpreters of this group get GILs of their own. */
static int wants_own_gil(int gil, const pp_child *child)
{
#if PY_VERSION_HEX >= 0x030e0000
    return gil == PP_GIL_OWN || (gil == PP_GIL_AUTO && child->threaded);
#elif PY_VERSION_HEX >= 0x030c0000
    (void)child;
    return gil == PP_GIL_OWN; /* 3.12 and 3.13 have faults there: only when asked for */
#else
    (void)gil;
    (void)child;
    return 0;
#endif
}

/* As many interpreters as the administrator wants. Without a number, one for each thread when they
 * are exclusive, one when they share a GIL, and with own GILs some for each core: a core whose
 * interpreter waits for the client, or hands its GIL over, has another one to compute in. */
static int members(const pp_group *group, int own_gil, const pp_child *child, int each_core)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);

    if (group->interpreters > 0)
        return group->interpreters;
    if (group->exclusive)
        return child->threads;
    if (!own_gil || cores < 1)
        return 1;
    return cores * each_core < child->threads ? (int)cores * each_core : child->threads;
}

/* `own` was asked for, and this Python can't. */
static void warn_of_shared(const pp_group *group, const pp_child *child)
{
    if (group->gil == PP_GIL_OWN && !wants_own_gil(PP_GIL_OWN, child))
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, child->server,
                     "PP004: PythonGIL own needs Python 3.12: the interpreters of application %s "
                     "share the GIL",
                     group->name);
}

/* All who use the pool take turns from now on: the main one's users may be several groups. */
static void make_exclusive(interp_pool *pool)
{
    __atomic_store_n(&pool->exclusive, 1, __ATOMIC_SEQ_CST);
}

HOT_PATH static int is_exclusive(const interp_pool *pool)
{
    return __atomic_load_n(&pool->exclusive, __ATOMIC_SEQ_CST);
}

/* Under groups_lock. */
static int furnish(pp_group *group, pp_child *child)
{
    int own_gil = wants_own_gil(group->gil, child);

    if (group->gil == PP_GIL_MAIN || !strcmp(group->name, "main_interpreter"))
        group->pool = pool_of_main(child->main);
    else
        group->pool = pool_make(members(group, own_gil, child, USUAL_EACH_CORE),
                                members(group, own_gil, child, MOST_EACH_CORE), own_gil);
    if (group->pool && group->exclusive)
        make_exclusive(group->pool);
    return group->pool ? 0 : -1;
}

/* Among the groups of a bucket. An entry never changes but for its pool, so no lock is needed. */
HOT_PATH static pp_group *find(pp_group *group, const char *name, const pp_conf *conf)
{
    for (; group; group = group->next)
        if (group->gil == (int)pp_conf_or(conf->gil, PP_GIL_AUTO) &&
            group->interpreters == (int)pp_conf_or(conf->interpreters, 0) &&
            group->exclusive == (conf->exclusive == 1) && !strcmp(group->name, name))
            return group;
    return NULL;
}

/* Finds or makes it, since another thread may have been faster. */
static pp_group *add(pp_group **bucket, const char *name, const pp_conf *conf, pp_child *child)
{
    pp_group *group;

    pthread_mutex_lock(&groups_lock);
    group = find(*bucket, name, conf);
    if (!group && (group = calloc(1, sizeof(*group)))) {
        group->name = strdup(name);
        group->gil = (int)pp_conf_or(conf->gil, PP_GIL_AUTO);
        group->interpreters = (int)pp_conf_or(conf->interpreters, 0);
        group->exclusive = conf->exclusive == 1;
        group->next = *bucket;
        if (group->name && furnish(group, child) == 0) {
            __atomic_store_n(bucket, group, __ATOMIC_RELEASE);
            warn_of_shared(group, child);
            pp_count(child->counters->applications);
        } else {
            free((char *)group->name);
            free(group);
            group = NULL;
        }
    }
    pthread_mutex_unlock(&groups_lock);
    return group;
}

/* The hash is Bernstein's: names are short and few. */
HOT_PATH pp_group *pp_group_of(const pp_conf *conf, const pp_handler *first, request_rec *r)
{
    pp_child *child = pp_child_started();
    const char *name, *at;
    unsigned int hash = 5381;
    pp_group **bucket, *group;

    if (!child)
        return NULL;
    name = pp_conf_application(conf, first, r);
    for (at = name; *at; at++)
        hash = hash * 33 + (unsigned char)*at;
    bucket = &buckets[hash % BUCKETS];
    group = find(__atomic_load_n(bucket, __ATOMIC_ACQUIRE), name, conf);
    return group ? group : add(bucket, name, conf, child);
}

HOT_PATH const char *pp_group_name(const pp_group *group)
{
    return group->name;
}

/* With all that was written before it became a member. */
static pp_interp *member(interp_pool *pool, int i)
{
    return __atomic_load_n(&pool->members[i], __ATOMIC_ACQUIRE);
}

/* The least busy member, the one taken last if it is among them; NULL when there is none. */
HOT_PATH static pp_interp *least_busy(interp_pool *pool, apr_uint32_t *load)
{
    int i, start = __atomic_load_n(&pool->last, __ATOMIC_RELAXED), best = start;
    pp_interp *found = NULL;

    for (i = 0; i < pool->most; i++) {
        int at = start + i < pool->most ? start + i : start + i - pool->most;
        pp_interp *interp = member(pool, at);
        apr_uint32_t busy = interp ? __atomic_load_n(&interp->busy, __ATOMIC_SEQ_CST) : 0;

        if (interp && (!found || busy < *load)) {
            found = interp;
            *load = busy;
            best = at;
            if (!busy)
                break;
        }
    }
    if (best != start)
        __atomic_store_n(&pool->last, best, __ATOMIC_RELAXED);
    return found;
}

/* With the lock held: a member that nobody uses becomes the caller's. */
static pp_interp *take_free(interp_pool *pool)
{
    int i;

    for (i = 0; i < pool->most; i++) {
        pp_interp *interp = member(pool, i);
        apr_uint32_t none = 0;

        if (interp && __atomic_compare_exchange_n(&interp->busy, &none, 1, 0, __ATOMIC_SEQ_CST,
                                                  __ATOMIC_SEQ_CST))
            return interp;
    }
    return NULL;
}

/* Whether no member is to be made now. The first one always is: who waits for it has no other. */
static int is_full(const interp_pool *pool, int made)
{
    apr_time_t pause = __atomic_load_n(&pool->pause, __ATOMIC_RELAXED);

    return made >= pool->most || (made && pause && wait_clock_now() < pause);
}

/* With the lock held, which is given up meanwhile: makes one more member, already taken. NULL when
 * that fails: a pool that has members then does with them for a while. */
static pp_interp *grow(pp_group *group, interp_pool *pool)
{
    pp_child *child = pp_child_started();
    pp_interp *interp;
    int i;

    pool->made++;
    pthread_mutex_unlock(&pool->lock);
    interp = pp_interp_make(child->server, group->name, pool->own_gil);
    pthread_mutex_lock(&pool->lock);
    if (interp) {
        pp_count(child->counters->interpreters);
        __atomic_fetch_or(&child->counters->gil, pool->own_gil ? 2 : 1, __ATOMIC_RELAXED);
        interp->busy = 1;
        for (i = 0; pool->members[i]; i++)
            ;
        __atomic_store_n(&pool->members[i], interp, __ATOMIC_RELEASE);
        __atomic_store_n(&pool->pause, 0, __ATOMIC_RELAXED);
    } else {
        pool->made--;
        pool->failures++;
        if (pool->made)
            __atomic_store_n(&pool->pause, wait_clock_now() + PAUSE, __ATOMIC_RELAXED);
    }
    pthread_cond_broadcast(&pool->changed);
    return interp;
}

/* Whether there may be one more member when `interp`, the least busy one, is busy. */
HOT_PATH static int may_grow(const interp_pool *pool, const pp_interp *interp)
{
    int made = __atomic_load_n(&pool->made, __ATOMIC_RELAXED);

    if (is_full(pool, made))
        return 0;
    return made < pool->usual ||
           (interp && interp->turnstile && pp_turnstile_is_crowded(interp->turnstile) &&
            pp_memory_has_room(made));
}

/* Shared use when no member is idle: one more, or the least busy, or the first when it is made. */
static apr_status_t acquire_or_grow(pp_group *group, interp_pool *pool, pp_interp **interp)
{
    apr_uint32_t load = 0;
    int failures;

    pthread_mutex_lock(&pool->lock);
    failures = pool->failures;
    for (;;) {
        *interp = least_busy(pool, &load);
        if (*interp && (!load || !may_grow(pool, *interp))) {
            __atomic_fetch_add(&(*interp)->busy, 1, __ATOMIC_SEQ_CST);
            break;
        }
        if (*interp && (*interp)->turnstile) /* let it show what one more brings */
            pp_turnstile_forget((*interp)->turnstile);
        if (!*interp && !may_grow(pool, NULL)) /* somebody makes the first */
            pthread_cond_wait(&pool->changed, &pool->lock);
        else if ((!*interp && pool->failures != failures) || (*interp = grow(group, pool)))
            break;
    }
    pthread_mutex_unlock(&pool->lock);
    return *interp ? APR_SUCCESS : PP_GROUP_FAILED;
}

/* With the lock held, which is given up meanwhile: until something has changed, the pause after a
 * failure is over (then one more may be made) or it is `until`. */
static void wait_for_change(interp_pool *pool, apr_time_t until)
{
    apr_time_t pause = __atomic_load_n(&pool->pause, __ATOMIC_RELAXED);

    if (pool->made < pool->most && pause && pause < until)
        until = pause;
    wait_clock_wait(&pool->changed, &pool->lock, until);
}

/* In no order: who looks first when an interpreter becomes free has it. A wait ends at the
 * deadline, or when the application has moved meanwhile. */
static apr_status_t acquire_exclusive(pp_group *group, interp_pool *pool, apr_int64_t wait,
                                      pp_interp **interp)
{
    pp_counters *counters = pp_child_started()->counters;
    apr_time_t deadline = wait_clock_now() + wait;
    int failures, late = 0;

    pthread_mutex_lock(&pool->lock);
    /* Raised before looking: who releases after the look sees it, and signals when we wait. */
    __atomic_add_fetch(&pool->waiting, 1, __ATOMIC_SEQ_CST);
    failures = pool->failures;
    while (!(*interp = take_free(pool)) && !late &&
           pool == __atomic_load_n(&group->pool, __ATOMIC_ACQUIRE)) {
        if (is_full(pool, pool->made)) {
            pp_count(counters->waits);
            wait_for_change(pool, deadline);
            late = wait_clock_now() >= deadline;
        } else if ((!pool->made && pool->failures != failures) || (*interp = grow(group, pool))) {
            break;
        }
    }
    __atomic_sub_fetch(&pool->waiting, 1, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&pool->lock);
    if (*interp)
        return APR_SUCCESS;
    if (pool != __atomic_load_n(&group->pool, __ATOMIC_ACQUIRE))
        return pp_group_acquire(group, wait, interp);
    if (!late)
        return PP_GROUP_FAILED;
    pp_count(counters->timeouts);
    return PP_GROUP_TIMEUP;
}

/* The interpreter of `pool` in which the calling thread already is: a sub-request stays there. */
static pp_interp *nested(interp_pool *pool)
{
    int i;

    for (i = 0; i < pool->most; i++) {
        pp_interp *interp = member(pool, i);

        if (interp && pp_thread_nested(interp))
            return interp;
    }
    return NULL;
}

HOT_PATH apr_status_t pp_group_acquire(pp_group *group, apr_int64_t wait, pp_interp **interp)
{
    interp_pool *pool = __atomic_load_n(&group->pool, __ATOMIC_ACQUIRE);
    apr_uint32_t load = 0;

    *interp = pp_thread_calling() ? nested(pool) : NULL;
    if (*interp) {
        __atomic_fetch_add(&(*interp)->busy, 1, __ATOMIC_SEQ_CST);
        return APR_SUCCESS;
    }
    if (is_exclusive(pool))
        return acquire_exclusive(group, pool, wait, interp);
    *interp = least_busy(pool, &load);
    /* Whether there are as many as may be is asked without the lock: at worst it is asked again. */
    if (!*interp || (load && may_grow(pool, *interp)))
        return acquire_or_grow(group, pool, interp);
    __atomic_fetch_add(&(*interp)->busy, 1, __ATOMIC_SEQ_CST);
    if (!is_exclusive(pool))
        return APR_SUCCESS;
    /* It has become so meanwhile. Who made it so found this member busy, or is found here. */
    pp_group_release(group, *interp);
    return acquire_exclusive(group, pool, wait, interp);
}

/* The lock is taken only when somebody waits. `busy` goes down before `waiting` is read, and who
 * waits raises `waiting` before it looks at `busy`: one of the two sees the other. */
HOT_PATH void pp_group_release(pp_group *group, pp_interp *interp)
{
    interp_pool *pool = __atomic_load_n(&group->pool, __ATOMIC_ACQUIRE);

    __atomic_fetch_sub(&interp->busy, 1, __ATOMIC_SEQ_CST);
    if (!__atomic_load_n(&pool->waiting, __ATOMIC_SEQ_CST))
        return;
    pthread_mutex_lock(&pool->lock);
    pthread_cond_signal(&pool->changed);
    pthread_mutex_unlock(&pool->lock);
}

/* Not from the main interpreter, and not against the administrator's own choice. */
int pp_group_may_move(const pp_group *group, const pp_interp *interp)
{
    return interp->index && group->gil == PP_GIL_AUTO;
}

int pp_group_move_to_main(pp_group *group)
{
    interp_pool *target, *old = __atomic_load_n(&group->pool, __ATOMIC_ACQUIRE);

    pthread_mutex_lock(&groups_lock);
    target = pool_of_main(pp_child_started()->main);
    pthread_mutex_unlock(&groups_lock);
    if (target && group->exclusive)
        make_exclusive(target);
    if (!target || old == target ||
        !__atomic_compare_exchange_n(&group->pool, &old, target, 0, __ATOMIC_SEQ_CST,
                                     __ATOMIC_SEQ_CST))
        return 0;
    pthread_mutex_lock(&old->lock); /* who waits there has to look here now */
    pthread_cond_broadcast(&old->changed);
    pthread_mutex_unlock(&old->lock);
    return 1;
}
