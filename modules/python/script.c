/* SPDX-License-Identifier: Apache-2.0
 * From a handler's name to the function to call, and the `__import__` that knows spaces.
 *
 * A kept function is used again unless
 *  - the requested file is its module, and httpd found another mtime, size or inode for it, or
 *  - a second has passed since the last look, and a file that was loaded with it has changed
 *    (mod_python/_loader.py), or
 *  - another PythonPath is in effect here.
 * When loading fails nothing is kept, so that an error stays until its cause is repaired. */
#include "modules/python/script.h"

#include <stdlib.h>

#include "modules/common/hot.h"
#include "modules/python/text.h"

/* One handler's place in an interpreter's table, used with its GIL held. All objects are owned
 * references, NULL while nothing is kept. */
typedef struct pp_script {
    PyObject *function; /* what to call */
    PyObject *token;    /* what mod_python._loader.fresh() is asked with, or None */
    PyObject *file;     /* bytes: the module's own file, or None */
    char *path;       /* the PythonPath it was resolved with, malloc'd: a .htaccess file's goes with
                       * its request */
    int watched;      /* whether it was loaded under PythonAutoReload */
    apr_time_t mtime; /* of `file` when it was loaded */
    apr_int64_t size; /* likewise */
    apr_uint64_t inode; /* likewise */
    apr_int64_t asked;  /* the second in which the token was asked last */
} pp_script;

struct pp_script *pp_script_table_make(void)
{
    return calloc(pp_conf_handler_count() + 1, sizeof(pp_script));
}

/* Whether there is something, for this PythonPath. */
static int is_kept(const pp_script *script, const pp_conf *conf)
{
    return script->function && (script->path && conf->path ? !strcmp(script->path, conf->path)
                                                           : !script->path && !conf->path);
}

/* Whether the module's file, when it is the requested one, has another stamp: no system call, since
 * httpd has looked already. */
static int was_edited(const pp_script *script, const request_rec *r)
{
    return script->file != Py_None && r->filename && r->finfo.filetype == APR_REG &&
           !strcmp(PyBytes_AS_STRING(script->file), r->filename) &&
           (r->finfo.mtime != script->mtime || r->finfo.size != script->size ||
            (apr_uint64_t)r->finfo.inode != script->inode);
}

/* Whether the files are as they were: the requested one now, the others as of this second. */
static int is_fresh(pp_interp *interp, pp_script *script, const pp_conf *conf, request_rec *r)
{
    apr_int64_t now = apr_time_sec(r->request_time);
    PyObject *answer, *token = script->token;
    int fresh;

    if (conf->auto_reload == 0 || (script->watched && token == Py_None))
        return 1;
    if (!script->watched || was_edited(script, r))
        return 0;
    if (now == script->asked)
        return 1;
    script->asked = now; /* first of all: other threads go on with what there is */
    Py_INCREF(token);
    answer = PyObject_CallFunctionObjArgs(interp->fresh, token, NULL);
    Py_DECREF(token);
    fresh = answer ? PyObject_IsTrue(answer) : 0;
    Py_XDECREF(answer);
    if (!answer)
        PyErr_Clear(); /* resolving again meets the same fault, and reports it */
    /* Meanwhile another thread may have put something else, or nothing, in its place. */
    return fresh == 1 && is_kept(script, conf);
}

/* New reference: what mod_python._loader.resolve() says.
 * Slow: asks Python code, imports at need. Files are read here and nowhere else. */
static PyObject *load(pp_interp *interp, const pp_handler *h, const pp_conf *conf, request_rec *r)
{
    const char *file = r->finfo.filetype == APR_REG ? r->filename : NULL;

    return PyObject_CallFunction(interp->resolve, "NNNNNNLLK", pp_text(h->module),
                                 pp_text(h->object), pp_text(pp_conf_directory(h, r)),
                                 pp_text(conf->path), PyBool_FromLong(conf->auto_reload != 0),
                                 pp_text(file), (long long)r->finfo.mtime, (long long)r->finfo.size,
                                 (unsigned long long)r->finfo.inode);
}

/* Puts what load() brought, or nothing (NULL), in place of what was kept. */
static void keep(pp_script *script, PyObject *found, const pp_conf *conf, apr_int64_t now)
{
    pp_script old = *script;

    memset(script, 0, sizeof(*script));
    if (found && (!conf->path || (script->path = strdup(conf->path)))) {
        script->function = Py_NewRef(PyTuple_GET_ITEM(found, 0));
        script->token = Py_NewRef(PyTuple_GET_ITEM(found, 1));
        script->file = Py_NewRef(PyTuple_GET_ITEM(found, 2));
        script->mtime = PyLong_AsLongLong(PyTuple_GET_ITEM(found, 3));
        script->size = PyLong_AsLongLong(PyTuple_GET_ITEM(found, 4));
        script->inode = PyLong_AsUnsignedLongLong(PyTuple_GET_ITEM(found, 5));
        script->watched = conf->auto_reload != 0;
        script->asked = now;
    }
    /* Last, since it may run code of the old module. */
    Py_XDECREF(old.function);
    Py_XDECREF(old.token);
    Py_XDECREF(old.file);
    free(old.path);
}

HOT_PATH PyObject *pp_script_resolve(pp_interp *interp, const pp_handler *h, const pp_conf *conf,
                                     request_rec *r)
{
    int kept = h->id >= 0 && !h->by_file && !h->components;
    pp_script *script = kept ? &interp->scripts[h->id] : NULL;
    PyObject *found, *function;

    if (script && is_kept(script, conf) && is_fresh(interp, script, conf, r))
        return Py_NewRef(script->function);
    found = load(interp, h, conf, r);
    if (script && found)
        keep(script, found, conf, apr_time_sec(r->request_time));
    if (!found) {
        /* A broken edit stays broken: the old function is not called again. */
        PyObject *type, *value, *traceback;

        PyErr_Fetch(&type, &value, &traceback);
        if (script)
            keep(script, NULL, conf, 0);
        PyErr_Restore(type, value, traceback);
        return NULL;
    }
    function = Py_NewRef(PyTuple_GET_ITEM(found, 0));
    Py_DECREF(found);
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

/* Takes the place of builtins.__import__ in each interpreter. */
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
