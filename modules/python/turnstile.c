/* SPDX-License-Identifier: Apache-2.0
 * A mutex that is held while its owner waits for the GIL, and a short look before that.
 *
 * To sleep and to be woken costs more than most handlers take, so whoever is next looks for some
 * microseconds whether the one inside leaves. That is in vain when it computes for longer or waits
 * for something; after that the next ones do without, the more of them the more often it is. */
#include "modules/python/turnstile.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <apr.h>

#include "modules/common/hot.h"
#include "modules/common/wait_clock.h"

#define CACHE_LINE 64

#define LOOKS      256 /* some microseconds */
#define MOST_REST  64

#define LONG_WAIT  1000 /* microseconds */
#define CROWDED    12   /* so many more waits were long than short */
#define MOST       16   /* of these, no more are remembered */

/* Written at each passage, by many threads: alone on its cache lines. */
struct pp_turnstile {
    pthread_mutex_t next; /* of the thread that waits for the GIL */
    unsigned int inside;  /* threads that have entered and not left; atomic, a hint */
    int rest;             /* how many more go without a look; guarded by next */
    int next_rest;        /* how many will after the next vain look; guarded by next */
    int crowd;            /* long waits less short ones; written under next or to forget; atomic */
};

/* A free-threaded Python has nothing to wait for. */
pp_turnstile *pp_turnstile_make(void)
{
#ifdef Py_GIL_DISABLED
    return NULL;
#else
    void *turnstile;
    pthread_mutexattr_t adaptive;

    if (posix_memalign(&turnstile, CACHE_LINE,
                       (sizeof(pp_turnstile) + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE))
        return NULL;
    memset(turnstile, 0, sizeof(pp_turnstile));
    ((pp_turnstile *)turnstile)->next_rest = 1;
    pthread_mutexattr_init(&adaptive);
#ifdef __GLIBC__
    pthread_mutexattr_settype(&adaptive, PTHREAD_MUTEX_ADAPTIVE_NP);
#endif
    pthread_mutex_init(&((pp_turnstile *)turnstile)->next, &adaptive);
    pthread_mutexattr_destroy(&adaptive);
    return turnstile;
#endif
}

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* With `next` held. */
static void look(pp_turnstile *turnstile)
{
    int i;

    if (turnstile->rest) {
        turnstile->rest--;
        return;
    }
    for (i = 0; i < LOOKS; i++) {
        if (!__atomic_load_n(&turnstile->inside, __ATOMIC_RELAXED)) {
            turnstile->next_rest = 1;
            return;
        }
        relax();
    }
    turnstile->rest = turnstile->next_rest;
    if (turnstile->next_rest < MOST_REST)
        turnstile->next_rest *= 2;
}

/* With `next` held. */
static void remember(pp_turnstile *turnstile, apr_int64_t waited)
{
    int crowd = __atomic_load_n(&turnstile->crowd, __ATOMIC_RELAXED);

    if (waited >= LONG_WAIT && crowd < MOST)
        __atomic_store_n(&turnstile->crowd, crowd + 1, __ATOMIC_RELAXED);
    else if (waited < LONG_WAIT && crowd > 0)
        __atomic_store_n(&turnstile->crowd, crowd - 1, __ATOMIC_RELAXED);
}

static void enter_after_others(pp_turnstile *turnstile, PyThreadState *python, int is_next)
{
    apr_int64_t came = wait_clock_now();

    if (!is_next)
        pthread_mutex_lock(&turnstile->next);
    if (__atomic_load_n(&turnstile->inside, __ATOMIC_RELAXED))
        look(turnstile);
    PyEval_RestoreThread(python);
    remember(turnstile, wait_clock_now() - came);
}

HOT_PATH void pp_turnstile_enter(pp_turnstile *turnstile, PyThreadState *python)
{
    int is_next = !pthread_mutex_trylock(&turnstile->next);

    if (is_next && !__atomic_load_n(&turnstile->inside, __ATOMIC_RELAXED))
        PyEval_RestoreThread(python);
    else
        enter_after_others(turnstile, python, is_next);
    __atomic_fetch_add(&turnstile->inside, 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&turnstile->next);
}

/* Counted last: who looks finds the GIL free. */
HOT_PATH void pp_turnstile_leave(pp_turnstile *turnstile)
{
    (void)PyEval_SaveThread();
    __atomic_fetch_sub(&turnstile->inside, 1, __ATOMIC_RELAXED);
}

HOT_PATH int pp_turnstile_is_crowded(const pp_turnstile *turnstile)
{
    return __atomic_load_n(&turnstile->crowd, __ATOMIC_RELAXED) >= CROWDED;
}

void pp_turnstile_forget(pp_turnstile *turnstile)
{
    __atomic_store_n(&turnstile->crowd, 0, __ATOMIC_RELAXED);
}
