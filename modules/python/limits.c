/* SPDX-License-Identifier: Apache-2.0
 * PythonTimeLimit. The watchdog's thread enters the interpreter concerned, so that it and the
 * handler can't both run: what it finds there stays so until it has left. While it waits to get in,
 * nobody else's limit can be seen to: there is a watchdog for each GIL, and who shares the GIL
 * can't run on meanwhile. */
#include "modules/python/limits.h"

#include "modules/common/hot.h"
#include "modules/python/apache_module.h"
#include "modules/python/child.h"

/* On the watchdog's thread. */
static void raise_in(void *late_)
{
    pp_thread *late = late_;
    pp_thread *state = pp_thread_of(late->interp);

    if (!state)
        return; /* it is called again */
    pp_enter(state);
    if (watch_overdue(late->watch)) {
        late->expired = 1;
        PyThreadState_SetAsyncExc(late->thread, pp_time_limit_exceeded(late->interp->apache));
    }
    pp_leave(state);
}

/* A watch is made at a thread's first limited call in an interpreter, and kept with its state. */
HOT_PATH void pp_limits_begin(pp_thread *state, apr_int64_t limit)
{
    watchdog *dog = state->interp->dog;

    if (!limit || state->limited || !dog)
        return;
    if (!state->watch && watchdog_add(dog, &state->watch, raise_in, state) != APR_SUCCESS)
        return;
    state->limited = state->depth;
    watch_arm(state->watch, limit);
}

HOT_PATH void pp_limits_end(pp_thread *state)
{
    if (state->limited != state->depth)
        return; /* none, or that of an outer call */
    state->limited = 0;
    watch_disarm(state->watch);
    if (!state->expired)
        return;
    /* With the GIL held the watchdog can't be about to raise: after this it finds the watch
     * disarmed. */
    state->expired = 0;
    PyThreadState_SetAsyncExc(state->thread, NULL);
    pp_count(pp_child_started()->counters->overtime);
}
