/* SPDX-License-Identifier: Apache-2.0
 * What Python 3.9 lacks, under the names of 3.10. */
#ifndef INTERPOOL_PYTHON_COMPAT_H
#define INTERPOOL_PYTHON_COMPAT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#if PY_VERSION_HEX < 0x030a0000

static inline PyObject *Py_XNewRef(PyObject *object)
{
    Py_XINCREF(object);
    return object;
}

static inline PyObject *Py_NewRef(PyObject *object)
{
    Py_INCREF(object);
    return object;
}

static inline int PyModule_AddObjectRef(PyObject *module, const char *name, PyObject *value)
{
    Py_XINCREF(value);
    if (PyModule_AddObject(module, name, value) == 0)
        return 0;
    Py_XDECREF(value);
    return -1;
}

/* Types that scripts can't change; they can in 3.9. */
#define Py_TPFLAGS_IMMUTABLETYPE 0

#endif
#endif
