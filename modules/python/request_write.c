/* SPDX-License-Identifier: Apache-2.0
 * req.write and its kin. What a script writes is collected in the call (one copy, no system call,
 * the GIL kept) until it is more than OUT_LIMIT or the script flushes; then the GIL is released and
 * httpd's filters get it. What never came to that is sent when the handler is done, in one piece,
 * so that httpd can count it and give a Content-Length. */
#include "modules/python/request_methods.h"
#include "modules/common/length_guard.h"

#include <string.h>
#include <apr_buckets.h>
#include <apr_strings.h>
#include <http_protocol.h>
#include <util_filter.h>

/* Bytes collected at most. */
#define OUT_LIMIT ((apr_size_t)64 * 1024)
/* Of one buffer; what the allocator of buckets keeps at hand. */
#define OUT_BUFFER ((apr_size_t)APR_BUCKET_BUFF_SIZE)

/* Made at the first write: most requests that a handler declines never need one. */
apr_bucket_brigade *pp_request_out(pp_call *call)
{
    if (!call->out)
        call->out = apr_brigade_create(call->r->pool, call->r->connection->bucket_alloc);
    return call->out;
}

/* Where the last buffer of `out` has room for `*room` bytes; a new buffer when it has none. */
static char *out_room(apr_bucket_brigade *out, apr_bucket **last, apr_size_t *room)
{
    apr_bucket *bucket = APR_BRIGADE_LAST(out);
    apr_bucket_heap *heap;
    char *memory;

    /* Every heap bucket in `out` was made here: others' are passed on before anything is added. */
    if (!APR_BRIGADE_EMPTY(out) && APR_BUCKET_IS_HEAP(bucket)) {
        heap = bucket->data;
        *room = heap->alloc_len - (apr_size_t)bucket->start - bucket->length;
        if (*room > 0) {
            *last = bucket;
            return heap->base + bucket->start + bucket->length;
        }
    }
    /* The bucket owns the memory, and says it is empty until something is copied into it. */
    memory = apr_bucket_alloc(OUT_BUFFER, out->bucket_alloc);
    bucket = apr_bucket_heap_create(memory, OUT_BUFFER, apr_bucket_free, out->bucket_alloc);
    bucket->length = 0;
    APR_BRIGADE_INSERT_TAIL(out, bucket);
    *last = bucket;
    *room = OUT_BUFFER;
    return memory;
}

/* Copies; `out` owns the copy. */
static void out_append(apr_bucket_brigade *out, const char *data, apr_size_t len)
{
    while (len > 0) {
        apr_bucket *last;
        apr_size_t room;
        char *to = out_room(out, &last, &room);
        apr_size_t n = len < room ? len : room;

        memcpy(to, data, n);
        last->length += n;
        data += n;
        len -= n;
    }
}

/* Holds handlers to their Content-Length; set at start-up. */
static ap_filter_rec_t *length_filter;

void pp_request_register(void)
{
    length_filter = length_guard_register("PYPOOL_LENGTH");
}

/* Empties `out` down the filters, whatever they say: what they did not take they have set aside or
 * given up. Without the GIL. */
static apr_status_t pass(pp_call *call)
{
    apr_status_t rv;

    length_guard_begin(call->r, length_filter);
    rv = ap_pass_brigade(call->r->output_filters, call->out);
    apr_brigade_cleanup(call->out);
    call->out_bytes = 0;
    if (rv == APR_SUCCESS && call->r->connection->aborted)
        rv = APR_ECONNABORTED;
    return rv;
}

/* -1, always: BrokenPipeError, which is the OSError that mod_python's IOError has become. */
static int write_failed(apr_status_t rv)
{
    char why[120];

    PyErr_Format(PyExc_BrokenPipeError, "the client is gone, or an output filter failed: %s",
                 apr_strerror(rv, why, sizeof(why)));
    return -1;
}

/* An empty brigade is not passed: some filters would take it for the beginning of a response. */
int pp_request_pass(pp_request *req, int flush)
{
    apr_bucket_brigade *out = pp_request_out(req->call);
    apr_status_t rv;

    if (flush)
        APR_BRIGADE_INSERT_TAIL(out, apr_bucket_flush_create(out->bucket_alloc));
    if (APR_BRIGADE_EMPTY(out))
        return 0;
    Py_BEGIN_ALLOW_THREADS
    rv = pass(req->call);
    Py_END_ALLOW_THREADS
    return rv == APR_SUCCESS ? 0 : write_failed(rv);
}

int pp_request_writable(pp_request *req)
{
    if (req->r->connection->aborted)
        return write_failed(APR_ECONNABORTED);
    if (!req->r->next && !req->r->eos_sent)
        return 0;
    PyErr_SetString(PyExc_RuntimeError, "the response is complete: nothing can be added to it");
    return -1;
}

/* 0, or -1 with OSError. What fits is copied; more is lent to the filters, which take it before
 * they come back. */
static int write_bytes(pp_request *req, const char *data, apr_size_t len)
{
    apr_bucket_brigade *out = pp_request_out(req->call);

    if (pp_request_writable(req) != 0)
        return -1;
    if (len <= OUT_LIMIT - req->call->out_bytes) {
        out_append(out, data, len);
        req->call->out_bytes += len;
        return 0;
    }
    APR_BRIGADE_INSERT_TAIL(out, apr_bucket_transient_create(data, len, out->bucket_alloc));
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
PyObject *pp_request_write(PyObject *op, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    pp_request *req = (pp_request *)op;
    pp_bytes bytes;
    int flush;
    int rc = -1;

    if (flush_argument(args, n, names, &flush) != 0 ||
        pp_bytes_open(&bytes, args[0], "what req.write writes") != 0)
        return NULL;
    if (pp_request_enter(req)) {
        rc = write_bytes(req, bytes.data, (apr_size_t)bytes.len);
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

/* EOS in the same brigade as the last bytes is what lets httpd count a small response and give it a
 * Content-Length. */
apr_status_t pp_request_send(pp_call *call)
{
    apr_bucket_brigade *out = pp_request_out(call);

    /* After an internal redirect the response is the other request's, and complete. */
    if (call->r->eos_sent || call->r->next) {
        pp_request_discard(call);
        return APR_SUCCESS;
    }
    APR_BRIGADE_INSERT_TAIL(out, apr_bucket_eos_create(out->bucket_alloc));
    return pass(call);
}

void pp_request_discard(pp_call *call)
{
    if (call->out)
        apr_brigade_cleanup(call->out);
    call->out_bytes = 0;
}
