/* SPDX-License-Identifier: Apache-2.0
 * PythonMemoryLimit: counts what Python allocates in a child and refuses what goes beyond. */
#ifndef INTERPOOL_PYTHON_MEMORY_H
#define INTERPOOL_PYTHON_MEMORY_H

#include <apr.h>

/* Before Python is initialised: Python's raw allocations (objects above 512 bytes among them) and
 * the arenas of its small objects are counted from here on. Past `limit` bytes (0 = none) an
 * allocation fails, which the script sees as MemoryError. */
void pp_memory_start(apr_int64_t limit);

/* Bytes in use. */
apr_int64_t pp_memory_used(void);

/* Whether one more interpreter, like each of the `made` ones, leaves half of the limit free. */
int pp_memory_has_room(int made);

/* The calling thread begins a call: what an earlier one was refused is forgotten. */
void pp_memory_begin(void);

/* For the calling thread, nestable: work that must not fail for want of memory, such as making an
 * interpreter. */
void pp_memory_exempt(int on);

/* For the calling thread: it describes an exception, and may have a little more than the limit. Not
 * any amount, since it runs code of the script's. */
void pp_memory_describe(int on);

#endif
