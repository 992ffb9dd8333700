/* SPDX-License-Identifier: Apache-2.0
 * Getters by the kind of the member.
 *
 * httpd's structures are read in place, through the offset in the field's row: a new attribute is
 * one line in a table. Members that are bit fields have no address, and getters of their own. */
#include "modules/python/field.h"

#include <apr_network_io.h>
#include <apr_tables.h>
#include <apr_time.h>
#include "modules/python/text.h"

PyObject *pp_record_type_new(PyObject *module, PyType_Spec *spec)
{
    PyObject *type = PyType_FromModuleAndSpec(module, spec, NULL);

    /* What Py_TPFLAGS_DISALLOW_INSTANTIATION does, for Pythons that do not know it. */
    if (type)
        ((PyTypeObject *)type)->tp_new = NULL;
    return type;
}

PyObject *pp_get_text(PyObject *self, const void *at)
{
    (void)self;
    return pp_text(*(const char *const *)at);
}

PyObject *pp_get_int(PyObject *self, const void *at)
{
    (void)self;
    return PyLong_FromLong(*(const int *)at);
}

PyObject *pp_get_offset(PyObject *self, const void *at)
{
    (void)self;
    return PyLong_FromLongLong(*(const apr_off_t *)at);
}

PyObject *pp_get_int64(PyObject *self, const void *at)
{
    (void)self;
    return PyLong_FromLongLong(*(const apr_int64_t *)at);
}

/* Microseconds fit a double exactly until the year 2255. */
PyObject *pp_get_time(PyObject *self, const void *at)
{
    (void)self;
    return PyFloat_FromDouble((double)*(const apr_time_t *)at / APR_USEC_PER_SEC);
}

/* A tuple, since changing it would change nothing of httpd's. */
PyObject *pp_get_strings(PyObject *self, const void *at)
{
    const apr_array_header_t *strings = *(const apr_array_header_t *const *)at;
    PyObject *tuple = PyTuple_New(strings ? strings->nelts : 0);
    int i;

    (void)self;
    for (i = 0; tuple && strings && i < strings->nelts; i++) {
        PyObject *text = pp_text(APR_ARRAY_IDX(strings, i, const char *));

        if (text)
            PyTuple_SET_ITEM(tuple, i, text);
        else
            Py_CLEAR(tuple);
    }
    return tuple;
}

/* The buffer holds any IPv6 address with its scope. */
PyObject *pp_get_address(PyObject *self, const void *at)
{
    apr_sockaddr_t *address = *(apr_sockaddr_t *const *)at;
    char ip[64];

    (void)self;
    if (!address)
        Py_RETURN_NONE;
    /* A connection over a UNIX socket has no IP address. */
    if (apr_sockaddr_ip_getbuf(ip, sizeof(ip), address) != APR_SUCCESS)
        return Py_BuildValue("(Oi)", Py_None, (int)address->port);
    return Py_BuildValue("(si)", ip, (int)address->port);
}

/* bool is an int in Python, and welcome; float is not. */
int pp_int_in(PyObject *value, long from, long to, const char *name, int *number)
{
    long given;
    int overflow = 0;

    if (!PyLong_Check(value)) {
        PyErr_Format(PyExc_TypeError, "%s must be int, not %.100s", name, Py_TYPE(value)->tp_name);
        return -1;
    }
    given = PyLong_AsLongAndOverflow(value, &overflow);
    if (overflow || given < from || given > to) {
        PyErr_Format(PyExc_ValueError, "%s must be from %ld to %ld, not %R", name, from, to, value);
        return -1;
    }
    *number = (int)given;
    return 0;
}
