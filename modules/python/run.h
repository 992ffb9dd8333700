/* SPDX-License-Identifier: Apache-2.0
 * One request in one interpreter: enter, call the handlers, translate what they say, leave. */
#ifndef INTERPOOL_PYTHON_RUN_H
#define INTERPOOL_PYTHON_RUN_H

#include <httpd.h>
#include <http_config.h>

#include "modules/common/report.h"
#include "modules/python/conf.h"
#include "modules/python/group.h"
#include "modules/python/interp.h"

/* Runs the handlers for `r` in `interp`, an acquired member of `group`. Returns what the hook has
 * to return, or fills in `failure` (its strings in r->pool). PP_RUN_AGAIN: nothing was run, since
 * an extension refuses sub-interpreters; the group was moved to the main one. */
#define PP_RUN_AGAIN (-1000)
int pp_run(pp_interp *interp, pp_group *group, const pp_handlers *handlers, const pp_conf *conf,
           request_rec *r, failure *f);

/* At start-up: what httpd must know of. `handler` is the hook that calls pp_run. */
void pp_run_register(ap_HOOK_handler_t *handler);

#endif
