/* SPDX-License-Identifier: Apache-2.0
 * Making one interpreter: Python itself with its main interpreter, then sub-interpreters.
 *
 * An interpreter takes 10 to 30 ms and some 3 MB. Whatever a request will need of Python's modules
 * is imported here, so that serving one imports nothing but the script.
 *
 * The configuration of Python is that of an embedded program, not "isolated": PYTHONPATH and the
 * like from httpd's own environment count, as under mod_python, since they are the
 * administrator's. */
#include "modules/python/interp.h"

#include <dlfcn.h>
#include <http_log.h>
#include <apr_strings.h>
#include <stdlib.h>

#include "modules/python/apache_module.h"
#include "modules/python/conf.h"
#include "modules/python/memory.h"
#include "modules/python/script.h"
#include "modules/python/state.h"

APLOG_USE_MODULE(pypool);

#define MOST_INTERPRETERS 4096

/* All interpreters of the child by index; atomic. An entry is set when its interpreter is ready,
 * and then stays. */
static pp_interp *interps[MOST_INTERPRETERS];
static char taken[MOST_INTERPRETERS]; /* indexes in use, or about to be; atomic */

void pp_interp_each(void (*visit)(pp_interp *interp, void *baton), void *baton)
{
    int i = MOST_INTERPRETERS;

    while (i--) {
        pp_interp *interp = __atomic_load_n(&interps[i], __ATOMIC_ACQUIRE);

        if (interp)
            visit(interp, baton);
    }
}

/* The folder that holds the package mod_python: pypool/ beside this module's own file. */
static const char *package_folder(void)
{
    static char folder[4096];
    Dl_info info;
    const char *slash;

    if (!dladdr((void *)(apr_size_t)pp_interp_start, &info) || !info.dli_fname)
        return NULL;
    slash = strrchr(info.dli_fname, '/');
    apr_snprintf(folder, sizeof(folder), "%.*spypool",
                 slash ? (int)(slash - info.dli_fname + 1) : 0, info.dli_fname);
    return folder;
}

/* Logs the exception that is set, and clears it. */
static void log_exception(server_rec *s, const char *what)
{
    PyObject *type, *value, *traceback, *text;

    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    text = value ? PyObject_Repr(value) : NULL;
    ap_log_error(APLOG_MARK, APLOG_ERR, 0, s, "PP101: %s: %s", what,
                 text && PyUnicode_AsUTF8(text) ? PyUnicode_AsUTF8(text) : "unknown exception");
    PyErr_Clear();
    Py_XDECREF(text);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
}

/* In front, so that the stock package mod_python, if installed, is not found instead. 0 or -1 with
 * an exception. */
static int put_on_path(const char *folder)
{
    PyObject *path = PySys_GetObject("path"); /* borrowed */
    PyObject *item = folder ? PyUnicode_DecodeFSDefault(folder) : NULL;
    int result = path && item ? PyList_Insert(path, 0, item) : -1;

    Py_XDECREF(item);
    return result;
}

/* New reference: attribute `name` of mod_python.`module`. */
static PyObject *package_function(const char *module, const char *name)
{
    PyObject *found = PyImport_ImportModule(module);
    PyObject *function = found ? PyObject_GetAttrString(found, name) : NULL;

    Py_XDECREF(found);
    return function;
}

/* Fills in what a request needs, so that serving one imports nothing. 0, or -1 with an exception.
 * The interpreter is current. */
static int furnish(pp_interp *interp, const char *application, const char *deny)
{
    PyObject *prepare = NULL, *done = NULL;

    interp->apache = PyImport_ImportModule("_apache");
    if (!interp->apache ||
        PyModule_AddStringConstant(interp->apache, "interpreter", application) < 0)
        return -1;
    if (put_on_path(package_folder()) == 0)
        prepare = package_function("mod_python._setup", "prepare");
    if (prepare)
        done = PyObject_CallFunction(prepare, "iis", interp->index, interp->own_gil, deny);
    Py_XDECREF(prepare);
    Py_XDECREF(done);
    if (!done || pp_script_hook_imports() < 0)
        return -1;
    interp->resolve = package_function("mod_python._loader", "resolve");
    interp->fresh = package_function("mod_python._loader", "fresh");
    interp->describe = package_function("mod_python._failure", "describe");
    interp->shutdown = package_function("mod_python._setup", "shutdown");
    /* As many places as the configuration names handlers: constant since the fork. */
    interp->scripts = pp_script_table_make();
    if (!interp->scripts)
        PyErr_NoMemory();
    return PyErr_Occurred() ? -1 : 0;
}

/* The lowest number that is free, or -1 when there are too many. */
static int take_index(void)
{
    int i;

    for (i = 0; i < MOST_INTERPRETERS; i++)
        if (!__atomic_exchange_n(&taken[i], 1, __ATOMIC_ACQ_REL))
            return i;
    return -1;
}

static void give_index(int index)
{
    __atomic_store_n(&taken[index], 0, __ATOMIC_RELEASE);
}

/* With the new interpreter current, as it is afterwards: makes it ready. 0, or -1 after a log
 * entry. */
static int finish(server_rec *s, pp_interp *interp, const char *application, PyThreadState *python)
{
    const char *deny = pp_server_conf_of(s)->deny;

    interp->state = PyThreadState_GetInterpreter(python);
    if (!pp_thread_adopt(interp, python)) {
        PyErr_NoMemory();
    } else if (furnish(interp, application, deny ? deny : "") == 0) {
        __atomic_store_n(&interps[interp->index], interp, __ATOMIC_RELEASE);
        return 0;
    }
    log_exception(s, "an interpreter could not be made ready");
    ap_log_error(APLOG_MARK, APLOG_ERR, 0, s,
                 "PP101: the package mod_python is looked for in %s, which httpd's User must be "
                 "able to read",
                 package_folder());
    return -1;
}

/* Whether Python says that a step of its start failed; logged. */
static int status_failed(server_rec *s, PyStatus status, const char *what)
{
    if (!PyStatus_Exception(status))
        return 0;
    ap_log_error(APLOG_MARK, APLOG_ERR, 0, s, "PP102: %s: %s%s%s", what,
                 status.func ? status.func : "", status.func ? ": " : "",
                 status.err_msg ? status.err_msg : "unknown error");
    return 1;
}

/* The Python whose installation or virtual environment is used; it gives sys.path. */
static const char *program_name(server_rec *s, apr_pool_t *p)
{
    const char *home = pp_server_conf_of(s)->home;

    return home ? apr_pstrcat(p, home, "/bin/python3", NULL) : PP_PYTHON;
}

/* Python itself: 0 with the GIL held, or -1 after a log entry. */
static int initialize(server_rec *s, apr_pool_t *p)
{
    PyPreConfig before;
    PyConfig config;
    PyStatus status;

    /* Text is UTF-8 whatever httpd's locale is, and that locale is left alone. */
    PyPreConfig_InitPythonConfig(&before);
    before.utf8_mode = 1;
    before.configure_locale = 0;
    before.coerce_c_locale = 0;
    before.parse_argv = 0;
    status = Py_PreInitialize(&before);
    if (status_failed(s, status, "Python could not be configured"))
        return -1;
    pp_memory_start(pp_conf_or(pp_server_conf_of(s)->memory_limit, PP_DEFAULT_MEMORY));
    PyImport_AppendInittab("_apache", PyInit__apache);

    PyConfig_InitPythonConfig(&config);
    config.parse_argv = 0;
    /* Signals are httpd's: Python must not even have its SIGINT handler. */
    config.install_signal_handlers = 0;
    /* The home folder of whoever httpd runs as is nobody's place for code. */
    config.user_site_directory = 0;
    config.write_bytecode = 0; /* no __pycache__ folders in document roots */
    status = PyConfig_SetBytesString(&config, &config.program_name, program_name(s, p));
    if (!PyStatus_Exception(status))
        status = Py_InitializeFromConfig(&config);
    PyConfig_Clear(&config);
    return status_failed(s, status, "Python could not be started") ? -1 : 0;
}

/* The watchdog waits for the GIL, perhaps for as long as a call into C code takes; whoever waits
 * for another GIL needs another one. Without any there is no time limit, but there is service. */
static watchdog *make_dog(apr_pool_t *pool)
{
    watchdog *dog;

    return watchdog_make(&dog, pool) == APR_SUCCESS ? dog : NULL;
}

/* Requests make interpreters at the same time, so their watchdogs can't have the child's pool. */
static watchdog *make_dog_of_own(void)
{
    apr_pool_t *pool;
    watchdog *dog;

    if (apr_pool_create(&pool, NULL) != APR_SUCCESS)
        return NULL;
    dog = make_dog(pool);
    if (!dog)
        apr_pool_destroy(pool);
    return dog;
}

pp_interp *pp_interp_start(server_rec *s, apr_pool_t *p, int threaded)
{
    pp_interp *interp = calloc(1, sizeof(*interp));
    PyObject *datetime;
    int failed;

    if (!interp || pp_thread_init() != APR_SUCCESS || initialize(s, p) < 0)
        return NULL;
    interp->index = take_index();
    interp->main = interp;
    interp->dog = make_dog(p);
    if (threaded)
        interp->turnstile = pp_turnstile_make(); /* without one there is service, but slower */
    /* On 3.13 `datetime` corrupts memory in two interpreters unless it was in this one first. */
    datetime = PyImport_ImportModule("datetime");
    if (!datetime)
        log_exception(s, "datetime could not be imported");
    Py_XDECREF(datetime);
    failed = finish(s, interp, "main_interpreter", PyThreadState_Get());
    (void)PyEval_SaveThread();
    return failed ? NULL : interp;
}

/* The new interpreter's thread state, which is current then; NULL: the old one is current still. */
static PyThreadState *new_interpreter(server_rec *s, int own_gil)
{
#if PY_VERSION_HEX >= 0x030c0000
    PyThreadState *python = NULL;
    PyInterpreterConfig config = {
        .use_main_obmalloc = !own_gil,
        .allow_fork = 0, /* a forked child dies when sub-interpreters exist */
        .allow_exec = 0,
        .allow_threads = 1,
        .allow_daemon_threads = 1, /* harmless, since interpreters are not finalised */
        .check_multi_interp_extensions = own_gil,
        .gil = own_gil ? PyInterpreterConfig_OWN_GIL : PyInterpreterConfig_SHARED_GIL,
    };

    status_failed(s, Py_NewInterpreterFromConfig(&python, &config),
                  "an interpreter could not be made");
    return python;
#else
    PyThreadState *python = Py_NewInterpreter();

    (void)own_gil;
    if (!python)
        ap_log_error(APLOG_MARK, APLOG_ERR, 0, s, "PP102: an interpreter could not be made");
    return python;
#endif
}

/* In the main interpreter, which is current: os.fork() is refused from now on. */
static int warn_main(server_rec *s)
{
    PyObject *warn = package_function("mod_python._setup", "not_alone");
    PyObject *done = warn ? PyObject_CallNoArgs(warn) : NULL;

    Py_XDECREF(warn);
    Py_XDECREF(done);
    if (!done)
        log_exception(s, "the main interpreter is not fit for company");
    return done ? 0 : -1;
}

/* A sub-interpreter in `interp`; `from` is current before, what is current afterwards is to be
 * left by pp_leave. 0, or -1 after a log entry. */
static int make_current(server_rec *s, pp_interp *interp, const char *application, pp_thread *from)
{
    PyThreadState *python = warn_main(s) == 0 ? new_interpreter(s, interp->own_gil) : NULL;

    if (!python)
        return -1;
    if (finish(s, interp, application, python) == 0)
        return 0;
    /* Nobody else has been in it, so here it can be ended; else each request would leak one. */
    pp_thread_forget(interp);
    Py_EndInterpreter(python);
    PyThreadState_Swap(from->python);
    return -1;
}

pp_interp *pp_interp_make(server_rec *s, const char *application, int own_gil)
{
    pp_interp *main = interps[0], *interp = calloc(1, sizeof(*interp));
    pp_thread *from = pp_thread_of(main);
    int failed;

    if (!interp || !from || (interp->index = take_index()) < 0) {
        ap_log_error(APLOG_MARK, APLOG_ERR, 0, s,
                     "PP103: no room for an interpreter of application %s", application);
        free(interp);
        return NULL;
    }
    interp->own_gil = own_gil;
    interp->main = main;
    if (main->turnstile)
        interp->turnstile = own_gil ? pp_turnstile_make() : main->turnstile;
    /* CPython does not survive running out of memory in here. */
    pp_memory_exempt(1);
    pp_enter(from);
    failed = make_current(s, interp, application, from);
    pp_leave(from);
    pp_memory_exempt(0);
    if (failed) {
        give_index(interp->index);
        free(interp);
        return NULL;
    }
    interp->dog = own_gil ? make_dog_of_own() : main->dog;
    ap_log_error(APLOG_MARK, APLOG_INFO, 0, s,
                 "PP001: interpreter %d made for application %s, %s GIL", interp->index,
                 application, own_gil ? "own" : "shared");
    return interp;
}
