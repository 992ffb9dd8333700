/* SPDX-License-Identifier: Apache-2.0
 * Thread states: a row of them for each thread, by the interpreter's index. */
#include "modules/python/state.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "modules/common/hot.h"

/* Belongs to one thread; nobody else looks at it, so there is no lock. malloc'd: a thread has no
 * pool that ends with it. */
typedef struct state_row {
    int size;           /* places in `states` */
    pp_thread **states; /* by the interpreter's index; NULL until used */
} state_row;

static pthread_key_t row_key; /* only for its destructor: __thread is what is read */
static __thread state_row *row;
static __thread pp_thread *recent; /* of `row`: the one asked for last */
static __thread pp_thread_marks marks;

/* Waits for the interpreter's GIL, so a script that never gives it up holds the thread. */
static void delete_state(pp_thread *state)
{
    if (state->watch)
        watchdog_remove(state->watch);
    if (!state->keep) {
        PyEval_RestoreThread(state->python);
        Py_CLEAR(state->spare);
        PyThreadState_Clear(state->python);
        PyThreadState_DeleteCurrent();
    }
    free(state);
}

/* A thread ends: it deletes its own states, the main interpreter's last.
 * The destructor of row_key: runs in the ending thread, before whoever joins it goes on. `row` is
 * set again because C does not say whether __thread variables still hold here. */
static void delete_row(void *gone)
{
    state_row *mine = gone;
    int i;

    row = mine;
    recent = NULL;
    for (i = mine->size - 1; i >= 0; i--)
        if (mine->states[i])
            delete_state(mine->states[i]);
    row = NULL;
    free(mine->states);
    free(mine);
}

apr_status_t pp_thread_init(void)
{
    return pthread_key_create(&row_key, delete_row);
}

/* The place for `interp` in the calling thread's row. */
static pp_thread **row_place(pp_interp *interp)
{
    if (!row) {
        row = calloc(1, sizeof(*row));
        if (!row)
            return NULL;
        if (pthread_setspecific(row_key, row)) {
            free(row);
            row = NULL;
            return NULL;
        }
    }
    if (interp->index >= row->size) {
        int size = interp->index + 4;
        pp_thread **states = realloc(row->states, size * sizeof(*states));

        if (!states)
            return NULL;
        memset(states + row->size, 0, (size - row->size) * sizeof(*states));
        row->states = states;
        row->size = size;
    }
    return &row->states[interp->index];
}

/* Puts a thread state that Python has made in its place. NULL: no memory, it is still the
 * caller's. */
static pp_thread *add_state(pp_interp *interp, PyThreadState *python)
{
    pp_thread **place = row_place(interp);
    pp_thread *state = place ? calloc(1, sizeof(*state)) : NULL;

    if (!state)
        return NULL;
    state->interp = interp;
    state->python = python;
    state->thread = PyThread_get_thread_ident();
    state->marks = &marks;
    *place = state;
    return state;
}

pp_thread *pp_thread_adopt(pp_interp *interp, PyThreadState *python)
{
    pp_thread *state = add_state(interp, python);

    if (state)
        state->keep = 1;
    return state;
}

/* The caller ends the interpreter and with it the thread state. */
void pp_thread_forget(pp_interp *interp)
{
    recent = NULL;
    if (interp->index >= row->size)
        return; /* there was no memory for it */
    free(row->states[interp->index]);
    row->states[interp->index] = NULL;
}

/* The state that the calling thread has in `interp` already, or NULL. */
static pp_thread *known_state(const pp_interp *interp)
{
    if (!recent || recent->interp != interp)
        recent = row && interp->index < row->size ? row->states[interp->index] : NULL;
    return recent;
}

/* A thread mostly serves one interpreter again and again. */
HOT_PATH pp_thread *pp_thread_of(pp_interp *interp)
{
    PyThreadState *python;
    pp_thread *state = known_state(interp);

    if (state)
        return state;
    /* The state in the main interpreter comes first: before 3.12 extensions that call
     * PyGILState_Ensure get a thread's first one, and only there can it work. */
    if (interp->index && interp->main && !pp_thread_of(interp->main))
        return NULL;
    python = PyThreadState_New(interp->state);
    if (!python)
        return NULL;
    state = add_state(interp, python);
    if (!state) {
        PyEval_RestoreThread(python);
        PyThreadState_Clear(python);
        PyThreadState_DeleteCurrent();
    }
    return state;
}

HOT_PATH void pp_thread_begin(pp_thread *state)
{
    state->marks->calls++;
    state->depth++;
}

HOT_PATH void pp_thread_end(pp_thread *state)
{
    state->depth--;
    state->marks->calls--;
}

HOT_PATH int pp_thread_calling(void)
{
    return marks.calls > 0;
}

/* The mark is set first and cleared last: a signal in between finds the thread "inside". */
HOT_PATH void pp_enter(pp_thread *state)
{
    state->marks->inside++;
    PyEval_RestoreThread(state->python);
}

HOT_PATH void pp_leave(pp_thread *state)
{
    (void)PyEval_SaveThread();
    state->marks->inside--;
}

HOT_PATH void pp_enter_in_turn(pp_thread *state)
{
    pp_turnstile *turnstile = state->interp->turnstile;

    if (!turnstile) {
        pp_enter(state);
        return;
    }
    state->marks->inside++;
    pp_turnstile_enter(turnstile, state->python);
}

HOT_PATH void pp_leave_in_turn(pp_thread *state)
{
    pp_turnstile *turnstile = state->interp->turnstile;

    if (!turnstile) {
        pp_leave(state);
        return;
    }
    pp_turnstile_leave(turnstile);
    state->marks->inside--;
}

/* Async-signal-safe: reads one variable of this thread. */
int pp_thread_inside(void)
{
    return marks.inside > 0;
}

pp_thread *pp_thread_nested(pp_interp *interp)
{
    pp_thread *state = known_state(interp);

    return state && state->depth ? state : NULL;
}
