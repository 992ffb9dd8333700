/* SPDX-License-Identifier: Apache-2.0
 * From a handler's name to the function to call: resolved once in each interpreter, kept until its
 * file changes. Loading itself is mod_python/_loader.py's work. */
#ifndef INTERPOOL_PYTHON_SCRIPT_H
#define INTERPOOL_PYTHON_SCRIPT_H

#include "modules/python/conf.h"
#include "modules/python/interp.h"

/* The places for what the handlers of the configuration resolve to; NULL without memory. */
struct pp_script *pp_script_table_make(void);

/* In a new, current interpreter: import statements ask the module's space first. 0, or -1 with an
 * exception. */
int pp_script_hook_imports(void);

/* New reference: the function that handles, called with `req`; NULL with an exception. */
PyObject *pp_script_resolve(pp_interp *interp, const pp_handler *h, const pp_conf *conf,
                            request_rec *r);

#endif
