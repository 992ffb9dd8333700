/* SPDX-License-Identifier: Apache-2.0
 * req.sendfile: a file as part of the response. It is handed to httpd as a file, behind what was
 * written before it, so the system can send it without copying, and it counts for Content-Length.
 *
 * Such a file stays open until the request ends, wherever it is by then: filters may keep it for a
 * slow client, and mod_http2 moves it to the stream. So only the first ones of a response are sent
 * like that, and further ones are read here. */
#include "modules/python/request_methods.h"

#include <errno.h>
#include <apr_buckets.h>
#include <apr_file_io.h>
#include <http_core.h>

/* So many files are open for a response at most. */
#define FILES_MOST 8
/* So much of a file is read at a time. */
#define READ_BYTES ((apr_size_t)64 * 1024)

/* What of a file is to be sent: nothing when `len` is 0, then it was closed again. */
typedef struct file_part {
    apr_file_t *file;
    apr_off_t offset;
    apr_off_t len; /* -1, before the file is open: all there is */
} file_part;

/* Opens `path` the way httpd's own handler would, in `pool`. Without the GIL. */
static apr_status_t open_file(request_rec *r, apr_pool_t *pool, const char *path, apr_file_t **file,
                              apr_off_t *size)
{
    const core_dir_config *core = ap_get_core_module_config(r->per_dir_config);
    apr_int32_t flags = APR_FOPEN_READ | APR_FOPEN_BINARY;
    apr_finfo_t finfo;
    apr_status_t rv;

    if (core->enable_sendfile == ENABLE_SENDFILE_ON)
        flags |= APR_FOPEN_SENDFILE_ENABLED;
    rv = apr_file_open(file, path, flags, APR_FPROT_OS_DEFAULT, pool);
    if (rv != APR_SUCCESS)
        return rv;
    rv = apr_file_info_get(&finfo, APR_FINFO_SIZE | APR_FINFO_TYPE, *file);
    if (rv == APR_SUCCESS && finfo.filetype != APR_REG)
        rv = finfo.filetype == APR_DIR ? EISDIR : EINVAL;
    if (rv != APR_SUCCESS)
        apr_file_close(*file);
    *size = finfo.size;
    return rv;
}

static int file_failed(apr_status_t rv, PyObject *path)
{
    errno = APR_TO_OS_ERROR(rv);
    PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, path);
    return -1;
}

/* 0, or -1 with OSError or ValueError. */
static int open_part(pp_request *req, apr_pool_t *pool, PyObject *path_given, file_part *part)
{
    const char *path = pp_text_copy(pool, path_given, PP_TEXT_ANY, "the path");
    apr_off_t size = 0;
    apr_status_t rv;

    if (!path)
        return -1;
    Py_BEGIN_ALLOW_THREADS
    rv = open_file(req->r, pool, path, &part->file, &size);
    Py_END_ALLOW_THREADS
    if (rv != APR_SUCCESS)
        return file_failed(rv, path_given);
    /* The file's end is the end, whatever was asked for. */
    if (part->offset >= size)
        part->len = 0;
    else if (part->len < 0 || part->len > size - part->offset)
        part->len = size - part->offset;
    /* A file bucket of no length would confuse filters. */
    if (part->len == 0)
        apr_file_close(part->file);
    return 0;
}

/* Hands over the file, which lies in r->pool. */
static void append_part(pp_request *req, const file_part *part)
{
    const core_dir_config *core = ap_get_core_module_config(req->r->per_dir_config);
    apr_bucket *bucket = apr_brigade_insert_file(&req->call->out.held, part->file, part->offset,
                                                 part->len, req->r->pool);

    if (core->enable_mmap == ENABLE_MMAP_OFF)
        apr_bucket_file_enable_mmap(bucket, 0);
    req->call->n_files++;
}

/* 0, or -1 with OSError. A file that was cut meanwhile makes part->len smaller. */
static int copy_part(pp_request *req, PyObject *path, file_part *part)
{
    apr_bucket_alloc_t *list = req->r->connection->bucket_alloc;
    char *buffer = apr_bucket_alloc(READ_BYTES, list);
    apr_status_t rv = apr_file_seek(part->file, APR_SET, &part->offset);
    apr_off_t sent = 0;
    int rc = 0;

    while (rc == 0 && rv == APR_SUCCESS && sent < part->len) {
        apr_off_t left = part->len - sent;
        apr_size_t n = left < (apr_off_t)READ_BYTES ? (apr_size_t)left : READ_BYTES;

        Py_BEGIN_ALLOW_THREADS
        rv = apr_file_read_full(part->file, buffer, n, &n);
        Py_END_ALLOW_THREADS
        rc = pp_request_put(req, buffer, n);
        sent += (apr_off_t)n;
    }
    apr_bucket_free(buffer);
    part->len = sent;
    if (rc == 0 && rv != APR_SUCCESS && !APR_STATUS_IS_EOF(rv))
        rc = file_failed(rv, path);
    return rc;
}

/* The bytes that are sent, or -1 with OSError or ValueError. Inside the guard. */
static apr_off_t send_file(pp_request *req, PyObject *path, apr_off_t offset, apr_off_t len)
{
    file_part part = {NULL, offset, len};
    apr_pool_t *own = NULL; /* of a file that ends here */
    int rc;

    if (req->call->n_files < FILES_MOST) {
        rc = open_part(req, req->r->pool, path, &part);
        if (rc == 0 && part.len > 0)
            append_part(req, &part);
        return rc == 0 ? part.len : -1;
    }
    if (apr_pool_create(&own, req->r->pool) != APR_SUCCESS) {
        PyErr_NoMemory();
        return -1;
    }
    rc = open_part(req, own, path, &part);
    if (rc == 0 && part.len > 0)
        rc = copy_part(req, path, &part);
    apr_pool_destroy(own);
    return rc == 0 ? part.len : -1;
}

/* sendfile(path[, offset[, len]]): how many bytes that is; len -1 is all there is */
PyObject *pp_request_sendfile(PyObject *op, PyObject *args)
{
    pp_request *req = (pp_request *)op;
    PyObject *path;
    long long offset = 0;
    long long len = -1;
    apr_off_t sent;

    if (!PyArg_ParseTuple(args, "O|LL:sendfile", &path, &offset, &len))
        return NULL;
    if (offset < 0 || len < -1) {
        PyErr_SetString(PyExc_ValueError, "sendfile: offset and len can't be negative");
        return NULL;
    }
    if (!pp_request_enter(req))
        return NULL;
    sent = pp_request_writable(req) == 0 ? send_file(req, path, offset, len) : -1;
    pp_request_leave(req);
    return sent < 0 ? NULL : PyLong_FromLongLong(sent);
}
