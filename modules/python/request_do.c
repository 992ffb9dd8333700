/* SPDX-License-Identifier: Apache-2.0
 * The methods of `req` that change the response or make httpd do something.
 *
 * Arguments are taken apart before the guard is entered, where that needs no pool, so that a wrong
 * one is a TypeError even when the request is over, and little of Python runs inside the guard. */
#include "modules/python/request_methods.h"

#include <apr_strings.h>
#include <http_log.h>
#include <http_protocol.h>
#include <http_request.h>
#include <util_filter.h>
#include "modules/python/field.h"

APLOG_USE_MODULE(pypool);

/* log_error(message[, level]) */
PyObject *pp_request_log_error(PyObject *op, PyObject *const *args, Py_ssize_t n)
{
    request_rec *r;
    pp_bytes text;
    int level = APLOG_ERR;

    if (n < 1 || n > 2) {
        PyErr_SetString(PyExc_TypeError, "log_error takes a message and, optionally, a level");
        return NULL;
    }
    if (n == 2 && pp_int_in(args[1], APLOG_EMERG, APLOG_TRACE8, "level", &level) != 0)
        return NULL;
    if (pp_text_open(&text, args[0], PP_TEXT_ANY, "the message") != 0)
        return NULL;
    r = pp_request_enter((pp_request *)op);
    if (r) {
        /* The log may be a pipe that is full; the guard stays, since httpd uses r->pool for the
         * entry. */
        Py_BEGIN_ALLOW_THREADS
        ap_log_rerror(APLOG_MARK, level, 0, r, "%s", text.data);
        Py_END_ALLOW_THREADS
        pp_request_leave((pp_request *)op);
    }
    pp_bytes_close(&text);
    if (!r)
        return NULL;
    Py_RETURN_NONE;
}

/* set_content_length(n) */
PyObject *pp_request_set_content_length(PyObject *op, PyObject *length)
{
    /* Owned; anything with __index__ will do, as for the length of a list. */
    PyObject *index = PyNumber_Index(length);
    long long n = index ? PyLong_AsLongLong(index) : -1;
    request_rec *r;

    Py_XDECREF(index);
    if (PyErr_Occurred())
        return NULL;
    if (n < 0)
        return PyErr_Format(PyExc_ValueError, "the content length can't be %lld", n);
    r = pp_request_enter((pp_request *)op);
    if (!r)
        return NULL;
    /* httpd believes it: a handler that writes less leaves the client waiting for the rest. */
    ap_set_content_length(r, n);
    pp_request_leave((pp_request *)op);
    Py_RETURN_NONE;
}

/* send_http_header(): nothing; httpd sends the header with the first part of the body */
PyObject *pp_request_send_http_header(PyObject *op, PyObject *unused)
{
    (void)op;
    (void)unused;
    Py_RETURN_NONE;
}

/* set_etag(): from the file's inode, size and time, as FileETag says */
PyObject *pp_request_set_etag(PyObject *op, PyObject *unused)
{
    request_rec *r = pp_request_enter((pp_request *)op);

    (void)unused;
    if (!r)
        return NULL;
    /* FileETag Digest reads the file. */
    Py_BEGIN_ALLOW_THREADS
    ap_set_etag(r);
    Py_END_ALLOW_THREADS
    pp_request_leave((pp_request *)op);
    Py_RETURN_NONE;
}

/* set_last_modified(): from what update_mtime was told */
PyObject *pp_request_set_last_modified(PyObject *op, PyObject *unused)
{
    request_rec *r = pp_request_enter((pp_request *)op);

    (void)unused;
    if (!r)
        return NULL;
    ap_set_last_modified(r);
    pp_request_leave((pp_request *)op);
    Py_RETURN_NONE;
}

/* update_mtime(seconds): the content is at least as new as that */
PyObject *pp_request_update_mtime(PyObject *op, PyObject *seconds)
{
    double time = PyFloat_AsDouble(seconds);
    request_rec *r;

    if (PyErr_Occurred())
        return NULL;
    /* What apr_time_t holds in microseconds; also refuses NaN. */
    if (!(time >= -9e12 && time <= 9e12))
        return PyErr_Format(PyExc_ValueError, "update_mtime: %R is not a time", seconds);
    r = pp_request_enter((pp_request *)op);
    if (!r)
        return NULL;
    ap_update_mtime(r, (apr_time_t)(time * APR_USEC_PER_SEC));
    pp_request_leave((pp_request *)op);
    Py_RETURN_NONE;
}

/* 0, or -1: adds the names of `tuple` to what the request allows. */
static int add_methods(request_rec *r, PyObject *tuple, int reset)
{
    Py_ssize_t n = PyTuple_GET_SIZE(tuple);
    const char **names = apr_palloc(r->pool, (apr_size_t)(n + 1) * sizeof(*names));
    Py_ssize_t i;

    for (i = 0; i < n; i++) {
        names[i] = pp_text_copy(r->pool, PyTuple_GET_ITEM(tuple, i), PP_TEXT_LINE, "a method");
        if (!names[i])
            return -1;
    }
    /* Also those that other modules put there. */
    if (reset)
        ap_clear_method_list(r->allowed_methods);
    for (i = 0; i < n; i++)
        ap_method_list_add(r->allowed_methods, names[i]);
    return 0;
}

/* allow_methods(names[, reset]): what the Allow header will say besides */
PyObject *pp_request_allow_methods(PyObject *op, PyObject *args)
{
    PyObject *names;
    PyObject *tuple;
    request_rec *r;
    int reset = 0;
    int rc = -1;

    if (!PyArg_ParseTuple(args, "O|p:allow_methods", &names, &reset))
        return NULL;
    /* A str is a sequence of letters: surely a mistake. */
    if (PyUnicode_Check(names) || PyBytes_Check(names)) {
        PyErr_SetString(PyExc_TypeError, "allow_methods takes a sequence of names");
        return NULL;
    }
    tuple = PySequence_Tuple(names);
    if (!tuple)
        return NULL;
    r = pp_request_enter((pp_request *)op);
    if (r) {
        rc = add_methods(r, tuple, reset);
        pp_request_leave((pp_request *)op);
    }
    Py_DECREF(tuple);
    if (rc != 0)
        return NULL;
    Py_RETURN_NONE;
}

/* register_cleanup(callable[, data]): callable(data) once the handlers are done, the last first */
PyObject *pp_request_register_cleanup(PyObject *op, PyObject *args)
{
    pp_request *req = (pp_request *)op;
    pp_request *own;
    PyObject *callable;
    PyObject *data = Py_None;
    PyObject *entry;
    int rc = -1;

    if (!PyArg_ParseTuple(args, "O|O:register_cleanup", &callable, &data))
        return NULL;
    if (!PyCallable_Check(callable)) {
        PyErr_SetString(PyExc_ValueError, "register_cleanup: the first argument must be callable");
        return NULL;
    }
    entry = PyTuple_Pack(2, callable, data);
    if (entry && pp_request_enter(req)) {
        /* The list keeps callable and data alive until pp_request_run_cleanups has called them: for
         * a request that no script serves (a req.prev), those of the one that made it. */
        own = (pp_request *)req->call->req;
        if (!own->cleanups)
            own->cleanups = PyList_New(0);
        if (own->cleanups)
            rc = PyList_Append(own->cleanups, entry);
        pp_request_leave(req);
    }
    Py_XDECREF(entry);
    if (rc != 0)
        return NULL;
    Py_RETURN_NONE;
}

/* Borrowed: the filter of that name, or NULL with ValueError. httpd compares without case. */
static ap_filter_rec_t *find_filter(ap_filter_rec_t *get(const char *name), PyObject *name)
{
    ap_filter_rec_t *filter;
    pp_bytes text;

    if (pp_text_open(&text, name, PP_TEXT_LINE, "the filter's name") != 0)
        return NULL;
    filter = get(text.data);
    pp_bytes_close(&text);
    if (!filter)
        PyErr_Format(PyExc_ValueError, "httpd has no such filter: %R", name);
    return filter;
}

/* add_input_filter(name): one that httpd knows, for what is read from now on */
PyObject *pp_request_add_input_filter(PyObject *op, PyObject *name)
{
    ap_filter_rec_t *filter = find_filter(ap_get_input_filter_handle, name);
    request_rec *r = filter ? pp_request_enter((pp_request *)op) : NULL;

    if (!r)
        return NULL;
    ap_add_input_filter_handle(filter, NULL, r, r->connection);
    pp_request_leave((pp_request *)op);
    Py_RETURN_NONE;
}

/* add_output_filter(name): one that httpd knows, for what is written from now on */
PyObject *pp_request_add_output_filter(PyObject *op, PyObject *name)
{
    pp_request *req = (pp_request *)op;
    ap_filter_rec_t *filter = find_filter(ap_get_output_filter_handle, name);
    request_rec *r = filter ? pp_request_enter(req) : NULL;
    int rc;

    if (!r)
        return NULL;
    /* What was written before is not the new filter's business. */
    rc = pp_request_pass(req, 0);
    if (rc == 0)
        ap_add_output_filter_handle(filter, NULL, r, r->connection);
    pp_request_leave(req);
    if (rc != 0)
        return NULL;
    Py_RETURN_NONE;
}

/* 0, or -1 with RuntimeError: there is one response to a request, and who serves it decides on it.
 */
static int may_redirect(const pp_request *req)
{
    if (req->call->req == (const PyObject *)req)
        return pp_request_open(req);
    PyErr_SetString(PyExc_RuntimeError, "only the request that a script serves can be redirected");
    return -1;
}

/* internal_redirect(uri): another handler makes the response; nothing can be written after it */
PyObject *pp_request_internal_redirect(PyObject *op, PyObject *target)
{
    pp_request *req = (pp_request *)op;
    request_rec *r = pp_request_enter(req);
    const char *uri;
    int rc = -1;

    if (!r)
        return NULL;
    uri = may_redirect(req) == 0 ? pp_text_copy(r->pool, target, PP_TEXT_LINE, "the URI") : NULL;
    /* What was written so far comes first. The other handler may run in this very interpreter, so
     * the GIL must be free; the guard is this thread's, and lets it in again through req.prev. */
    if (uri && pp_request_pass(req, 0) == 0) {
        Py_BEGIN_ALLOW_THREADS
        ap_internal_redirect(uri, r);
        Py_END_ALLOW_THREADS
        rc = 0;
    }
    pp_request_leave(req);
    if (rc != 0)
        return NULL;
    Py_RETURN_NONE;
}
