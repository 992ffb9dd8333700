/* SPDX-License-Identifier: Apache-2.0
 * The connection object, as the handler of a request sees it. It is over when the request is, even
 * when the connection is kept, since another thread may serve the next request on it. */
#include "modules/python/server.h"

#include <http_log.h>
#include "modules/python/apache_module.h"
#include "modules/python/field.h"
#include "modules/python/table.h"
#include "modules/python/text.h"

APLOG_USE_MODULE(pypool);

typedef struct connection_object {
    PyObject_HEAD
    conn_rec *c;     /* valid while the guard lets in */
    pp_guard *guard; /* the request's */
    PyObject *owner; /* keeps the guard alive */
} connection_object;

PyObject *pp_connection_new(PyTypeObject *type, conn_rec *c, pp_guard *guard, PyObject *owner)
{
    connection_object *self = PyObject_New(connection_object, type);

    if (!self)
        return NULL;
    self->c = c;
    self->guard = guard;
    self->owner = Py_NewRef(owner);
    return (PyObject *)self;
}

/* The connection itself is httpd's; only the hold on the guard's owner ends. */
static void connection_dealloc(PyObject *op)
{
    PyTypeObject *type = Py_TYPE(op);

    Py_DECREF(((connection_object *)op)->owner);
    PyObject_Free(op);
    Py_DECREF(type);
}

/* log_error(message[, level]) */
static PyObject *connection_log_error(PyObject *op, PyObject *args)
{
    connection_object *self = (connection_object *)op;
    PyObject *message;
    PyObject *level_given = NULL;
    pp_bytes text;
    int level = APLOG_ERR;
    int rc;

    if (!PyArg_ParseTuple(args, "O|O:log_error", &message, &level_given))
        return NULL;
    if (level_given && pp_int_in(level_given, APLOG_EMERG, APLOG_TRACE8, "level", &level) != 0)
        return NULL;
    if (pp_text_open(&text, message, PP_TEXT_ANY, "the message") != 0)
        return NULL;
    rc = pp_guard_enter(self->guard);
    if (rc == 0) {
        /* The log may be a pipe that is full. */
        Py_BEGIN_ALLOW_THREADS
        ap_log_cerror(APLOG_MARK, level, 0, self->c, "%s", text.data);
        Py_END_ALLOW_THREADS
        pp_guard_leave(self->guard);
    }
    pp_bytes_close(&text);
    if (rc != 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef connection_methods[] = {
    {"log_error", connection_log_error, METH_VARARGS, "log_error(message[, level])"},
    {NULL, NULL, 0, NULL}};

/* ---- attributes ---- */

/* New reference. The way in to every attribute: guard, then the field's own getter. */
static PyObject *field_get(PyObject *op, void *closure)
{
    const pp_field *field = closure;
    connection_object *self = (connection_object *)op;
    PyObject *value;

    if (pp_guard_enter(self->guard) != 0)
        return NULL;
    value = field->get(op, (const char *)self->c + field->offset);
    pp_guard_leave(self->guard);
    return value;
}

/* 0, or -1. As field_get; a NULL value is a `del`. */
static int field_set(PyObject *op, PyObject *value, void *closure)
{
    const pp_field *field = closure;
    connection_object *self = (connection_object *)op;
    int rc;

    if (!value) {
        PyErr_Format(PyExc_AttributeError, "%s can't be deleted", field->name);
        return -1;
    }
    if (pp_guard_enter(self->guard) != 0)
        return -1;
    rc = field->set(op, (char *)self->c + field->offset, value, field);
    pp_guard_leave(self->guard);
    return rc;
}

/* New reference: an object of its own each time, as a server has no state here. */
static PyObject *get_base_server(PyObject *op, const void *at)
{
    pp_state *state = PyType_GetModuleState(Py_TYPE(op));

    return pp_server_new(state->server_type, *(server_rec *const *)at);
}

/* New reference. The table is over when the request is, though httpd keeps its notes longer:
 * nothing tells us when the connection ends. */
static PyObject *get_notes(PyObject *op, const void *at)
{
    pp_state *state = PyType_GetModuleState(Py_TYPE(op));
    connection_object *self = (connection_object *)op;

    return pp_table_new(state->table_type, *(apr_table_t *const *)at, self->guard, self->owner,
                        PP_TEXT_ANY);
}

/* Handlers of connections have a list, those of requests don't. */
static PyObject *get_hlist(PyObject *op, const void *at)
{
    (void)op;
    (void)at;
    Py_RETURN_NONE;
}

static PyObject *get_id(PyObject *op, const void *at)
{
    (void)op;
    return PyLong_FromLong(*(const long *)at);
}

static PyObject *get_aborted(PyObject *op, const void *at)
{
    (void)op;
    return PyLong_FromLong(((const conn_rec *)at)->aborted != 0);
}

/* A bit field of httpd's, so no generic getter can reach it; the same for the next two. */
static PyObject *get_double_reverse(PyObject *op, const void *at)
{
    (void)op;
    return PyLong_FromLong(((const conn_rec *)at)->double_reverse);
}

static PyObject *get_keepalive(PyObject *op, const void *at)
{
    (void)op;
    return PyLong_FromLong((long)((const conn_rec *)at)->keepalive);
}

/* AP_CONN_CLOSE ends the connection after this response. */
static int set_keepalive(PyObject *op, void *at, PyObject *value, const pp_field *field)
{
    int keepalive;

    (void)op;
    if (pp_int_in(value, AP_CONN_UNKNOWN, AP_CONN_KEEPALIVE, field->name, &keepalive) != 0)
        return -1;
    ((conn_rec *)at)->keepalive = (ap_conn_keepalive_e)keepalive;
    return 0;
}

#define READ(name, get, doc) \
    PP_FIELD(field_get, NULL, "connection.", name, APR_OFFSETOF(conn_rec, name), get, NULL, doc)
#define FIND(name, get, doc) PP_FIELD(field_get, NULL, "connection.", name, 0, get, NULL, doc)
/* mod_python's older name of a member. */
#define ALIAS(name, member, get, doc) \
    PP_FIELD(field_get, NULL, "connection.", name, APR_OFFSETOF(conn_rec, member), get, NULL, doc)

static PyGetSetDef connection_fields[] = {
    /* the two ends */
    READ(base_server, get_base_server, "the virtual host that took the connection"),
    READ(local_addr, pp_get_address, "(ip, port) of the server"),
    READ(local_ip, pp_get_text, "address of the server"),
    READ(local_host, pp_get_text, "name of the server, if it was looked up"),
    READ(client_addr, pp_get_address, "(ip, port) of the next hop"),
    READ(client_ip, pp_get_text, "address of the next hop"),
    ALIAS(remote_addr, client_addr, pp_get_address, "client_addr"),
    ALIAS(remote_ip, client_ip, pp_get_text, "client_ip"),
    READ(remote_host, pp_get_text, "the client's name, if it was looked up"),
    READ(remote_logname, pp_get_text, "what identd said, if it was asked"),
    /* its state */
    FIND(aborted, get_aborted, "1: the client is gone"),
    PP_FIELD(field_get, field_set, "connection.", keepalive, 0, get_keepalive, set_keepalive,
             "apache.AP_CONN_*"),
    FIND(double_reverse, get_double_reverse, "result of a double reverse lookup"),
    READ(keepalives, pp_get_int, "requests served on this connection before"),
    FIND(hlist, get_hlist, "None"),
    READ(id, get_id, "number, unique among the connections of this moment"),
    READ(notes, get_notes, "table of notes between modules"),
    {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot connection_slots[] = {{Py_tp_dealloc, connection_dealloc},
                                         {Py_tp_getset, connection_fields},
                                         {Py_tp_methods, connection_methods},
                                         {0, NULL}};

static PyType_Spec connection_spec = {.name = "_apache.connection",
                                      .basicsize = sizeof(connection_object),
                                      .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
                                      .slots = connection_slots};

PyObject *pp_connection_type_new(PyObject *module)
{
    return pp_record_type_new(module, &connection_spec);
}
