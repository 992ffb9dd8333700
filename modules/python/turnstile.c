/* SPDX-License-Identifier: Apache-2.0
 * A mutex that is held while its owner waits for the GIL, and a short look before that.
 *
 * To sleep and to be woken costs more than most handlers take, so whoever is next looks for some
 * microseconds whether the one inside leaves. That is in vain when it computes for longer or waits
 * for something; after that the next ones do without, the more of them the more often it is. */
#include "modules/python/turnstile.h"

#include <pthread.h>
#include <stdlib.h>

#include "modules/common/hot.h"

#define CACHE_LINE 64

#define LOOKS      256 /* some microseconds */
#define MOST_REST  64

/* Written at each passage, by many threads: alone on its cache lines. */
struct pp_turnstile {
    pthread_mutex_t next; /* of the thread that waits for the GIL */
    unsigned int inside;  /* threads that have entered and not left; atomic, a hint */
    int rest;             /* how many more go without a look; guarded by next */
    int next_rest;        /* how many will after the next vain look; guarded by next */
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

HOT_PATH void pp_turnstile_enter(pp_turnstile *turnstile, PyThreadState *python)
{
    pthread_mutex_lock(&turnstile->next);
    if (__atomic_load_n(&turnstile->inside, __ATOMIC_RELAXED))
        look(turnstile);
    PyEval_RestoreThread(python);
    __atomic_fetch_add(&turnstile->inside, 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&turnstile->next);
}

/* Counted last: who looks finds the GIL free. */
HOT_PATH void pp_turnstile_leave(pp_turnstile *turnstile)
{
    (void)PyEval_SaveThread();
    __atomic_fetch_sub(&turnstile->inside, 1, __ATOMIC_RELAXED);
}
