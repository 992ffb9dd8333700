/* SPDX-License-Identifier: Apache-2.0
 * Making one interpreter. Knows nothing of requests. */
#ifndef INTERPOOL_PYTHON_INTERP_H
#define INTERPOOL_PYTHON_INTERP_H

#include <httpd.h>

#include "modules/common/watchdog.h"
#include "modules/python/compat.h"
#include "modules/python/turnstile.h"

struct pp_script;

/* One interpreter of a child. Objects are references it owns; they are used with its GIL held. It
 * is never destroyed: that can't be made safe while threads may be inside. */
typedef struct pp_interp {
    int index;                 /* its number in the child; 0 is the main interpreter */
    int own_gil;               /* whether it has a GIL of its own */
    struct pp_interp *main;    /* the main interpreter of the child */
    PyInterpreterState *state; /* Python's */
    pp_turnstile *turnstile;   /* of its GIL; NULL: nobody waits for it in turn */
    watchdog *dog;             /* of PythonTimeLimit, one for each GIL; NULL: there is no limit */
    PyObject *apache;          /* the module `_apache` */
    PyObject *resolve;         /* mod_python._loader.resolve */
    PyObject *fresh;           /* mod_python._loader.fresh */
    PyObject *describe;        /* mod_python._failure.describe */
    PyObject *shutdown;        /* mod_python._setup.shutdown */
    struct pp_script *scripts; /* what handlers resolved to, by pp_handler.id */
    apr_uint32_t busy;         /* requests inside; atomic */
} pp_interp;

/* Initialises Python in this process and makes its main interpreter. Call once, from the thread
 * that will be Python's main thread; returns with the GIL released. `threaded`: whether several
 * threads serve requests. NULL: the log says why. */
pp_interp *pp_interp_start(server_rec *s, apr_pool_t *pool, int threaded);

/* Makes a sub-interpreter, called without any GIL; returns without it. NULL: the log says why. */
pp_interp *pp_interp_make(server_rec *s, const char *application, int own_gil);

/* Every interpreter made so far is visited, the newest first. */
void pp_interp_each(void (*visit)(pp_interp *interp, void *baton), void *baton);

#endif
