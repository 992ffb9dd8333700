/* SPDX-License-Identifier: Apache-2.0
 * In front of a GIL: of the threads that want it, one waits for it, the others wait here.
 *
 * A thread that waits for a GIL wakes up every 5 ms to ask the one that has it to give way. One
 * that does so is enough for fairness; thirty would keep a processor busy with waking up. Whoever
 * gets in lets the next one step up, so a handler that gives the GIL up while it waits for
 * something is overtaken as ever. Knows nothing of requests. */
#ifndef INTERPOOL_PYTHON_TURNSTILE_H
#define INTERPOOL_PYTHON_TURNSTILE_H

#include "modules/python/compat.h"

typedef struct pp_turnstile pp_turnstile;

/* One for each GIL; lives as long as the process. NULL: no memory, or no GIL. */
pp_turnstile *pp_turnstile_make(void);

/* Takes the GIL for `python`, a state of the calling thread. */
void pp_turnstile_enter(pp_turnstile *turnstile, PyThreadState *python);
/* Gives it back. */
void pp_turnstile_leave(pp_turnstile *turnstile);

/* A hint: whether most of those who lately had to wait for it waited a millisecond or longer. */
int pp_turnstile_is_crowded(const pp_turnstile *turnstile);
/* What was remembered for that is forgotten. */
void pp_turnstile_forget(pp_turnstile *turnstile);

#endif
