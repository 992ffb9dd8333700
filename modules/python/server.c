/* SPDX-License-Identifier: Apache-2.0
 * The server object: what a virtual host is set up to do. Nothing in it changes while httpd serves,
 * so it needs no guard, and an object may be kept for as long as the child lives. */
#include "modules/python/server.h"

#include <string.h>
#include <structmember.h>
#include <ap_mpm.h>
#include <http_log.h>
#include <scoreboard.h>
#include "modules/python/apache_module.h"
#include "modules/python/conf.h"
#include "modules/python/field.h"
#include "modules/python/table.h"
#include "modules/python/text.h"

APLOG_USE_MODULE(pypool);

typedef struct server_object {
    PyObject_HEAD
    PyObject *dict; /* what scripts put on it */
    server_rec *s;  /* in the configuration's pool, which a child never clears */
} server_object;

PyObject *pp_server_new(PyTypeObject *type, server_rec *s)
{
    server_object *self = PyObject_GC_New(server_object, type);

    if (!self)
        return NULL;
    self->dict = NULL;
    self->s = s;
    PyObject_GC_Track(self);
    return (PyObject *)self;
}

server_rec *pp_server_of(PyTypeObject *type, PyObject *server)
{
    /* The type has no subclasses. */
    if (Py_TYPE(server) == type)
        return ((server_object *)server)->s;
    PyErr_Format(PyExc_TypeError, "the server must be like req.server, not %.100s",
                 Py_TYPE(server)->tp_name);
    return NULL;
}

/* Scripts may put anything on a server, so it can be part of a cycle. */
static int server_traverse(PyObject *op, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(op));
    Py_VISIT(((server_object *)op)->dict);
    return 0;
}

static int server_clear(PyObject *op)
{
    Py_CLEAR(((server_object *)op)->dict);
    return 0;
}

static void server_dealloc(PyObject *op)
{
    PyTypeObject *type = Py_TYPE(op);

    PyObject_GC_UnTrack(op);
    server_clear(op);
    PyObject_GC_Del(op);
    Py_DECREF(type);
}

/* ---- methods ---- */

/* log_error(message[, level]) */
static PyObject *server_log_error(PyObject *op, PyObject *args)
{
    server_rec *s = ((server_object *)op)->s;
    PyObject *message;
    PyObject *level_given = NULL;
    pp_bytes text;
    int level = APLOG_ERR;

    if (!PyArg_ParseTuple(args, "O|O:log_error", &message, &level_given))
        return NULL;
    if (level_given && pp_int_in(level_given, APLOG_EMERG, APLOG_TRACE8, "level", &level) != 0)
        return NULL;
    if (pp_text_open(&text, message, PP_TEXT_ANY, "the message") != 0)
        return NULL;
    /* The log may be a pipe that is full. */
    Py_BEGIN_ALLOW_THREADS
    ap_log_error(APLOG_MARK, level, 0, s, "%s", text.data);
    Py_END_ALLOW_THREADS
    pp_bytes_close(&text);
    Py_RETURN_NONE;
}

/* Borrowed: the directives that stand in the virtual host, outside of sections. */
static const pp_conf *conf_of(PyObject *op)
{
    return ap_get_module_config(((server_object *)op)->s->lookup_defaults, &pypool_module);
}

/* get_options(): a table of the script's own */
static PyObject *server_get_options(PyObject *op, PyObject *unused)
{
    pp_state *state = PyType_GetModuleState(Py_TYPE(op));

    (void)unused;
    return pp_table_copy_set(state->table_type, conf_of(op)->options);
}

/* get_config(): a table of the script's own */
static PyObject *server_get_config(PyObject *op, PyObject *unused)
{
    pp_state *state = PyType_GetModuleState(Py_TYPE(op));

    (void)unused;
    return pp_table_copy(state->table_type, conf_of(op)->directives);
}

/* register_cleanup(req, callable[, data]): callable(data) when the interpreter ends. `req` says
 * which interpreter, and that is the one it is called in. */
static PyObject *server_register_cleanup(PyObject *op, PyObject *args)
{
    PyObject *req;
    PyObject *callable;
    PyObject *data = Py_None;
    PyObject *atexit;
    PyObject *result = NULL;

    (void)op;
    if (!PyArg_ParseTuple(args, "OO|O:register_cleanup", &req, &callable, &data))
        return NULL;
    if (!PyCallable_Check(callable)) {
        PyErr_SetString(PyExc_ValueError, "register_cleanup: the second argument must be callable");
        return NULL;
    }
    /* Runs in this interpreter, within the time that the core gives exit functions. */
    atexit = PyImport_ImportModule("atexit");
    if (atexit)
        result = PyObject_CallMethod(atexit, "register", "OO", callable, data);
    Py_XDECREF(atexit);
    if (!result)
        return NULL;
    Py_DECREF(result);
    Py_RETURN_NONE;
}

static PyMethodDef server_methods[] = {
    {"get_config", server_get_config, METH_NOARGS, "Table of the server's directives."},
    {"get_options", server_get_options, METH_NOARGS, "Table of the server's PythonOptions."},
    {"log_error", server_log_error, METH_VARARGS, "log_error(message[, level])"},
    {"register_cleanup", server_register_cleanup, METH_VARARGS,
     "register_cleanup(req, callable[, data])"},
    {NULL, NULL, 0, NULL}};

/* ---- attributes ---- */

/* New reference. No guard: nothing here changes or ends before the process does. */
static PyObject *field_get(PyObject *op, void *closure)
{
    const pp_field *field = closure;

    return field->get(op, (const char *)((server_object *)op)->s + field->offset);
}

/* New reference, or None for the last; httpd lists the main server first. */
static PyObject *get_next(PyObject *op, const void *at)
{
    server_rec *next = *(server_rec *const *)at;

    return next ? pp_server_new(Py_TYPE(op), next) : Py_NewRef(Py_None);
}

static PyObject *get_port(PyObject *op, const void *at)
{
    (void)op;
    return PyLong_FromLong((long)*(const apr_port_t *)at);
}

static PyObject *get_line_number(PyObject *op, const void *at)
{
    (void)op;
    return PyLong_FromUnsignedLong(*(const unsigned *)at);
}

/* A char in httpd's structure. */
static PyObject *get_is_virtual(PyObject *op, const void *at)
{
    (void)op;
    return PyLong_FromLong(*(const char *)at != 0);
}

/* 0 at the start, one more with each restart. */
static PyObject *get_generation(PyObject *op, const void *at)
{
    int generation = 0;

    (void)op;
    (void)at;
    ap_mpm_query(AP_MPMQ_GENERATION, &generation);
    return PyLong_FromLong(generation);
}

/* Without a scoreboard (as in tests of the configuration) nobody knows. */
static PyObject *get_restart_time(PyObject *op, const void *at)
{
    (void)at;
    if (!ap_exists_scoreboard_image())
        Py_RETURN_NONE;
    return pp_get_time(op, &ap_get_scoreboard_global()->restart_time);
}

#define READ(name, get, doc) \
    PP_FIELD(field_get, NULL, "server.", name, APR_OFFSETOF(server_rec, name), get, NULL, doc)
#define FIND(name, get, doc) PP_FIELD(field_get, NULL, "server.", name, 0, get, NULL, doc)

static PyGetSetDef server_fields[] = {
    /* what scripts put on it */
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    /* who it is */
    READ(defn_name, pp_get_text, "the configuration file that defines it"),
    READ(defn_line_number, get_line_number, "the line in that file"),
    READ(server_admin, pp_get_text, "ServerAdmin"),
    READ(server_hostname, pp_get_text, "ServerName"),
    READ(names, pp_get_strings, "tuple of ServerAlias names"),
    READ(wild_names, pp_get_strings, "tuple of ServerAlias names with wildcards"),
    READ(port, get_port, "the port of ServerName"),
    READ(error_fname, pp_get_text, "the error log's file"),
    PP_FIELD(field_get, NULL, "server.", loglevel, APR_OFFSETOF(server_rec, log.level), pp_get_int,
             NULL, "apache.APLOG_*"),
    READ(is_virtual, get_is_virtual, "1 for a virtual host"),
    /* how it deals with clients; times are seconds, as float */
    READ(timeout, pp_get_time, "Timeout, in seconds"),
    READ(keep_alive_timeout, pp_get_time, "KeepAliveTimeout, in seconds"),
    READ(keep_alive_max, pp_get_int, "MaxKeepAliveRequests"),
    READ(keep_alive, pp_get_int, "KeepAlive"),
    READ(path, pp_get_text, "ServerPath, or None"),
    READ(pathlen, pp_get_int, "the length of path"),
    READ(limit_req_line, pp_get_int, "LimitRequestLine"),
    READ(limit_req_fieldsize, pp_get_int, "LimitRequestFieldSize"),
    READ(limit_req_fields, pp_get_int, "LimitRequestFields"),
    /* the server as a whole */
    FIND(my_generation, get_generation, "how often the server was restarted"),
    FIND(restart_time, get_restart_time, "when it was started last, in seconds since 1970"),
    READ(next, get_next, "the next virtual host, or None"),
    {NULL, NULL, NULL, NULL, NULL}};

static PyMemberDef server_members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(server_object, dict), READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};

static PyType_Slot server_slots[] = {{Py_tp_dealloc, server_dealloc},
                                     {Py_tp_traverse, server_traverse},
                                     {Py_tp_clear, server_clear},
                                     {Py_tp_members, server_members},
                                     {Py_tp_getset, server_fields},
                                     {Py_tp_methods, server_methods},
                                     {0, NULL}};

static PyType_Spec server_spec = {.name = "_apache.server",
                                  .basicsize = sizeof(server_object),
                                  .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
                                           Py_TPFLAGS_IMMUTABLETYPE,
                                  .slots = server_slots};

PyObject *pp_server_type_new(PyObject *module)
{
    return pp_record_type_new(module, &server_spec);
}
