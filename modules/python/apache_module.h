/* SPDX-License-Identifier: Apache-2.0
 * The built-in C module `_apache`, on which the Python package mod_python stands. Everything it
 * holds is in its module state, one for each interpreter. */
#ifndef INTERPOOL_PYTHON_APACHE_MODULE_H
#define INTERPOOL_PYTHON_APACHE_MODULE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* All owned references. */
typedef struct pp_state {
    PyTypeObject *request_type;    /* req */
    PyTypeObject *table_type;      /* apache.table */
    PyTypeObject *server_type;     /* req.server */
    PyTypeObject *connection_type; /* req.connection */
    PyTypeObject *finfo_type;      /* req.finfo, apache.stat */
    PyTypeObject *hlist_type;      /* req.hlist */
    PyObject *server_return;       /* SERVER_RETURN */
    PyObject *body_error;          /* BodyError */
    PyObject *time_limit_exceeded; /* TimeLimitExceeded */
} pp_state;

/* For PyImport_AppendInittab("_apache", ...), before Py_Initialize. */
PyMODINIT_FUNC PyInit__apache(void);

pp_state *pp_state_of(PyObject *module);
/* Borrowed. */
PyObject *pp_server_return(PyObject *module);
PyObject *pp_time_limit_exceeded(PyObject *module);
/* The status that answers `error` when it is a BodyError, else 0. */
int pp_body_error_status(PyObject *module, PyObject *error);

/* Functions of the module. (parse.c) */
PyObject *pp_parse_qsl(PyObject *module, PyObject *args, PyObject *kwargs);
PyObject *pp_is_form(PyObject *module, PyObject *type);
PyObject *pp_parse_form(PyObject *module, PyObject *args);

/* 0, or -1 with an exception. Adds the constants of httpd to the module. (constants.c) */
int pp_constants_add(PyObject *module);

#endif
