/* SPDX-License-Identifier: Apache-2.0
 * Who may touch the memory of a request. Python threads that a handler started can use `req` at the
 * same time, and can keep it when the request is over; httpd's pools and buckets know no locks.
 *
 * One thread at a time is inside a guard. It may release the GIL there (others wait without the
 * GIL) and may enter again. After pp_guard_shut nobody gets in. */
#ifndef INTERPOOL_PYTHON_GUARD_H
#define INTERPOOL_PYTHON_GUARD_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdatomic.h>

typedef enum pp_guard_state {
    GUARD_OPEN,
    GUARD_OWNED,
    GUARD_SHUT
} pp_guard_state;

typedef struct pp_guard {
    atomic_ulong inside;  /* identity of the thread inside, 0: none */
    atomic_uint starving; /* threads that have waited long; others do not go before them */
    unsigned depth;       /* how many times it entered; touched by that thread only */
    atomic_int state;     /* pp_guard_state; it only rises */
    unsigned long owner;  /* who may enter in GUARD_OWNED; set before that state */
} pp_guard;

/* 0, or -1 with RuntimeError: the request is over. The GIL is held before and after. */
int pp_guard_enter(pp_guard *guard);
void pp_guard_leave(pp_guard *guard);
/* Lets only the calling thread in from now on, or nobody; waits until no other thread is inside. */
void pp_guard_own(pp_guard *guard);
void pp_guard_shut(pp_guard *guard);

#endif
