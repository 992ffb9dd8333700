/* SPDX-License-Identifier: Apache-2.0
 * The built-in C module `_apache`: its state, its functions. Multi-phase and without anything
 * static that changes, so each interpreter has its own, whatever GIL it lives under.
 *
 * Type objects, exceptions and constants are made when an interpreter imports the module, and die
 * with it: a Python object must never be seen by two interpreters. What the functions read of
 * httpd (its root, its directives, its MPM) does not change while a child serves, so no lock is
 * needed. */
#include "modules/python/apache_module.h"

#include <errno.h>
#include <ap_mpm.h>
#include <httpd.h>
#include <http_config.h>
#include <http_core.h>
#include <http_log.h>
#include <http_main.h>
#include "modules/python/field.h"
#include "modules/python/request.h"
#include "modules/python/server.h"
#include "modules/python/table.h"

APLOG_USE_MODULE(pypool);

/* ---- functions ---- */

/* log_error(message[, level[, server]]) */
static PyObject *apache_log_error(PyObject *module, PyObject *args)
{
    PyObject *message;
    PyObject *level_given = NULL;
    PyObject *server = Py_None;
    server_rec *s = ap_server_conf;
    pp_bytes text;
    int level = APLOG_ERR;

    if (!PyArg_ParseTuple(args, "O|OO:log_error", &message, &level_given, &server))
        return NULL;
    if (level_given && pp_int_in(level_given, APLOG_EMERG, APLOG_TRACE8, "level", &level) != 0)
        return NULL;
    if (server != Py_None) {
        s = pp_server_of(pp_state_of(module)->server_type, server);
        if (!s)
            return NULL;
    }
    if (pp_text_open(&text, message, PP_TEXT_ANY, "the message") != 0)
        return NULL;
    /* The log may be a pipe that is full. A newline is written as \n, so nobody can forge an entry.
     */
    Py_BEGIN_ALLOW_THREADS
    ap_log_error(APLOG_MARK, level, 0, s, "%s", text.data);
    Py_END_ALLOW_THREADS
    pp_bytes_close(&text);
    Py_RETURN_NONE;
}

/* server_root(): httpd's ServerRoot as str */
static PyObject *apache_server_root(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return pp_text(ap_server_root);
}

/* mpm_query(code): an int; ValueError when the MPM has no answer */
static PyObject *apache_mpm_query(PyObject *module, PyObject *args)
{
    int code;
    int result;

    (void)module;
    if (!PyArg_ParseTuple(args, "i:mpm_query", &code))
        return NULL;
    /* Each MPM answers the questions it knows; mod_python gave whatever was in memory for others.
     */
    if (ap_mpm_query(code, &result) != APR_SUCCESS)
        return PyErr_Format(PyExc_ValueError, "mpm_query: this MPM does not answer %d", code);
    return PyLong_FromLong(result);
}

/* exists_config_define(name): bool */
static PyObject *apache_exists_config_define(PyObject *module, PyObject *name)
{
    pp_bytes text;
    int there;

    (void)module;
    if (pp_text_open(&text, name, PP_TEXT_ANY, "the name") != 0)
        return NULL;
    there = ap_exists_config_define(text.data);
    pp_bytes_close(&text);
    return PyBool_FromLong(there);
}

/* stat(path, wanted): file information; a filetype of APR_NOFILE when there is no such file */
static PyObject *apache_stat(PyObject *module, PyObject *args)
{
    PyObject *path;
    PyObject *answer = NULL;
    apr_pool_t *pool;
    apr_finfo_t finfo = {0};
    apr_status_t rv;
    pp_bytes text;
    int wanted;

    if (!PyArg_ParseTuple(args, "Oi:stat", &path, &wanted) ||
        pp_text_open(&text, path, PP_TEXT_ANY, "the path") != 0)
        return NULL;
    if (apr_pool_create_unmanaged(&pool) != APR_SUCCESS) {
        pp_bytes_close(&text);
        return PyErr_NoMemory();
    }
    Py_BEGIN_ALLOW_THREADS
    rv = apr_stat(&finfo, text.data, wanted, pool); /* may wait for a disk or a network */
    Py_END_ALLOW_THREADS
    /* Incomplete: some of what was wanted is not known here; `valid` says what is. */
    if (rv == APR_SUCCESS || rv == APR_INCOMPLETE || APR_STATUS_IS_ENOENT(rv) ||
        APR_STATUS_IS_ENOTDIR(rv)) {
        answer = pp_finfo_new(pp_state_of(module)->finfo_type, &finfo);
    } else {
        errno = APR_TO_OS_ERROR(rv);
        PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, path);
    }
    apr_pool_destroy(pool);
    pp_bytes_close(&text);
    return answer;
}

/* New reference: list of (directive, arguments), each followed by the list of what stands in it. */
static PyObject *directives_list(const ap_directive_t *directive)
{
    PyObject *list = PyList_New(0);

    for (; list && directive; directive = directive->next) {
        PyObject *name = pp_text(directive->directive);
        PyObject *args = pp_text(directive->args);
        PyObject *pair = name && args ? PyTuple_Pack(2, name, args) : NULL;
        PyObject *inside = directive->first_child ? directives_list(directive->first_child) : NULL;

        if (!pair || PyList_Append(list, pair) != 0 ||
            (directive->first_child && (!inside || PyList_Append(list, inside) != 0)))
            Py_CLEAR(list);
        Py_XDECREF(name);
        Py_XDECREF(args);
        Py_XDECREF(pair);
        Py_XDECREF(inside);
    }
    return list;
}

/* config_tree(): httpd keeps the tree it started from, so children can show it. */
static PyObject *apache_config_tree(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return directives_list(ap_conftree);
}

/* locked(lock, seconds, function, *args): function(*args) with the lock held, or NotImplemented
 * when it is not to be had in time. In Python code a time limit could come between taking the lock
 * and the code that gives it back; here nothing can, nor is there anything that memory could fail
 * for. */
static PyObject *apache_locked(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    PyObject *release, *taken, *given, *result = NULL;
    PyObject *type, *value, *traceback;

    (void)module;
    if (count < 3) {
        PyErr_SetString(PyExc_TypeError, "locked(lock, seconds, function, *args)");
        return NULL;
    }
    release = PyObject_GetAttrString(args[0], "release");
    taken = release ? PyObject_CallMethod(args[0], "acquire", "OO", Py_True, args[1]) : NULL;
    if (taken == Py_True) {
        result = PyObject_Vectorcall(args[2], args + 3, count - 3, NULL);
        PyErr_Fetch(&type, &value, &traceback);
        given = PyObject_CallNoArgs(release);
        Py_XDECREF(given);
        PyErr_Restore(type, value, traceback);
    } else if (taken) {
        result = Py_NewRef(Py_NotImplemented);
    }
    Py_XDECREF(taken);
    Py_XDECREF(release);
    return result;
}

/* Shared by all interpreters and never written. */
static PyMethodDef apache_functions[] = {
    {"config_tree", apache_config_tree, METH_NOARGS, "httpd's configuration, as nested lists"},
    {"exists_config_define", apache_exists_config_define, METH_O,
     "exists_config_define(name): whether httpd runs with -D name"},
    {"locked", (PyCFunction)(void (*)(void))apache_locked, METH_FASTCALL,
     "locked(lock, seconds, function, *args): function(*args) with the lock held"},
    {"log_error", apache_log_error, METH_VARARGS, "log_error(message[, level[, server]])"},
    {"mpm_query", apache_mpm_query, METH_VARARGS, "mpm_query(AP_MPMQ_...)"},
    {"is_form", pp_is_form, METH_O, "is_form(content_type): whether parse_form takes such a body"},
    {"parse_form", pp_parse_form, METH_VARARGS,
     "parse_form(content_type, body, keep_blank_values, strict_parsing)"},
    {"parse_qsl", (PyCFunction)(void (*)(void))pp_parse_qsl, METH_VARARGS | METH_KEYWORDS,
     "parse_qsl(qs[, keep_blank_values[, strict_parsing]]): list of (name, value)"},
    {"server_root", apache_server_root, METH_NOARGS, "httpd's ServerRoot"},
    {"stat", apache_stat, METH_VARARGS, "stat(path, APR_FINFO_...)"},
    {NULL, NULL, 0, NULL}};

/* ---- the module ---- */

pp_state *pp_state_of(PyObject *module)
{
    return PyModule_GetState(module);
}

PyObject *pp_server_return(PyObject *module)
{
    return pp_state_of(module)->server_return;
}

PyObject *pp_time_limit_exceeded(PyObject *module)
{
    return pp_state_of(module)->time_limit_exceeded;
}

int pp_body_error_status(PyObject *module, PyObject *error)
{
    PyObject *status;
    long number;

    if (!PyErr_GivenExceptionMatches(error, pp_state_of(module)->body_error))
        return 0;
    status = PyObject_GetAttrString(error, "status");
    number = status && PyLong_Check(status) ? PyLong_AsLong(status) : 0;
    PyErr_Clear();
    Py_XDECREF(status);
    return number >= 400 && number < 600 ? (int)number : 0;
}

/* 0, or -1. Steals `type`, which becomes *slot. */
static int take_type(PyTypeObject **slot, PyObject *type)
{
    *slot = (PyTypeObject *)type;
    return type ? 0 : -1;
}

/* 0, or -1: main_server, which is None where httpd does not serve (configuration tests). */
static int add_main_server(PyObject *module, pp_state *state)
{
    PyObject *server =
        ap_server_conf ? pp_server_new(state->server_type, ap_server_conf) : Py_NewRef(Py_None);
    int rc = server ? PyModule_AddObjectRef(module, "main_server", server) : -1;

    Py_XDECREF(server);
    return rc;
}

/* Runs once for each interpreter that imports the module. What fails halfway is dropped with the
 * module, by apache_clear. */
static int apache_exec(PyObject *module)
{
    pp_state *state = pp_state_of(module);

    if (take_type(&state->request_type, pp_request_type_new(module)) != 0 ||
        take_type(&state->table_type, pp_table_type_new(module)) != 0 ||
        take_type(&state->server_type, pp_server_type_new(module)) != 0 ||
        take_type(&state->connection_type, pp_connection_type_new(module)) != 0 ||
        take_type(&state->finfo_type, pp_finfo_type_new()) != 0 ||
        take_type(&state->hlist_type, pp_hlist_type_new()) != 0)
        return -1;
    /* mod_python's name; its argument is the status, so str(error) shows it. */
    state->server_return = PyErr_NewExceptionWithDoc(
        "_apache.SERVER_RETURN", "Ends the handler with the status it carries.", NULL, NULL);
    /* A BaseException: `except Exception` in a handler must not keep it running. */
    state->time_limit_exceeded = PyErr_NewExceptionWithDoc(
        "_apache.TimeLimitExceeded", "The handler ran longer than PythonTimeLimit allows.",
        PyExc_BaseException, NULL);
    /* An OSError, as reading raises IOError under mod_python. */
    state->body_error = PyErr_NewExceptionWithDoc(
        "_apache.BodyError", "The request's body can't be read; `status` is the answer to that.",
        PyExc_OSError, NULL);
    if (!state->body_error || !state->server_return || !state->time_limit_exceeded)
        return -1;
    if (PyModule_AddObjectRef(module, "SERVER_RETURN", state->server_return) != 0 ||
        PyModule_AddObjectRef(module, "BodyError", state->body_error) != 0 ||
        PyModule_AddObjectRef(module, "TimeLimitExceeded", state->time_limit_exceeded) != 0 ||
        PyModule_AddObjectRef(module, "table", (PyObject *)state->table_type) != 0)
        return -1;
    return add_main_server(module, state) == 0 ? pp_constants_add(module) : -1;
}

/* The state takes part in garbage collection: types and module refer to each other. */
static int apache_traverse(PyObject *module, visitproc visit, void *arg)
{
    pp_state *state = pp_state_of(module);

    Py_VISIT(state->request_type);
    Py_VISIT(state->table_type);
    Py_VISIT(state->server_type);
    Py_VISIT(state->connection_type);
    Py_VISIT(state->finfo_type);
    Py_VISIT(state->hlist_type);
    Py_VISIT(state->server_return);
    Py_VISIT(state->body_error);
    Py_VISIT(state->time_limit_exceeded);
    return 0;
}

/* Drops every reference of the state; may be called more than once. */
static int apache_clear(PyObject *module)
{
    pp_state *state = pp_state_of(module);

    Py_CLEAR(state->request_type);
    Py_CLEAR(state->table_type);
    Py_CLEAR(state->server_type);
    Py_CLEAR(state->connection_type);
    Py_CLEAR(state->finfo_type);
    Py_CLEAR(state->hlist_type);
    Py_CLEAR(state->server_return);
    Py_CLEAR(state->body_error);
    Py_CLEAR(state->time_limit_exceeded);
    return 0;
}

static void apache_free(void *module)
{
    apache_clear(module);
}

/* What the module promises: no state outside of its own, so any GIL or none will do. */
static PyModuleDef_Slot apache_slots[] = {
    {Py_mod_exec, apache_exec},
#if PY_VERSION_HEX >= 0x030c0000
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
#if PY_VERSION_HEX >= 0x030d0000
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL}};

static struct PyModuleDef apache_module = {PyModuleDef_HEAD_INIT,
                                           .m_name = "_apache",
                                           .m_doc = "httpd, as scripts see it",
                                           .m_size = sizeof(pp_state),
                                           .m_methods = apache_functions,
                                           .m_slots = apache_slots,
                                           .m_traverse = apache_traverse,
                                           .m_clear = apache_clear,
                                           .m_free = apache_free};

PyMODINIT_FUNC PyInit__apache(void)
{
    return PyModuleDef_Init(&apache_module);
}
