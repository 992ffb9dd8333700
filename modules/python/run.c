/* SPDX-License-Identifier: Apache-2.0
 * One request in one interpreter. The only file that knows interpreters and requests both.
 *
 * What a handler does, and what httpd is told:
 *
 * - It returns OK or 200: the next handler of the list runs; after the last one it is OK.
 * - It returns DECLINED, DONE or a status: that, and the list ends. What was written is sent with
 *   DONE only.
 * - It raises SERVER_RETURN: as if its argument had been returned.
 * - It raises anything else: 500 (of a body: 413, 400, 408), and a log entry with the traceback.
 * - It returns anything else: 500, and a log entry with the handler's place.
 *
 * Errors are reported by the caller, outside of the interpreter: here they are only described. */
#include "modules/python/run.h"

#include <apr_strings.h>
#include <http_log.h>

#include "modules/common/hot.h"
#include "modules/common/length_guard.h"
#include "modules/python/apache_module.h"
#include "modules/python/call.h"
#include "modules/python/child.h"
#include "modules/python/limits.h"
#include "modules/python/memory.h"
#include "modules/python/request.h"
#include "modules/python/script.h"
#include "modules/python/state.h"

APLOG_USE_MODULE(pypool);

#define REPORT_LIMIT (5 * APR_USEC_PER_SEC)

/* Of a longer text the log gets so many characters of its beginning, and of its end. */
#define TEXT_PART 16384

/* Owned reference: the exception that is set, with its traceback; cleared. */
static PyObject *take_exception(void)
{
#if PY_VERSION_HEX >= 0x030c0000
    return PyErr_GetRaisedException();
#else
    PyObject *type, *value, *traceback;

    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    if (value && traceback)
        PyException_SetTraceback(value, traceback);
    Py_XDECREF(type);
    Py_XDECREF(traceback);
    return value;
#endif
}

/* New reference: the text, or its beginning and its end. */
static PyObject *shorten(PyObject *text)
{
    Py_ssize_t length = PyUnicode_GET_LENGTH(text);
    PyObject *head, *tail, *both = NULL;

    if (length <= 2 * TEXT_PART)
        return Py_NewRef(text);
    head = PyUnicode_Substring(text, 0, TEXT_PART);
    tail = PyUnicode_Substring(text, length - TEXT_PART, length);
    if (head && tail)
        both = PyUnicode_FromFormat("%U ... %U", head, tail);
    Py_XDECREF(head);
    Py_XDECREF(tail);
    return both;
}

/* A copy of a str in the request's pool; whatever it holds, so lone surrogates are escaped. */
static const char *copy_text(request_rec *r, PyObject *text)
{
    PyObject *part, *bytes;
    const char *copy;

    if (!text || !PyUnicode_Check(text))
        return NULL;
    part = shorten(text);
    bytes = part ? PyUnicode_AsEncodedString(part, "utf-8", "backslashreplace") : NULL;
    copy =
        bytes ? apr_pstrmemdup(r->pool, PyBytes_AS_STRING(bytes), PyBytes_GET_SIZE(bytes)) : NULL;
    Py_XDECREF(bytes);
    Py_XDECREF(part);
    return copy;
}

/* Tags are stable, see docs/python.md: tests and administrators look for them.
 * A failure without a place; `message` lives as long as the request. */
static int fail(failure *f, const char *tag, const char *message)
{
    f->kind = FAILURE_SCRIPT;
    f->tag = tag;
    f->message = message;
    return HTTP_INTERNAL_SERVER_ERROR;
}

/* Fills in `f` from an exception. There is a little more memory for it, and nothing it calls can
 * make it fail: at worst the type's name is all that is told. */
static int fail_with(pp_interp *interp, pp_call *call, PyObject *error, failure *f)
{
    PyObject *told;
    const char *message, *tag = "PP010";

    pp_memory_describe(1);
    if (PyErr_GivenExceptionMatches(error, pp_time_limit_exceeded(interp->apache)))
        tag = "PP011";
    else if (PyErr_GivenExceptionMatches(error, PyExc_MemoryError))
        tag = "PP012";
    fail(f, tag, Py_TYPE(error)->tp_name);
    f->message = apr_pstrdup(call->r->pool, f->message); /* the type may go with the exception */
    told = PyObject_CallFunctionObjArgs(interp->describe, error, NULL);
    if (told && PyTuple_Check(told) && PyTuple_GET_SIZE(told) == 4) {
        f->script = copy_text(call->r, PyTuple_GET_ITEM(told, 0));
        f->line = (int)PyLong_AsLong(PyTuple_GET_ITEM(told, 1));
        PyErr_Clear(); /* SyntaxError.lineno may be anything */
        message = copy_text(call->r, PyTuple_GET_ITEM(told, 2));
        if (message)
            f->message = message;
        f->traceback = copy_text(call->r, PyTuple_GET_ITEM(told, 3));
    }
    PyErr_Clear();
    Py_XDECREF(told);
    f->status = PyErr_GivenExceptionMatches(error, pp_time_limit_exceeded(interp->apache))
                    ? HTTP_SERVICE_UNAVAILABLE
                    : pp_body_error_status(interp->apache, error);
    pp_memory_describe(0);
    return f->status ? f->status : HTTP_INTERNAL_SERVER_ERROR;
}

/* Where a function is defined, for a failure that has no traceback. */
static void name_place(pp_call *call, PyObject *function, failure *f)
{
    PyObject *code = PyObject_GetAttrString(function, "__code__");
    PyObject *file = code ? PyObject_GetAttrString(code, "co_filename") : NULL;
    PyObject *line = code ? PyObject_GetAttrString(code, "co_firstlineno") : NULL;

    f->script = copy_text(call->r, file);
    f->line = line ? (int)PyLong_AsLong(line) : 0;
    PyErr_Clear(); /* not every callable has them */
    Py_XDECREF(line);
    Py_XDECREF(file);
    Py_XDECREF(code);
}

/* What describes a failure is put into the request's pool: threads that are left over are kept out
 * of it from now on. */
COLD_PATH static void end_handlers(pp_call *call)
{
    if (call->req)
        pp_request_own(call->req);
}

/* What a handler says: a status, or a failure. 200 is meant as OK (httpd would add its own page);
 * 1xx is no answer, but an announcement of one. */
HOT_PATH static int translate(pp_call *call, PyObject *said, failure *f)
{
    int overflow = 0;
    long value;

    if (!PyLong_Check(said) || PyBool_Check(said)) {
        end_handlers(call);
        return fail(f, "PP013",
                    apr_psprintf(call->r->pool, "handler %s returned %s, not a status",
                                 call->handler, Py_TYPE(said)->tp_name));
    }
    value = PyLong_AsLongAndOverflow(said, &overflow);
    if (!overflow &&
        (value == OK || value == DECLINED || value == DONE || (value >= 200 && value < 600)))
        return value == HTTP_OK ? OK : (int)value;
    end_handlers(call);
    return fail(f, "PP013",
                apr_psprintf(call->r->pool, "handler %s returned %ld, not a status", call->handler,
                             overflow ? overflow * LONG_MAX : value));
}

/* SERVER_RETURN(result), or SERVER_RETURN(result, status): an exit from anywhere. */
static int server_return(pp_call *call, PyObject *error, failure *f)
{
    PyObject *args = PyObject_GetAttrString(error, "args");
    Py_ssize_t size = args && PyTuple_Check(args) ? PyTuple_GET_SIZE(args) : 0;
    int result;

    if (size != 1 && size != 2) {
        PyErr_Clear();
        Py_XDECREF(args);
        return fail(f, "PP013", "SERVER_RETURN takes a status, or a result and a status");
    }
    if (size == 2 && PyTuple_GET_ITEM(args, 1) != Py_None) {
        result = translate(call, PyTuple_GET_ITEM(args, 1), f);
        if (!f->kind)
            call->r->status = result == OK ? HTTP_OK : result;
    }
    result = f->kind ? HTTP_INTERNAL_SERVER_ERROR : translate(call, PyTuple_GET_ITEM(args, 0), f);
    Py_DECREF(args);
    return result;
}

/* An extension that loads in the main interpreter only: says so in the words of Python or of the
 * tools that make extensions. */
static int refuses_subinterpreters(PyObject *error)
{
    static const char *const words[] = {"subinterpreter", "sub-interpreter", "sub interpreter",
                                        "Interpreter change detected",
                                        "one interpreter per process"};
    PyObject *text;
    const char *utf8;
    unsigned int i, found = 0;

    if (!PyErr_GivenExceptionMatches(error, PyExc_ImportError))
        return 0;
    text = PyObject_Str(error);
    utf8 = text ? PyUnicode_AsUTF8(text) : NULL;
    for (i = 0; utf8 && !found && i < sizeof(words) / sizeof(*words); i++)
        found = strstr(utf8, words[i]) != NULL;
    PyErr_Clear();
    Py_XDECREF(text);
    return found;
}

/* Whether the group is served by the main interpreter from now on; `f` describes the refusal. */
static int moved(pp_interp *interp, pp_group *group, pp_call *call, const failure *f)
{
    if (!pp_group_may_move(group, interp))
        return 0;
    Py_BEGIN_ALLOW_THREADS
    if (pp_group_move_to_main(group))
        ap_log_rerror(APLOG_MARK, APLOG_WARNING, 0, call->r,
                      "PP002: application %s is served by the main interpreter from now on, since "
                      "a module it imports does not load in others (%s); \"PythonGIL main\" in its "
                      "configuration makes this permanent",
                      pp_group_name(group), f->message);
    Py_END_ALLOW_THREADS
    return 1;
}

/* An exception left a handler (`started`) or its import. */
static int exception(pp_thread *state, pp_group *group, pp_call *call, int started, failure *f)
{
    PyObject *error = take_exception();
    pp_interp *interp = state->interp;
    int status;

    /* The call's limit is over: what describes the exception has one of its own, since it runs
     * code of the script's (__str__). */
    pp_limits_end(state);
    end_handlers(call);
    pp_limits_begin(state, REPORT_LIMIT);
    if (PyErr_GivenExceptionMatches(error, pp_server_return(interp->apache))) {
        status = server_return(call, error, f);
    } else {
        int refused = refuses_subinterpreters(error);

        status = fail_with(interp, call, error, f);
        /* The move counts for all later requests; this one is repeated only if it is harmless. */
        if (refused && moved(interp, group, call, f) && !started) {
            memset(f, 0, sizeof(*f));
            status = PP_RUN_AGAIN;
        }
    }
    Py_DECREF(error);
    pp_limits_end(state);
    return status;
}

/* After OK the next handler of the list is called; any other answer, and any exception, is the
 * answer. */
static int call_handlers(pp_thread *state, pp_group *group, const pp_handlers *handlers,
                         const pp_conf *conf, pp_call *call, PyObject *req, failure *f)
{
    int i, status = OK;

    for (i = 0; i < handlers->items->nelts && status == OK; i++) {
        const pp_handler *h = APR_ARRAY_IDX(handlers->items, i, const pp_handler *);
        PyObject *function, *said = NULL;

        call->handler = h->spec;
        call->directory = pp_conf_directory(h, call->r);
        call->location = h->location;
        function = pp_script_resolve(state->interp, h, conf, call->r);
        if (function)
            said = PyObject_CallOneArg(function, req);
        if (!said) {
            /* Only a first handler that could not even be found has had no effect yet. */
            status = exception(state, group, call, i || function, f);
            Py_XDECREF(function);
            break;
        }
        status = translate(call, said, f);
        if (f->kind)
            name_place(call, function, f);
        Py_DECREF(said);
        Py_DECREF(function);
    }
    if (!f->kind && status != PP_RUN_AGAIN && output_is_late(&call->out, status)) {
        end_handlers(call);
        status =
            fail(f, "PP013",
                 apr_psprintf(call->r->pool,
                              "handler %s returned %d when a part of its response had been sent",
                              call->handler, status));
    }
    return status;
}

/* A function given to req.register_cleanup failed: only the log is told. */
static void report_cleanup(pp_call *call)
{
    PyObject *error = take_exception();
    PyObject *text = PyObject_Repr(error);
    const char *copy = copy_text(call->r, text);

    PyErr_Clear();
    /* Here and elsewhere without the GIL: the log may be a pipe that is full. */
    Py_BEGIN_ALLOW_THREADS
    ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, call->r, "PP017: a cleanup of handler %s failed: %s",
                  call->handler, copy ? copy : Py_TYPE(error)->tp_name);
    Py_END_ALLOW_THREADS
    Py_XDECREF(text);
    Py_DECREF(error);
}

/* What was written goes out, or is dropped when a handler failed or answers by a status. Returns
 * what the hook has to return. */
static int pass_on(pp_call *call, int status, failure *f)
{
    if (!f->kind)
        return output_end(&call->out, status);
    output_drop(&call->out);
    f->begun = call->out.bare;
    return status;
}

static ap_HOOK_handler_t *own_hook; /* set at start-up */

/* What httpd would do after DECLINED: the handlers that come after this module's have their turn.
 * (One of them sends the file, if there is one.) Returns what the hook has to return. */
static int ask_next_handlers(request_rec *r)
{
    const apr_array_header_t *hooks = ap_hook_get_handler();
    int i, status = DECLINED, found = 0;

    for (i = 0; i < hooks->nelts && status == DECLINED; i++) {
        ap_HOOK_handler_t *hook = APR_ARRAY_IDX(hooks, i, ap_LINK_handler_t).pFunc;

        if (found)
            status = hook(r);
        found |= hook == own_hook;
    }
    return status;
}

/* Borrowed: the `req` of the call in this interpreter from within which httpd serves `r`, or NULL.
 */
COLD_PATH static PyObject *find_around(const request_rec *r, const PyObject *module)
{
    while ((r = r->prev ? r->prev : r->main) != NULL) {
        const pp_call *call = ap_get_module_config(r->request_config, &pypool_module);

        if (call && call->req && call->module == module)
            return call->req;
    }
    return NULL;
}

/* Python code of `call` runs: meanwhile the gate that it shares with the one around it is free. */
COLD_PATH static void lend_gate(pp_call *call)
{
    if (call->around)
        call->lent = pp_gate_lend(((pp_request *)call->around)->guard.gate);
}

COLD_PATH static void retake_gate(pp_call *call)
{
    if (call->around)
        pp_gate_retake(((pp_request *)call->around)->guard.gate, call->lent);
}

/* Cleanups run after the response, with a time limit of their own; without any, the response goes
 * out when the interpreter is left. What DECLINED leads to is sent first too: it may be a file that
 * a cleanup removes. (To wait for the end of r->pool would be to run Python code in whichever
 * thread that comes in: event's listener, or a signal handler of prefork's.) Only httpd's own page
 * for a status comes after them. Shutting `req` may run code too (__del__), so it has a limit: the
 * call's, unless that is over. */
static int finish_call(pp_thread *state, pp_call *call, const pp_conf *conf, PyObject *req,
                       int status, failure *f)
{
    apr_int64_t limit = pp_conf_or(conf->time_limit, PP_DEFAULT_TIME);

    if (((pp_request *)req)->cleanups) {
        pp_limits_end(state); /* a slow client is not the script's fault */
        pp_request_own(req);  /* threads that were left over write no more */
        retake_gate(call);
        call->barred = PP_PASSING;
        Py_BEGIN_ALLOW_THREADS
        status = pass_on(call, status, f);
        if (status == DECLINED)
            status = ask_next_handlers(call->r);
        Py_END_ALLOW_THREADS
        lend_gate(call);
        call->barred = status == OK || status == DONE ? PP_WRITABLE : PP_ANSWERED;
        pp_limits_begin(state, limit);
        pp_request_run_cleanups(req, report_cleanup);
    }
    pp_limits_begin(state, limit);
    pp_request_end(req, &state->spare);
    pp_limits_end(state);
    return status;
}

/* Holds handlers to their Content-Length. */
static ap_filter_rec_t *length_filter;

void pp_run_register(ap_HOOK_handler_t *handler)
{
    own_hook = handler;
    length_filter = length_guard_register("PYPOOL_LENGTH");
}

/* Stores only: nothing is allocated or looked up that no script has asked for. */
static void describe_call(pp_call *call, pp_interp *interp, const pp_group *group,
                          const pp_handlers *handlers, const pp_conf *conf, request_rec *r)
{
    call->r = r;
    output_begin(&call->out, r, length_filter);
    call->module = interp->apache;
    call->interpreter = pp_group_name(group);
    call->phase = pp_phase_names[handlers->phase];
    call->extension = handlers->extension;
    call->options = conf->options;
    call->config = conf->directives;
    call->body_limit = pp_conf_or(conf->body_limit, PP_DEFAULT_BODY);
    ap_set_module_config(r->request_config, &pypool_module, call);
}

HOT_PATH int pp_run(pp_interp *interp, pp_group *group, const pp_handlers *handlers,
                    const pp_conf *conf, request_rec *r, failure *f)
{
    pp_call *call = apr_pcalloc(r->pool, sizeof(*call));
    pp_thread *state = pp_thread_of(interp);
    PyObject *req; /* owned; scripts may keep it, which pp_request_end makes harmless */
    int status;

    /* From here the order matters: the GIL before Python's objects, the limit off before what is
     * ours alone, `req` shut before the GIL is given up, the response after it. */
    if (!state)
        return fail(f, "PP014", "no memory for a thread state");
    describe_call(call, interp, group, handlers, conf, r);
    pp_thread_begin(state);
    pp_enter_in_turn(state);
    pp_memory_begin();
    pp_limits_begin(state, pp_conf_or(conf->time_limit, PP_DEFAULT_TIME));
    call->deadline = state->watch;
    if (r->prev || r->main) {
        call->around = find_around(r, call->module);
        lend_gate(call);
    }
    req = pp_request_new(call, &state->spare);
    if (req) {
        status = call_handlers(state, group, handlers, conf, call, req, f);
        status = finish_call(state, call, conf, req, status, f);
    } else {
        pp_limits_end(state);
        status = exception(state, group, call, 1, f);
    }
    if (call->around)
        retake_gate(call);
    pp_leave_in_turn(state);
    /* A slow client holds this thread, but no interpreter's lock. */
    if (status != PP_RUN_AGAIN)
        status = pass_on(call, status, f);
    pp_thread_end(state);
    return status;
}
