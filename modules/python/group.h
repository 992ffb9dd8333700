/* SPDX-License-Identifier: Apache-2.0
 * An application: a name, and the group of interpreters that serves it in this child. */
#ifndef INTERPOOL_PYTHON_GROUP_H
#define INTERPOOL_PYTHON_GROUP_H

#include "modules/python/conf.h"
#include "modules/python/interp.h"

typedef struct pp_group pp_group;

/* What group_acquire says besides APR_SUCCESS. */
#define PP_GROUP_TIMEUP APR_TIMEUP   /* an exclusive interpreter did not become free in time */
#define PP_GROUP_FAILED APR_EGENERAL /* none could be made; the log says why */

/* The group of the application that serves `r`; made at the first request for it. NULL: Python is
 * not running in this child, or there is no memory. Takes no lock when the group exists. */
pp_group *pp_group_of(const pp_conf *conf, const pp_handler *first, request_rec *r);

/* The interpreter with the fewest requests inside, or (where one group of those that share it is
 * exclusive) one with none, waiting up to `wait` microseconds. Makes interpreters up to the group's
 * bound when those there are busy; all who come meanwhile wait for the first one. No lock is held
 * while one is made. */
apr_status_t pp_group_acquire(pp_group *group, apr_int64_t wait, pp_interp **interp);
void pp_group_release(pp_group *group, pp_interp *interp);

const char *pp_group_name(const pp_group *group);

/* Whether an extension's refusal to load in a sub-interpreter moves the application to the main
 * one: only under PythonGIL auto. */
int pp_group_may_move(const pp_group *group, const pp_interp *interp);
/* Moves it; true for the caller who did (and logs it). */
int pp_group_move_to_main(pp_group *group);

#endif
