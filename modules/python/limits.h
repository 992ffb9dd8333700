/* SPDX-License-Identifier: Apache-2.0
 * PythonTimeLimit: an exception is raised in handlers that run too long. */
#ifndef INTERPOOL_PYTHON_LIMITS_H
#define INTERPOOL_PYTHON_LIMITS_H

#include "modules/python/state.h"

/* Between pp_enter and pp_leave. Past `limit` microseconds (0 = none) TimeLimitExceeded is raised
 * in the calling thread, again and again until pp_limits_end. Where the thread waits in the
 * operating system or in C code, it is raised as soon as Python code runs again. While an
 * outer call's limit runs, it holds for the nested ones too. */
void pp_limits_begin(pp_thread *state, apr_int64_t limit);
/* Afterwards nothing is raised any more, nor left to be raised. */
void pp_limits_end(pp_thread *state);

#endif
