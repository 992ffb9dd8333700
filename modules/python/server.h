/* SPDX-License-Identifier: Apache-2.0
 * The server and connection objects, file information, and which handler is run. */
#ifndef INTERPOOL_PYTHON_SERVER_H
#define INTERPOOL_PYTHON_SERVER_H

#include <httpd.h>
#include "modules/python/call.h"
#include "modules/python/guard.h"

/* New references: the heap types, made once for each interpreter. */
PyObject *pp_server_type_new(PyObject *module);
PyObject *pp_connection_type_new(PyObject *module);
PyObject *pp_finfo_type_new(void);
PyObject *pp_hlist_type_new(void);

/* New reference. A server lives as long as the child process, and so may the object. */
PyObject *pp_server_new(PyTypeObject *type, server_rec *s);

/* The server_rec behind such an object, or NULL with TypeError. */
server_rec *pp_server_of(PyTypeObject *type, PyObject *server);

/* New reference. The object lives as long as `guard` lets in; `owner` keeps the guard alive. */
PyObject *pp_connection_new(PyTypeObject *type, conn_rec *c, pp_guard *guard, PyObject *owner);

/* New reference: a tuple with names, its elements at apache.FINFO_*. */
PyObject *pp_finfo_new(PyTypeObject *type, const apr_finfo_t *finfo);

/* 0, or -1 with an exception: fills `finfo` from such an object; texts are copied to `pool`. */
int pp_finfo_read(PyTypeObject *type, PyObject *value, apr_pool_t *pool, apr_finfo_t *finfo);

/* New reference: a tuple with names. */
PyObject *pp_hlist_new(PyTypeObject *type, const pp_call *call);

#endif
