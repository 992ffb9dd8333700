/* SPDX-License-Identifier: Apache-2.0
 * Who may touch the memory of a request. Python threads that a handler started can use `req` at the
 * same time, and can keep it when the request is over; httpd's pools and buckets know no locks.
 *
 * One thread at a time is inside a guard. It may release the GIL there (others wait without the
 * GIL) and may enter again. After pp_guard_shut nobody gets in. Requests within a request (of
 * internal redirects, of filters) share its pools and its connection, so their guards share one
 * gate. */
#ifndef INTERPOOL_PYTHON_GUARD_H
#define INTERPOOL_PYTHON_GUARD_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <pthread.h>
#include <stdatomic.h>

typedef enum pp_guard_state {
    GUARD_OPEN,
    GUARD_OWNED,
    GUARD_SHUT
} pp_guard_state;

/* What one thread at a time passes. */
typedef struct pp_gate {
    atomic_ulong inside;  /* identity of the thread inside, 0: none */
    atomic_uint starving; /* threads that have waited long; others do not go before them */
    unsigned depth;       /* how many times it entered; touched by that thread only */
} pp_gate;

typedef struct pp_guard {
    pp_gate *gate; /* `own`, or that of a request around this one: they use the same memory */
    pp_gate own;
    atomic_int state;    /* pp_guard_state; it only rises */
    unsigned long owner; /* who may enter in GUARD_OWNED; set before that state */
} pp_guard;

/* The gate of `around` outlives the guard; NULL: it gets one of its own. */
static inline void pp_guard_init(pp_guard *guard, const pp_guard *around)
{
    *guard = (pp_guard){.gate = around ? around->gate : &guard->own};
}

/* The parts of pp_guard_enter that are seldom needed: the gate is passed; whether the guard's state
 * lets the caller stay. */
void pp_gate_take(pp_gate *gate);
int pp_guard_judge(pp_guard *guard);

/* Around Python code that runs while the calling thread is inside, called by httpd from there: the
 * gate is free meanwhile. Gives what pp_gate_retake takes. GIL held. */
unsigned pp_gate_lend(pp_gate *gate);
void pp_gate_retake(pp_gate *gate, unsigned depth);

/* Python's name for the calling thread. */
static inline unsigned long pp_guard_self(void)
{
    return (unsigned long)pthread_self();
}

/* Inside as soon as nobody else is. */
static inline void pp_gate_enter(pp_gate *gate)
{
    unsigned long nobody = 0;

    if (atomic_load_explicit(&gate->starving, memory_order_relaxed) ||
        !atomic_compare_exchange_strong_explicit(&gate->inside, &nobody, pp_guard_self(),
                                                 memory_order_acquire, memory_order_relaxed))
        pp_gate_take(gate);
    gate->depth++;
}

/* 0, or -1 with RuntimeError: the request is over. The GIL is held before and after. */
static inline int pp_guard_enter(pp_guard *guard)
{
    pp_gate_enter(guard->gate);
    if (atomic_load_explicit(&guard->state, memory_order_acquire) == GUARD_OPEN)
        return 0;
    return pp_guard_judge(guard);
}

static inline void pp_guard_leave(pp_guard *guard)
{
    pp_gate *gate = guard->gate;

    if (--gate->depth == 0)
        atomic_store_explicit(&gate->inside, 0, memory_order_release);
}

/* Lets only the calling thread in from now on, or nobody; waits until no other thread is inside. */
void pp_guard_own(pp_guard *guard);
void pp_guard_shut(pp_guard *guard);

#endif
