/* SPDX-License-Identifier: Apache-2.0
 * The request object: made, closed, and its type. */
#include "modules/python/request.h"

#include <string.h>
#include <structmember.h>
#include "modules/python/apache_module.h"

/* New reference, GC-tracked. */
static pp_request *request_alloc(PyTypeObject *type, request_rec *r, pp_call *call)
{
    pp_request *self = PyObject_GC_New(pp_request, type);

    if (!self)
        return NULL;
    memset((char *)self + offsetof(pp_request, dict), 0,
           sizeof(*self) - offsetof(pp_request, dict));
    self->r = r;
    self->call = call;
    PyObject_GC_Track(self);
    return self;
}

PyObject *pp_request_new(pp_call *call)
{
    pp_state *state = pp_state_of(call->module);

    call->req = (PyObject *)request_alloc(state->request_type, call->r, call);
    return call->req;
}

PyObject *pp_request_beside(pp_request *self, int which)
{
    request_rec *others[PP_RELATED] = {self->r->main, self->r->prev, self->r->next};
    request_rec *other = others[which];
    pp_call *call;

    if (!other)
        Py_RETURN_NONE;
    call = pp_call_of(other);
    if (call && call->req && call->module == self->call->module)
        return Py_NewRef(call->req);
    if (!self->related[which])
        self->related[which] = (PyObject *)request_alloc(Py_TYPE(self), other, self->call);
    return Py_XNewRef(self->related[which]);
}

request_rec *pp_request_enter(pp_request *req)
{
    return pp_guard_enter(&req->guard) == 0 ? req->r : NULL;
}

void pp_request_leave(pp_request *req)
{
    pp_guard_leave(&req->guard);
}

/* Drops everything that leads to other objects: cycles end here, none waits for the collector. */
static void drop_parts(pp_request *self)
{
    int i;

    Py_CLEAR(self->dict);
    for (i = 0; i < PP_TABLES; i++)
        Py_CLEAR(self->tables[i]);
    for (i = 0; i < PP_RELATED; i++)
        Py_CLEAR(self->related[i]);
    Py_CLEAR(self->connection);
    Py_CLEAR(self->server);
    Py_CLEAR(self->cleanups);
}

void pp_request_close(PyObject *op)
{
    pp_request *self = (pp_request *)op;
    int i;

    pp_guard_shut(&self->guard);
    for (i = 0; i < PP_RELATED; i++) {
        if (self->related[i])
            pp_request_close(self->related[i]);
    }
    if (self->call->req == op)
        self->call->req = NULL;
    self->call = NULL;
    self->r = NULL;
    drop_parts(self);
}

/* 0, or -1 with an exception when `entry` (callable, data) failed. */
static int run_cleanup(PyObject *entry)
{
    PyObject *result =
        PyObject_CallFunctionObjArgs(PyTuple_GET_ITEM(entry, 0), PyTuple_GET_ITEM(entry, 1), NULL);

    Py_XDECREF(result);
    return result ? 0 : -1;
}

void pp_request_run_cleanups(PyObject *op, void (*report)(pp_call *call))
{
    pp_request *self = (pp_request *)op;
    PyObject *cleanups;

    /* A cleanup may register another one. */
    while ((cleanups = self->cleanups) != NULL) {
        Py_ssize_t i;

        self->cleanups = NULL;
        for (i = PyList_GET_SIZE(cleanups); i-- > 0;) {
            if (run_cleanup(PyList_GET_ITEM(cleanups, i)) != 0)
                report(self->call);
        }
        Py_DECREF(cleanups);
    }
}

static int request_traverse(PyObject *op, visitproc visit, void *arg)
{
    pp_request *self = (pp_request *)op;
    int i;

    Py_VISIT(Py_TYPE(op));
    Py_VISIT(self->dict);
    for (i = 0; i < PP_TABLES; i++)
        Py_VISIT(self->tables[i]);
    for (i = 0; i < PP_RELATED; i++)
        Py_VISIT(self->related[i]);
    Py_VISIT(self->connection);
    Py_VISIT(self->server);
    Py_VISIT(self->cleanups);
    return 0;
}

static int request_clear(PyObject *op)
{
    drop_parts((pp_request *)op);
    return 0;
}

static void request_dealloc(PyObject *op)
{
    PyTypeObject *type = Py_TYPE(op);

    PyObject_GC_UnTrack(op);
    drop_parts((pp_request *)op);
    PyObject_GC_Del(op);
    Py_DECREF(type);
}

static PyMemberDef request_members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(pp_request, dict), READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};

static PyMethodDef request_methods[] = {
    {"write", (PyCFunction)(void (*)(void))pp_request_write, METH_FASTCALL | METH_KEYWORDS,
     "write(text or bytes[, flush=False])"},
    {"flush", pp_request_flush, METH_NOARGS, "Sends what was written so far."},
    {NULL, NULL, 0, NULL}};

static PyType_Slot request_slots[] = {{Py_tp_dealloc, request_dealloc},
                                      {Py_tp_traverse, request_traverse},
                                      {Py_tp_clear, request_clear},
                                      {Py_tp_members, request_members},
                                      {Py_tp_getset, pp_request_fields},
                                      {Py_tp_methods, request_methods},
                                      {0, NULL}};

static PyType_Spec request_spec = {.name = "_apache.request",
                                   .basicsize = sizeof(pp_request),
                                   .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
                                            Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                   .slots = request_slots};

PyObject *pp_request_type_new(PyObject *module)
{
    return PyType_FromModuleAndSpec(module, &request_spec, NULL);
}
