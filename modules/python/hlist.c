/* SPDX-License-Identifier: Apache-2.0
 * req.hlist: which handler is being run, and where its directive stands.
 *
 * A value, not a view: with several handlers in a directive each sees its own. */
#include "modules/python/server.h"

#include "modules/python/text.h"

static PyStructSequence_Field hlist_fields[] = {
    {"handler", "'module::object', as written"},
    {"directory", "of the directive's section, or None"},
    {"location", "URL path of its <Location>, or None"},
    {"is_location", "whether that is where the directive stands"},
    {NULL, NULL}};

static PyStructSequence_Desc hlist_desc = {.name = "_apache.hlist",
                                           .doc = "the handler being run",
                                           .fields = hlist_fields,
                                           .n_in_sequence = 4};

PyObject *pp_hlist_type_new(void)
{
    return (PyObject *)PyStructSequence_NewType(&hlist_desc);
}

/* All of it may be None but the handler. */
PyObject *pp_hlist_new(PyTypeObject *type, const pp_call *call)
{
    PyObject *self = PyStructSequence_New(type);
    PyObject *values[] = {pp_text(call->handler), pp_text(call->directory), pp_text(call->location),
                          PyBool_FromLong(call->location != NULL)};
    Py_ssize_t i;

    for (i = 0; i < hlist_desc.n_in_sequence; i++) {
        if (self && values[i])
            PyStructSequence_SetItem(self, i, values[i]);
        else
            Py_XDECREF(values[i]);
        if (!values[i])
            Py_CLEAR(self);
    }
    return self;
}
