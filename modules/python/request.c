/* SPDX-License-Identifier: Apache-2.0
 * The request object: made, closed, and its type.
 *
 * An object is small and used again when no script has kept it; tables, server, connection and
 * neighbours are made when a script first asks for them. They hold a strong reference to `req` (the
 * guard is in it) and `req` holds one to each: pp_request_end breaks these cycles, so that memory
 * is back before the next request and the garbage collector has nothing to do. */
#include "modules/python/request_methods.h"

#include <string.h>
#include <structmember.h>
#include "modules/common/hot.h"
#include "modules/python/apache_module.h"
#include "modules/python/field.h"

/* New reference, GC-tracked. `around`: the one whose gate it shares, or NULL. */
static pp_request *request_alloc(PyTypeObject *type, request_rec *r, pp_call *call,
                                 PyObject *around)
{
    pp_request *self = PyObject_GC_New(pp_request, type);

    if (!self)
        return NULL;
    /* The collector may look at it as soon as it is tracked: everything it follows is NULL first.
     */
    memset((char *)self + offsetof(pp_request, dict), 0,
           sizeof(*self) - offsetof(pp_request, dict));
    self->r = r;
    self->call = call;
    self->around = Py_XNewRef(around);
    pp_guard_init(&self->guard, around ? &((pp_request *)around)->guard : NULL);
    PyObject_GC_Track(self);
    return self;
}

/* Whether nobody but the caller refers to it, and nobody has left anything on it: a __del__ can, as
 * long as it runs, and the collector shows all objects to scripts that ask for them. */
static int is_as_new(PyObject *op)
{
#ifdef Py_GIL_DISABLED
    (void)op;
    return 0; /* its references are counted in several places */
#else
    return Py_REFCNT(op) == 1 && !((pp_request *)op)->dict && !((pp_request *)op)->around;
#endif
}

/* Whatever belonged to the request before was dropped when that ended. */
static PyObject *reopen(pp_request *self, pp_call *call)
{
    pp_guard_init(&self->guard, NULL);
    self->r = call->r;
    self->call = call;
    self->content_type_set = 0;
    return (PyObject *)self;
}

HOT_PATH PyObject *pp_request_new(pp_call *call, PyObject **spare)
{
    PyTypeObject *type;
    PyObject *kept = *spare;

    *spare = NULL;
    if (kept && !call->around && is_as_new(kept)) {
        call->req = reopen((pp_request *)kept, call);
    } else {
        Py_XDECREF(kept);
        type = pp_state_of(call->module)->request_type;
        call->req = (PyObject *)request_alloc(type, call->r, call, call->around);
    }
    return call->req;
}

/* A request served by this interpreter has an object already, with what scripts put on it; for any
 * other (a static page, another application's) one is made here and ends with this request. */
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
        self->related[which] =
            (PyObject *)request_alloc(Py_TYPE(self), other, self->call, (PyObject *)self);
    return Py_XNewRef(self->related[which]);
}

/* Drops everything that leads to other objects: cycles end here, none waits for the collector. */
HOT_PATH static void drop_parts(pp_request *self)
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

/* The order matters: nobody gets in any more, then what hangs on it ends, then memory is given
 * back; a __del__ that runs meanwhile finds a request that is over. */
void pp_request_own(PyObject *op)
{
    pp_request *self = (pp_request *)op;
    int i;

    pp_guard_own(&self->guard);
    for (i = 0; i < PP_RELATED; i++) {
        if (self->related[i])
            pp_request_own(self->related[i]);
    }
}

HOT_PATH static void close_request(PyObject *op)
{
    pp_request *self = (pp_request *)op;
    int i;

    pp_guard_shut(&self->guard);
    /* Those made here only; what another call made is its own to close. */
    for (i = 0; i < PP_RELATED; i++) {
        if (self->related[i])
            close_request(self->related[i]);
    }
    if (self->body)
        body_close(self->body);
    self->body = NULL;
    if (self->call->req == op)
        self->call->req = NULL;
    self->call = NULL;
    self->r = NULL;
    drop_parts(self);
}

HOT_PATH void pp_request_end(PyObject *op, PyObject **spare)
{
    close_request(op);
    if (!*spare && is_as_new(op))
        *spare = op;
    else
        Py_DECREF(op);
}

/* 0, or -1 with an exception when `entry` (callable, data) failed. */
static int run_cleanup(PyObject *entry)
{
    PyObject *result =
        PyObject_CallFunctionObjArgs(PyTuple_GET_ITEM(entry, 0), PyTuple_GET_ITEM(entry, 1), NULL);

    Py_XDECREF(result);
    return result ? 0 : -1;
}

/* Owned reference: the list of (callable, data) so far, or NULL. */
static PyObject *take_cleanups(pp_request *self)
{
    PyObject *cleanups = NULL;

    if (pp_request_enter(self)) {
        cleanups = self->cleanups;
        self->cleanups = NULL;
        pp_request_leave(self);
    } else {
        PyErr_Clear();
    }
    return cleanups;
}

/* Run with the guard open: cleanups use req as handlers do. */
void pp_request_run_cleanups(PyObject *op, void (*report)(pp_call *call))
{
    pp_request *self = (pp_request *)op;
    PyObject *cleanups;

    /* A cleanup may register another one. */
    while ((cleanups = take_cleanups(self)) != NULL) {
        Py_ssize_t i;

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
    Py_VISIT(self->around);
    return 0;
}

static int request_clear(PyObject *op)
{
    drop_parts((pp_request *)op);
    return 0;
}

/* The request was closed before, or never came into use: pools and buckets are not touched here. */
static void request_dealloc(PyObject *op)
{
    PyTypeObject *type = Py_TYPE(op);

    PyObject_GC_UnTrack(op);
    drop_parts((pp_request *)op);
    Py_XDECREF(((pp_request *)op)->around);
    PyObject_GC_Del(op);
    Py_DECREF(type);
}

/* Where the generic attribute functions find the dict of what scripts put on req. */
static PyMemberDef request_members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(pp_request, dict), READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};

/* Shared by all interpreters and never written; so are the three tables below. */
static PyMethodDef request_methods[] = {
    {"write", (PyCFunction)(void (*)(void))pp_request_write, METH_FASTCALL | METH_KEYWORDS,
     "write(text or bytes[, flush=False])"},
    {"flush", pp_request_flush, METH_NOARGS, "Sends what was written so far."},
    {"sendfile", pp_request_sendfile, METH_VARARGS, "sendfile(path[, offset[, len]])"},
    /* the body of the request */
    {"read", pp_request_read, METH_VARARGS, "read([n]): bytes of the request's body"},
    {"readline", pp_request_readline, METH_VARARGS, "readline([n]): a line of the body"},
    {"readlines", pp_request_readlines, METH_VARARGS, "readlines([hint]): list of lines"},
    {"discard_request_body", pp_request_discard_body, METH_NOARGS, "Reads the body away."},
    /* what changes the response, or makes httpd do something */
    {"log_error", (PyCFunction)(void (*)(void))pp_request_log_error, METH_FASTCALL,
     "log_error(message[, level])"},
    {"set_content_length", pp_request_set_content_length, METH_O, "set_content_length(n)"},
    {"send_http_header", pp_request_send_http_header, METH_NOARGS, "Does nothing."},
    {"set_etag", pp_request_set_etag, METH_NOARGS, "Sets the ETag of the file."},
    {"set_last_modified", pp_request_set_last_modified, METH_NOARGS, "Last-Modified from mtime."},
    {"update_mtime", pp_request_update_mtime, METH_O, "update_mtime(seconds)"},
    {"allow_methods", pp_request_allow_methods, METH_VARARGS, "allow_methods(names[, reset])"},
    {"register_cleanup", pp_request_register_cleanup, METH_VARARGS,
     "register_cleanup(callable[, data])"},
    {"add_input_filter", pp_request_add_input_filter, METH_O, "add_input_filter(name)"},
    {"add_output_filter", pp_request_add_output_filter, METH_O, "add_output_filter(name)"},
    {"internal_redirect", pp_request_internal_redirect, METH_O, "internal_redirect(uri)"},
    /* what asks httpd */
    {"construct_url", pp_request_construct_url, METH_O, "construct_url(path)"},
    {"document_root", pp_request_document_root, METH_NOARGS, "The DocumentRoot."},
    {"auth_name", pp_request_auth_name, METH_NOARGS, "AuthName, or None."},
    {"auth_type", pp_request_auth_type, METH_NOARGS, "AuthType, or None."},
    {"get_basic_auth_pw", pp_request_get_basic_auth_pw, METH_NOARGS, "The password, or None."},
    {"get_remote_host", pp_request_get_remote_host, METH_VARARGS,
     "get_remote_host([type[, str_is_ip]])"},
    {"get_options", pp_request_get_options, METH_NOARGS, "Table of the PythonOptions in effect."},
    {"get_config", pp_request_get_config, METH_NOARGS, "Table of the directives in effect."},
    {"add_common_vars", pp_request_add_common_vars, METH_NOARGS, "Fills subprocess_env."},
    {"add_cgi_vars", pp_request_add_cgi_vars, METH_NOARGS, "Fills subprocess_env as for CGI."},
    {"is_https", pp_request_is_https, METH_NOARGS, "1 when the connection is encrypted."},
    {"ssl_var_lookup", pp_request_ssl_var_lookup, METH_O, "ssl_var_lookup(name)"},
    {"meets_conditions", pp_request_meets_conditions, METH_NOARGS, "apache.OK or a status."},
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
                                            Py_TPFLAGS_IMMUTABLETYPE,
                                   .slots = request_slots};

PyObject *pp_request_type_new(PyObject *module)
{
    return pp_record_type_new(module, &request_spec);
}
