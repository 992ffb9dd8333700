/* SPDX-License-Identifier: Apache-2.0
 * From a handler's name to the function to call, and the `__import__` that knows spaces. */
#include "modules/python/script.h"

#include <stdlib.h>

#include "modules/python/text.h"

typedef struct pp_script {
    PyObject *function; /* what to call */
    PyObject *token;    /* what mod_python._loader.fresh() is asked with, or None */
    const char *path;   /* the PythonPath it was resolved with: the same text, if set, is the same
                         * pointer, since both come from the server's configuration */
    apr_int64_t asked;  /* the second in which freshness was asked last */
} pp_script;

struct pp_script *pp_script_table_make(void)
{
    return calloc(pp_conf_handler_count() + 1, sizeof(pp_script));
}

/* Whether files are as they were; asked at most once a second. */
static int is_fresh(pp_interp *interp, pp_script *script, const pp_conf *conf, request_rec *r)
{
    apr_int64_t now = apr_time_sec(r->request_time);
    PyObject *answer, *token = script->token;
    int fresh;

    if (now == script->asked || token == Py_None || conf->auto_reload == 0)
        return 1;
    script->asked = now; /* first of all: other threads go on with what there is */
    Py_INCREF(token);
    answer = PyObject_CallFunctionObjArgs(interp->fresh, token, NULL);
    Py_DECREF(token);
    fresh = answer ? PyObject_IsTrue(answer) : 0;
    Py_XDECREF(answer);
    if (!answer)
        PyErr_Clear(); /* resolving again meets the same fault, and reports it */
    return fresh == 1;
}

/* New reference: (function, token). */
static PyObject *load(pp_interp *interp, const pp_handler *h, const pp_conf *conf, request_rec *r)
{
    PyObject *args[5] = {pp_text(h->module), pp_text(h->object), pp_text(pp_conf_directory(h, r)),
                         pp_text(conf->path), PyBool_FromLong(conf->auto_reload != 0)};
    PyObject *result = NULL;
    int i;

    if (args[0] && args[1] && args[2] && args[3])
        result = PyObject_CallFunctionObjArgs(interp->resolve, args[0], args[1], args[2], args[3],
                                              args[4], NULL);
    for (i = 0; i < 5; i++)
        Py_XDECREF(args[i]);
    return result;
}

static void keep(pp_script *script, PyObject *function, PyObject *token, const char *path,
                 apr_int64_t now)
{
    PyObject *old_function = script->function, *old_token = script->token;

    script->function = Py_NewRef(function);
    script->token = Py_NewRef(token);
    script->path = path;
    script->asked = now;
    Py_XDECREF(old_function);
    Py_XDECREF(old_token);
}

PyObject *pp_script_resolve(pp_interp *interp, const pp_handler *h, const pp_conf *conf,
                            request_rec *r)
{
    int kept = h->id >= 0 && !h->by_file && !h->components;
    pp_script *script = kept ? &interp->scripts[h->id] : NULL;
    PyObject *pair, *function;

    if (script && script->function && script->path == conf->path &&
        is_fresh(interp, script, conf, r))
        return Py_NewRef(script->function);
    pair = load(interp, h, conf, r);
    if (!pair)
        return NULL;
    function = Py_NewRef(PyTuple_GET_ITEM(pair, 0));
    if (script)
        keep(script, function, PyTuple_GET_ITEM(pair, 1), conf->path,
             apr_time_sec(r->request_time));
    Py_DECREF(pair);
    return function;
}

/* What `__import__` needs, kept as its `self`: (marker, "__name__", packages, rename_for). */
enum {
    HOOK_MARKER,
    HOOK_NAME,
    HOOK_PACKAGES,
    HOOK_RENAME_FOR,
    HOOK_SIZE
};

/* New reference: the name under which `name` is to be imported by code with these globals. */
static PyObject *rename_import(PyObject *hook, PyObject *name, PyObject *globals)
{
    PyObject *space = PyDict_GetItemWithError(globals, PyTuple_GET_ITEM(hook, HOOK_MARKER));
    PyObject *module;

    if (space)
        return PyObject_CallMethod(space, "rename", "O", name);
    if (PyErr_Occurred())
        return NULL;
    if (!PyDict_GET_SIZE(PyTuple_GET_ITEM(hook, HOOK_PACKAGES)))
        return Py_NewRef(name);
    module = PyDict_GetItemWithError(globals, PyTuple_GET_ITEM(hook, HOOK_NAME));
    if (!module || !PyUnicode_Check(module))
        return PyErr_Occurred() ? NULL : Py_NewRef(name);
    return PyObject_CallFunctionObjArgs(PyTuple_GET_ITEM(hook, HOOK_RENAME_FOR), module, name,
                                        NULL);
}

static PyObject *import_hook(PyObject *hook, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"name", "globals", "locals", "fromlist", "level", NULL};
    PyObject *name, *globals = NULL, *locals = NULL, *from = NULL, *result;
    int level = 0;

    if (!PyArg_ParseTupleAndKeywords(args, keywords, "U|OOOi:__import__", names, &name, &globals,
                                     &locals, &from, &level))
        return NULL;
    if (level == 0 && globals && PyDict_Check(globals))
        name = rename_import(hook, name, globals);
    else
        name = Py_NewRef(name);
    if (!name)
        return NULL;
    result = PyImport_ImportModuleLevelObject(name, globals, locals, from, level);
    Py_DECREF(name);
    return result;
}

static PyMethodDef import_method = {"__import__", (PyCFunction)(void (*)(void))import_hook,
                                    METH_VARARGS | METH_KEYWORDS,
                                    "__import__(name, globals=None, locals=None, fromlist=(), "
                                    "level=0)\n\nAs Python's own, but a module of the importing "
                                    "module's directory comes first."};

int pp_script_hook_imports(void)
{
    PyObject *loader = PyImport_ImportModule("mod_python._loader");
    PyObject *builtins = PyImport_ImportModule("builtins");
    PyObject *hook = PyTuple_New(HOOK_SIZE), *function = NULL;
    int result = -1;

    if (loader && builtins && hook) {
        PyTuple_SET_ITEM(hook, HOOK_MARKER, PyObject_GetAttrString(loader, "_SPACE"));
        PyTuple_SET_ITEM(hook, HOOK_NAME, PyUnicode_InternFromString("__name__"));
        PyTuple_SET_ITEM(hook, HOOK_PACKAGES, PyObject_GetAttrString(loader, "_packages"));
        PyTuple_SET_ITEM(hook, HOOK_RENAME_FOR, PyObject_GetAttrString(loader, "rename_for"));
        if (!PyErr_Occurred())
            function = PyCFunction_NewEx(&import_method, hook, NULL);
    }
    if (function)
        result = PyObject_SetAttrString(builtins, "__import__", function);
    Py_XDECREF(function);
    Py_XDECREF(hook);
    Py_XDECREF(builtins);
    Py_XDECREF(loader);
    return result;
}
