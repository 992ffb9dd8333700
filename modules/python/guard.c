/* SPDX-License-Identifier: Apache-2.0
 * Who may touch the memory of a request.
 *
 * One compare-and-swap when nobody is inside, which is nearly always; waiting is by sleeping, since
 * a condition variable for each request would cost more than all waits together. The same code is
 * right with a GIL and without one. */
#include "modules/python/guard.h"

#include <apr_time.h>

#include "modules/common/hot.h"

/* How long to sleep before looking again. Only threads of one handler that use the same req while
 * one of them sends or reads come here. */
#define RETRY_INTERVAL apr_time_from_msec(1)
#define MANY_LOOKS     20

static int try_take(pp_gate *gate, unsigned long me)
{
    unsigned long nobody = 0;

    return atomic_compare_exchange_strong_explicit(&gate->inside, &nobody, me, memory_order_acquire,
                                                   memory_order_relaxed);
}

/* Sleeps until the gate is free. After many vain looks the others are asked to stand back. */
static void wait_for_gate(pp_gate *gate, unsigned long me)
{
    int looks = 0;

    do {
        if (++looks == MANY_LOOKS)
            atomic_fetch_add_explicit(&gate->starving, 1, memory_order_relaxed);
        Py_BEGIN_ALLOW_THREADS
        apr_sleep(RETRY_INTERVAL);
        Py_END_ALLOW_THREADS
    } while (!try_take(gate, me));
    if (looks >= MANY_LOOKS)
        atomic_fetch_sub_explicit(&gate->starving, 1, memory_order_relaxed);
}

/* Only the thread that wrote its identity there can find it there, so the first look needs no
 * order. */
HOT_PATH void pp_gate_take(pp_gate *gate)
{
    unsigned long me = pp_guard_self();

    if (atomic_load_explicit(&gate->inside, memory_order_relaxed) != me &&
        (atomic_load_explicit(&gate->starving, memory_order_relaxed) || !try_take(gate, me)))
        wait_for_gate(gate, me);
}

unsigned pp_gate_lend(pp_gate *gate)
{
    unsigned depth;

    if (atomic_load_explicit(&gate->inside, memory_order_relaxed) != pp_guard_self())
        return 0;
    depth = gate->depth;
    gate->depth = 0;
    atomic_store_explicit(&gate->inside, 0, memory_order_release);
    return depth;
}

void pp_gate_retake(pp_gate *gate, unsigned depth)
{
    if (!depth)
        return;
    pp_gate_take(gate);
    gate->depth = depth;
}

int pp_guard_judge(pp_guard *guard)
{
    if (atomic_load_explicit(&guard->state, memory_order_acquire) == GUARD_OWNED &&
        guard->owner == pp_guard_self())
        return 0;
    pp_guard_leave(guard);
    PyErr_SetString(PyExc_RuntimeError,
                    "the request is over: what belongs to it can't be used any more");
    return -1;
}

/* The state first: threads that enter over and over would hardly ever leave room to do it inside.
 */
static inline void change(pp_guard *guard, pp_guard_state state)
{
    atomic_store_explicit(&guard->state, state, memory_order_release);
    pp_gate_enter(guard->gate);
    pp_guard_leave(guard);
}

void pp_guard_own(pp_guard *guard)
{
    guard->owner = pp_guard_self();
    change(guard, GUARD_OWNED);
}

HOT_PATH void pp_guard_shut(pp_guard *guard)
{
    change(guard, GUARD_SHUT);
}
