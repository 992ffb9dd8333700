/* SPDX-License-Identifier: Apache-2.0
 * The call in progress: what the objects a script sees may know about the request being served.
 * The seam between the two halves of the module: run.c fills it in, request.c and its neighbours
 * read it. */
#ifndef INTERPOOL_PYTHON_CALL_H
#define INTERPOOL_PYTHON_CALL_H

#include <httpd.h>
#include <http_config.h>
#include <apr_tables.h>

#include "modules/common/output.h"
#include "modules/common/watchdog.h"
#include "modules/python/compat.h"

extern module AP_MODULE_DECLARE_DATA pypool_module;

/* Why nothing can be written. */
typedef enum pp_barred {
    PP_WRITABLE,
    PP_PASSING, /* filters work on what was written: they, or what they call, can't be called again
                 */
    PP_ANSWERED /* a status answers instead */
} pp_barred;

/* One for each request served by scripts. It lies in r->pool, is found through pp_call_of(), and
 * is touched with the GIL of its interpreter held. */
typedef struct pp_call {
    request_rec *r;
    PyObject *req;           /* borrowed: the script's `req` while it is open, else NULL */
    PyObject *around;        /* borrowed: see pp_run, or NULL */
    unsigned lent;           /* what pp_gate_lend gave for it */
    PyObject *module;        /* borrowed: `_apache` of the interpreter that serves the call */
    const char *interpreter; /* name of the application: req.interpreter */
    const char *phase;       /* "PythonHandler": req.phase */
    const char *extension;   /* ".py" when the directive named it after `|`, or NULL */
    const char *handler;     /* the handler being run, as written: req.hlist.handler */
    const char *directory;   /* where its directive stands, or NULL: req.hlist.directory */
    const char *location;    /* the same when that is a <Location>, else NULL */
    apr_table_t *options;    /* PythonOption in effect, or NULL; an empty value means unset */
    apr_table_t *config;     /* directives in effect, or NULL */
    apr_off_t body_limit;    /* PythonBodyLimit in bytes, 0 = none */
    const watch *deadline;   /* PythonTimeLimit, or NULL */

    output out; /* what the script writes */
    pp_barred barred;
    unsigned int n_files; /* how many files are open for it: see request_file.c */
} pp_call;

/* The call that serves `r`, or NULL when no script does. */
static inline pp_call *pp_call_of(request_rec *r)
{
    return (pp_call *)ap_get_module_config(r->request_config, &pypool_module);
}

/* Around whatever may block (network, locks, sub-requests) use Py_BEGIN_ALLOW_THREADS and
 * Py_END_ALLOW_THREADS; PyGILState_* finds the wrong interpreter and is never used here. */

#endif
