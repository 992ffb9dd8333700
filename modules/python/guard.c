/* SPDX-License-Identifier: Apache-2.0
 * Who may touch the memory of a request.
 *
 * One compare-and-swap when nobody is inside, which is nearly always; waiting is by sleeping, since
 * a condition variable for each request would cost more than all waits together. The same code is
 * right with a GIL and without one. */
#include "modules/python/guard.h"

#include <apr_time.h>

/* How long to sleep before looking again. Only threads of one handler that use the same req while
 * one of them sends or reads come here. */
#define RETRY_INTERVAL apr_time_from_msec(1)

/* Only the thread that wrote its identity there can find it there, so the first look needs no
 * order. */
static void guard_take(pp_guard *guard)
{
    unsigned long me = PyThread_get_thread_ident();
    unsigned long nobody = 0;

    if (atomic_load_explicit(&guard->inside, memory_order_relaxed) != me) {
        while (!atomic_compare_exchange_strong_explicit(
            &guard->inside, &nobody, me, memory_order_acquire, memory_order_relaxed)) {
            Py_BEGIN_ALLOW_THREADS
            apr_sleep(RETRY_INTERVAL);
            Py_END_ALLOW_THREADS
            nobody = 0; /* the exchange wrote there who is inside */
        }
    }
    guard->depth++;
}

int pp_guard_enter(pp_guard *guard)
{
    guard_take(guard);
    /* Looked at from inside only, so it can't change meanwhile. */
    if (!guard->shut)
        return 0;
    pp_guard_leave(guard);
    PyErr_SetString(PyExc_RuntimeError,
                    "the request is over: what belongs to it can't be used any more");
    return -1;
}

void pp_guard_leave(pp_guard *guard)
{
    if (--guard->depth == 0)
        atomic_store_explicit(&guard->inside, 0, memory_order_release);
}

void pp_guard_shut(pp_guard *guard)
{
    guard_take(guard);
    guard->shut = 1;
    pp_guard_leave(guard);
}
