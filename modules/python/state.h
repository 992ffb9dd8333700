/* SPDX-License-Identifier: Apache-2.0
 * Thread states: one for each (thread, interpreter), made at the first use and kept. Only the
 * thread itself uses and deletes its states. PyGILState_* is never used: after a thread has served
 * an interpreter with its own GIL, that finds the wrong one. */
#ifndef INTERPOOL_PYTHON_STATE_H
#define INTERPOOL_PYTHON_STATE_H

#include <signal.h>

#include "modules/python/interp.h"
#include "modules/common/watchdog.h"

/* Of one thread. They are reached through its states: finding a thread-local variable is a call. */
typedef struct pp_thread_marks {
    volatile sig_atomic_t inside; /* pp_enter minus pp_leave; a signal handler asks */
    int calls;                    /* pp_thread_begin minus pp_thread_end */
} pp_thread_marks;

typedef struct pp_thread {
    pp_interp *interp;
    PyThreadState *python;
    pp_thread_marks *marks;
    PyObject *spare;      /* owned, of the interpreter: see pp_request_new */
    watch *watch;         /* of PythonTimeLimit; NULL until first armed */
    unsigned long thread; /* Python's name for the thread */
    int depth;            /* calls in progress: more than 1 when a sub-request nests */
    int limited;          /* the depth of the call whose time limit runs, 0: none */
    int keep;             /* the interpreter's first state: see pp_thread_adopt */
    int expired;          /* the watchdog has raised in it; guarded by the GIL */
} pp_thread;

/* Once in a child, before the first state. */
apr_status_t pp_thread_init(void);

/* The calling thread's state in `interp`; NULL when there is no memory. No GIL is held. */
pp_thread *pp_thread_of(pp_interp *interp);
/* Takes over the state with which Python has just made `interp` in this thread. It is not deleted
 * when the thread ends: CPython 3.11 ends the process when an interpreter whose states are all gone
 * gets a new one. */
pp_thread *pp_thread_adopt(pp_interp *interp, PyThreadState *python);

/* The state that pp_thread_adopt took over is gone with its interpreter. */
void pp_thread_forget(pp_interp *interp);

/* Around a call, from before it enters the interpreter until its response has been passed on: a
 * sub-request meanwhile, from Python code or from a filter, belongs into the same interpreter. */
void pp_thread_begin(pp_thread *state);
void pp_thread_end(pp_thread *state);
/* Whether the calling thread is in a call, in any interpreter. */
int pp_thread_calling(void);

/* The visible pair: takes the GIL of the state's interpreter, gives it back. */
void pp_enter(pp_thread *state);
void pp_leave(pp_thread *state);
/* The pair of a request, which waits its turn where several threads serve requests. */
void pp_enter_in_turn(pp_thread *state);
void pp_leave_in_turn(pp_thread *state);

/* Whether the calling thread is between a pp_enter and its pp_leave. For a signal handler too. */
int pp_thread_inside(void);
/* The calling thread's state in `interp` while a call is in progress there, else NULL. */
pp_thread *pp_thread_nested(pp_interp *interp);

#endif
