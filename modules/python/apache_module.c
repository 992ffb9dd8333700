/* SPDX-License-Identifier: Apache-2.0
 * The built-in C module `_apache`: its state, its functions. Multi-phase and without anything
 * static that changes, so each interpreter has its own, whatever GIL it lives under. */
#include "modules/python/apache_module.h"

#include <ap_mpm.h>
#include <httpd.h>
#include <http_config.h>
#include <http_core.h>
#include <http_log.h>
#include <http_main.h>
#include "modules/python/field.h"
#include "modules/python/request.h"
#include "modules/python/table.h"

APLOG_USE_MODULE(pypool);

/* ---- functions ---- */

/* log_error(message[, level[, server]]) */
static PyObject *apache_log_error(PyObject *module, PyObject *args)
{
    PyObject *message;
    PyObject *level_given = NULL;
    PyObject *server = Py_None;
    pp_bytes text;
    int level = APLOG_ERR;

    (void)module;
    if (!PyArg_ParseTuple(args, "O|OO:log_error", &message, &level_given, &server))
        return NULL;
    if (level_given && pp_int_in(level_given, APLOG_EMERG, APLOG_TRACE8, "level", &level) != 0)
        return NULL;
    if (pp_text_open(&text, message, PP_TEXT_ANY, "the message") != 0)
        return NULL;
    /* The log may be a pipe that is full. */
    Py_BEGIN_ALLOW_THREADS
    ap_log_error(APLOG_MARK, level, 0, ap_server_conf, "%s", text.data);
    Py_END_ALLOW_THREADS
    pp_bytes_close(&text);
    Py_RETURN_NONE;
}

static PyObject *apache_server_root(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return pp_text(ap_server_root);
}

static PyObject *apache_mpm_query(PyObject *module, PyObject *args)
{
    int code;
    int result;

    (void)module;
    if (!PyArg_ParseTuple(args, "i:mpm_query", &code))
        return NULL;
    if (ap_mpm_query(code, &result) != APR_SUCCESS)
        return PyErr_Format(PyExc_ValueError, "mpm_query: this MPM does not answer %d", code);
    return PyLong_FromLong(result);
}

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

static PyMethodDef apache_functions[] = {
    {"exists_config_define", apache_exists_config_define, METH_O,
     "exists_config_define(name): whether httpd runs with -D name"},
    {"log_error", apache_log_error, METH_VARARGS, "log_error(message[, level[, server]])"},
    {"mpm_query", apache_mpm_query, METH_VARARGS, "mpm_query(AP_MPMQ_...)"},
    {"server_root", apache_server_root, METH_NOARGS, "httpd's ServerRoot"},
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

/* 0, or -1. Steals `type`, which becomes *slot. */
static int take_type(PyTypeObject **slot, PyObject *type)
{
    *slot = (PyTypeObject *)type;
    return type ? 0 : -1;
}

static int apache_exec(PyObject *module)
{
    pp_state *state = pp_state_of(module);

    if (take_type(&state->request_type, pp_request_type_new(module)) != 0 ||
        take_type(&state->table_type, pp_table_type_new(module)) != 0)
        return -1;
    state->server_return = PyErr_NewExceptionWithDoc(
        "_apache.SERVER_RETURN", "Ends the handler with the status it carries.", NULL, NULL);
    state->time_limit_exceeded = PyErr_NewExceptionWithDoc(
        "_apache.TimeLimitExceeded", "The handler ran longer than PythonTimeLimit allows.",
        PyExc_BaseException, NULL);
    if (!state->server_return || !state->time_limit_exceeded)
        return -1;
    if (PyModule_AddObjectRef(module, "SERVER_RETURN", state->server_return) != 0 ||
        PyModule_AddObjectRef(module, "TimeLimitExceeded", state->time_limit_exceeded) != 0 ||
        PyModule_AddObjectRef(module, "table", (PyObject *)state->table_type) != 0)
        return -1;
    return pp_constants_add(module);
}

static int apache_traverse(PyObject *module, visitproc visit, void *arg)
{
    pp_state *state = pp_state_of(module);

    Py_VISIT(state->request_type);
    Py_VISIT(state->table_type);
    Py_VISIT(state->server_type);
    Py_VISIT(state->connection_type);
    Py_VISIT(state->finfo_type);
    Py_VISIT(state->handlers_type);
    Py_VISIT(state->server_return);
    Py_VISIT(state->time_limit_exceeded);
    return 0;
}

static int apache_clear(PyObject *module)
{
    pp_state *state = pp_state_of(module);

    Py_CLEAR(state->request_type);
    Py_CLEAR(state->table_type);
    Py_CLEAR(state->server_type);
    Py_CLEAR(state->connection_type);
    Py_CLEAR(state->finfo_type);
    Py_CLEAR(state->handlers_type);
    Py_CLEAR(state->server_return);
    Py_CLEAR(state->time_limit_exceeded);
    return 0;
}

static void apache_free(void *module)
{
    apache_clear(module);
}

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
