/* SPDX-License-Identifier: Apache-2.0
 * Attributes of objects that stand for a record of httpd's (request_rec, server_rec, conn_rec): one
 * row each in a static table, with the same getters for the same kinds of member. */
#ifndef INTERPOOL_PYTHON_FIELD_H
#define INTERPOOL_PYTHON_FIELD_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <apr_pools.h>

typedef struct pp_field pp_field;
struct pp_field {
    const char *name; /* as messages name it: "req.uri" */
    size_t offset;    /* of the member in the record; 0 when `get` finds the value itself */
    /* New reference. `at` is the record's address plus offset. */
    PyObject *(*get)(PyObject *self, const void *at);
    /* 0, or -1 with an exception; NULL: read-only. */
    int (*set)(PyObject *self, void *at, PyObject *value, const pp_field *field);
};

/* A row of a PyGetSetDef table. `read` and `write` are the type's two functions that find the
 * record and call the field's get and set. */
#define PP_FIELD(read, write, prefix, name, offset, get, set, doc) \
    {                                                              \
#name, read, write, doc, (void *)&(const pp_field)         \
        {                                                          \
            prefix #name, offset, get, set                         \
        }                                                          \
    }

/* New reference: a heap type of which scripts make no instances. */
PyObject *pp_record_type_new(PyObject *module, PyType_Spec *spec);

/* Getters by the type of the member. New references. */
PyObject *pp_get_text(PyObject *self, const void *at);   /* char *, NULL: None */
PyObject *pp_get_int(PyObject *self, const void *at);    /* int */
PyObject *pp_get_offset(PyObject *self, const void *at); /* apr_off_t */
PyObject *pp_get_int64(PyObject *self, const void *at);  /* apr_int64_t */
PyObject *pp_get_time(PyObject *self, const void *at);   /* apr_time_t: float, seconds */
PyObject *pp_get_strings(PyObject *self,
                         const void *at); /* apr_array_header_t * of char *: tuple */
PyObject *pp_get_address(PyObject *self, const void *at); /* apr_sockaddr_t *: (ip, port) */

/* 0, or -1 with TypeError or ValueError naming the field. */
int pp_int_in(PyObject *value, long from, long to, const char *name, int *number);

#endif
