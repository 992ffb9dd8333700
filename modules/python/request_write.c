/* SPDX-License-Identifier: Apache-2.0
 * req.write and its kin. What a script writes is collected in the call (common/output: one copy, no
 * system call, the GIL kept) until it is too much or the script flushes; then the GIL is released
 * and httpd's filters get it. */
#include "modules/python/request_methods.h"

#include <apr_errno.h>

#include "modules/common/hot.h"

/* -1, always, as the next one: BrokenPipeError, which is the OSError that mod_python's IOError has
 * become. */
static int write_failed(apr_status_t rv)
{
    char why[120];

    PyErr_Format(PyExc_BrokenPipeError, "the client is gone, or an output filter failed: %s",
                 apr_strerror(rv, why, sizeof(why)));
    return -1;
}

static int refuse(const pp_call *call)
{
    PyErr_SetString(PyExc_RuntimeError,
                    call->barred == PP_PASSING
                        ? "nothing can be added to a response while a filter works on it"
                        : "the response is complete: nothing can be added to it");
    return -1;
}

int pp_request_pass(pp_request *req, int flush)
{
    pp_call *call = req->call;
    apr_status_t rv;

    if (call->barred)
        return refuse(call);
    if (flush)
        output_flush(&call->out);
    call->barred = PP_PASSING;
    Py_BEGIN_ALLOW_THREADS
    rv = output_pass(&call->out);
    Py_END_ALLOW_THREADS
    call->barred = PP_WRITABLE;
    return rv == APR_SUCCESS ? 0 : write_failed(rv);
}

int pp_request_open(const pp_request *req)
{
    if (!req->r->next && !req->r->eos_sent && !req->call->barred)
        return 0;
    return refuse(req->call);
}

HOT_PATH int pp_request_writable(pp_request *req)
{
    if (req->r->connection->aborted)
        return write_failed(APR_ECONNABORTED);
    return pp_request_open(req);
}

/* What fits is copied; more is lent to the filters, which take it before they come back. */
int pp_request_put(pp_request *req, const char *bytes, apr_size_t length)
{
    if (pp_request_writable(req) != 0)
        return -1;
    if (output_hold(&req->call->out, bytes, length))
        return 0;
    output_lend(&req->call->out, bytes, length);
    return pp_request_pass(req, 0);
}

/* 0, or -1: the optional argument `flush` of write, by place or by name. */
static int flush_argument(PyObject *const *args, Py_ssize_t n, PyObject *names, int *flush)
{
    Py_ssize_t named = names ? PyTuple_GET_SIZE(names) : 0;

    *flush = 0;
    if (n < 1 || n + named > 2) {
        PyErr_SetString(PyExc_TypeError, "write takes what to write and, optionally, flush");
        return -1;
    }
    if (named && PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, 0), "flush") != 0) {
        PyErr_Format(PyExc_TypeError, "write has no argument %R", PyTuple_GET_ITEM(names, 0));
        return -1;
    }
    if (n + named == 2)
        *flush = PyObject_IsTrue(args[1]);
    return *flush < 0 ? -1 : 0;
}

/* write(text or bytes[, flush]): the object is held, or its buffer locked, until httpd has the
 * bytes */
HOT_PATH PyObject *pp_request_write(PyObject *op, PyObject *const *args, Py_ssize_t n,
                                    PyObject *names)
{
    pp_request *req = (pp_request *)op;
    pp_bytes bytes;
    int flush;
    int rc = -1;

    if (flush_argument(args, n, names, &flush) != 0 ||
        pp_bytes_open(&bytes, args[0], "what req.write writes") != 0)
        return NULL;
    if (pp_request_enter(req)) {
        rc = pp_request_put(req, bytes.data, (apr_size_t)bytes.len);
        if (rc == 0 && flush)
            rc = pp_request_pass(req, 1);
        pp_request_leave(req);
    }
    pp_bytes_close(&bytes);
    if (rc != 0)
        return NULL;
    Py_RETURN_NONE;
}

/* flush(): everything written so far is on its way when this returns */
PyObject *pp_request_flush(PyObject *op, PyObject *unused)
{
    pp_request *req = (pp_request *)op;
    int rc;

    (void)unused;
    if (!pp_request_enter(req))
        return NULL;
    rc = pp_request_pass(req, 1);
    pp_request_leave(req);
    if (rc != 0)
        return NULL;
    Py_RETURN_NONE;
}
