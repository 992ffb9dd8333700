/* SPDX-License-Identifier: Apache-2.0
 * req.read and its kin: the body of the request as bytes, whatever its method or framing. The GIL
 * is released while bytes come in; memory grows with what arrives, never with what a header
 * announces. */
#include "modules/python/request_methods.h"

#include <http_protocol.h>
#include "modules/common/body.h"
#include "modules/python/apache_module.h"

/* The first piece; each further one doubles what there is. */
#define FIRST_PIECE ((Py_ssize_t)16 * 1024)

/* Made at the first read: until then a client that sent Expect: 100-continue need not send its
 * body. */
static body_reader *reader_of(pp_request *req)
{
    if (!req->body) {
        req->body = body_open(req->r, req->call->body_limit);
        body_set_watch(req->body, req->call->deadline);
    }
    return req->body;
}

/* NULL, always: raises BodyError, an OSError whose attribute `status` is the answer it deserves, or
 * what the watchdog is about to raise when it was the time limit that ended the reading. */
static PyObject *body_failed(pp_request *req, body_error error)
{
    const watch *deadline = req->call->deadline;
    PyObject *type = pp_state_of(req->call->module)->body_error;
    PyObject *exception, *status;

    if (error == BODY_TIMEOUT && deadline && watch_overdue(deadline)) {
        PyErr_SetNone(pp_time_limit_exceeded(req->call->module));
        return NULL;
    }
    exception = PyObject_CallFunction(type, "s", body_error_text(error));
    status = PyLong_FromLong(body_error_status(error));
    if (exception && status && PyObject_SetAttrString(exception, "status", status) == 0)
        PyErr_SetObject(type, exception);
    Py_XDECREF(exception);
    Py_XDECREF(status);
    return NULL;
}

/* New reference: up to `most` bytes, fewer only at the end of the body. */
static PyObject *read_bytes(pp_request *req, Py_ssize_t most)
{
    body_reader *reader = reader_of(req);
    Py_ssize_t room = most < FIRST_PIECE ? most : FIRST_PIECE;
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, room);
    Py_ssize_t len = 0;

    /* body_read comes back with less than it was asked for only at the end of the body. */
    while (bytes && len < room) {
        char *to = PyBytes_AS_STRING(bytes) + len;
        apr_size_t n = (apr_size_t)(room - len);
        body_error error;

        Py_BEGIN_ALLOW_THREADS
        error = body_read(reader, to, &n);
        Py_END_ALLOW_THREADS
        if (error) {
            Py_DECREF(bytes);
            return body_failed(req, error);
        }
        len += (Py_ssize_t)n;
        if (len < room || room == most)
            break;
        /* Doubling copies each byte twice at most, whatever the length turns out to be. */
        room = room > most / 2 ? most : room * 2;
        _PyBytes_Resize(&bytes, room);
    }
    /* Nobody else has seen the object yet, so it may still change; gives NULL when memory is out.
     */
    if (bytes && len != room)
        _PyBytes_Resize(&bytes, len);
    return bytes;
}

/* New reference: a line of at most `most` bytes (0: any length), empty at the end of the body. */
static PyObject *read_line(pp_request *req, apr_size_t most)
{
    body_reader *reader = reader_of(req);
    const char *line;
    apr_size_t len;
    body_error error;

    Py_BEGIN_ALLOW_THREADS
    error = body_read_line(reader, most, &line, &len);
    Py_END_ALLOW_THREADS
    return error ? body_failed(req, error) : PyBytes_FromStringAndSize(line, (Py_ssize_t)len);
}

/* read([n]): all that is left without n or with a negative one */
PyObject *pp_request_read(PyObject *op, PyObject *args)
{
    pp_request *req = (pp_request *)op;
    Py_ssize_t n = -1;
    PyObject *bytes;

    if (!PyArg_ParseTuple(args, "|n:read", &n) || !pp_request_enter(req))
        return NULL;
    bytes = read_bytes(req, n < 0 ? PY_SSIZE_T_MAX : n);
    pp_request_leave(req);
    return bytes;
}

/* readline([n]) */
PyObject *pp_request_readline(PyObject *op, PyObject *args)
{
    pp_request *req = (pp_request *)op;
    Py_ssize_t n = -1;
    PyObject *line;

    if (!PyArg_ParseTuple(args, "|n:readline", &n))
        return NULL;
    /* For body_read_line 0 is no bound. */
    if (n == 0)
        return PyBytes_FromStringAndSize(NULL, 0);
    if (!pp_request_enter(req))
        return NULL;
    line = read_line(req, n < 0 ? 0 : (apr_size_t)n);
    pp_request_leave(req);
    return line;
}

/* New reference: list of lines, up to the one with which they are `hint` bytes or more (0: all). */
static PyObject *read_lines(pp_request *req, Py_ssize_t hint)
{
    PyObject *lines = PyList_New(0);
    Py_ssize_t total = 0;

    while (lines && (hint <= 0 || total < hint)) {
        PyObject *line = read_line(req, 0);
        Py_ssize_t len = line ? PyBytes_GET_SIZE(line) : 0;

        if (!line || (len > 0 && PyList_Append(lines, line) != 0))
            Py_CLEAR(lines);
        Py_XDECREF(line);
        if (len == 0)
            break;
        total += len;
    }
    return lines;
}

/* readlines([hint]) */
PyObject *pp_request_readlines(PyObject *op, PyObject *args)
{
    pp_request *req = (pp_request *)op;
    Py_ssize_t hint = 0;
    PyObject *lines;

    if (!PyArg_ParseTuple(args, "|n:readlines", &hint) || !pp_request_enter(req))
        return NULL;
    lines = read_lines(req, hint);
    pp_request_leave(req);
    return lines;
}

/* discard_request_body(): apache.OK, or the status that answers a body that can't be read */
PyObject *pp_request_discard_body(PyObject *op, PyObject *unused)
{
    pp_request *req = (pp_request *)op;
    request_rec *r = pp_request_enter(req);
    int status;

    (void)unused;
    if (!r)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = ap_discard_request_body(r);
    Py_END_ALLOW_THREADS
    pp_request_leave(req);
    return PyLong_FromLong(status);
}
