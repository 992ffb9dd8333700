/* SPDX-License-Identifier: Apache-2.0
 * The request object `req`, and how the core of the module makes and ends one.
 *
 * A script may keep `req` (or a table or connection taken from it) beyond its request: the object
 * stays, but pp_request_end shuts its guard, and every access afterwards raises RuntimeError. Only
 * an object that nobody can have kept is used for a second request. */
#ifndef INTERPOOL_PYTHON_REQUEST_H
#define INTERPOOL_PYTHON_REQUEST_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <httpd.h>
#include "modules/common/body.h"
#include "modules/python/call.h"
#include "modules/python/guard.h"
#include "modules/python/text.h"

/* The five tables of a request, by their place in pp_request.tables. */
enum {
    PP_HEADERS_IN,
    PP_HEADERS_OUT,
    PP_ERR_HEADERS_OUT,
    PP_SUBPROCESS_ENV,
    PP_NOTES,
    PP_TABLES
};

/* The requests beside this one. */
enum {
    PP_MAIN,
    PP_PREV,
    PP_NEXT,
    PP_RELATED
};

/* All objects are owned references, made when first asked for, dropped by pp_request_end. */
typedef struct pp_request {
    PyObject_HEAD
    PyObject *dict; /* what scripts put on req; stays when the request is over */
    pp_guard guard; /* everything below is used inside it */
    request_rec *r;
    pp_call *call;     /* the one in progress; its r is another one for req.prev and the like */
    body_reader *body; /* NULL: nothing was read */
    PyObject *tables[PP_TABLES];
    PyObject *related[PP_RELATED];
    PyObject *connection;
    PyObject *server;
    PyObject *cleanups; /* list of (callable, data) */
    PyObject *around;   /* the request whose gate the guard shares, as long as this object is */
    int content_type_set;
} pp_request;

/* ---- for the core ---- */

/* New reference, or NULL with an exception. Sets call->req. `spare` is the calling thread's place
 * for an object that pp_request_end has kept, or NULL. GIL held. */
PyObject *pp_request_new(pp_call *call, PyObject **spare);

/* Calls what scripts gave to req.register_cleanup, the last first. GIL held. When one fails,
 * `report` is called with its exception set, and clears it. */
void pp_request_run_cleanups(PyObject *req, void (*report)(pp_call *call));

/* The handlers are done: only the calling thread may use req from now on. Waits for a Python thread
 * that is inside. GIL held. */
void pp_request_own(PyObject *req);

/* Ends req and everything made from it; waits for a Python thread that is inside. Clears call->req
 * and steals the caller's reference. An object that nobody else refers to becomes the spare. GIL
 * held. */
void pp_request_end(PyObject *req, PyObject **spare);

/* ---- for the other files of the script API ---- */

/* New reference: the heap type, made once for each interpreter. */
PyObject *pp_request_type_new(PyObject *module);

/* The request_rec, or NULL with RuntimeError when the request is over. Pairs with leave. */
static inline request_rec *pp_request_enter(pp_request *req)
{
    return pp_guard_enter(&req->guard) == 0 ? req->r : NULL;
}

static inline void pp_request_leave(pp_request *req)
{
    pp_guard_leave(&req->guard);
}

extern PyGetSetDef pp_request_fields[]; /* request_fields.c */

/* New reference, inside the guard: the request at PP_MAIN, PP_PREV or PP_NEXT, or None. The same
 * object that its own handler has, when it is served by this interpreter. */
PyObject *pp_request_beside(pp_request *self, int which);

/* Inside the guard: sends what is buffered on its way, with the GIL released; with `flush` as far
 * as the network. 0, or -1 with OSError, or RuntimeError when nothing more can be written. */
int pp_request_pass(pp_request *req, int flush);

/* Inside the guard: adds to the response. 0, or -1 with an exception. The bytes are copied, or sent
 * before this returns. */
int pp_request_put(pp_request *req, const char *bytes, apr_size_t length);

/* Inside the guard: 0, or -1 with RuntimeError when the response has ended or is being passed on.
 */
int pp_request_open(const pp_request *req);

/* As that, and when the client is gone: 0, or -1 with an exception when nothing can be written. */
int pp_request_writable(pp_request *req);

#endif
