/* SPDX-License-Identifier: Apache-2.0
 * req.sendfile: a file as part of the response. It is handed to httpd as a file, behind what was
 * written before it, so the system can send it without copying, and it counts for Content-Length.
 */
#include "modules/python/request_methods.h"

#include <errno.h>
#include <apr_buckets.h>
#include <apr_file_io.h>
#include <http_core.h>

/* Opens `path` the way httpd's own handler would. Without the GIL. */
static apr_status_t open_file(request_rec *r, const char *path, apr_file_t **file, apr_off_t *size)
{
    const core_dir_config *core = ap_get_core_module_config(r->per_dir_config);
    apr_int32_t flags = APR_FOPEN_READ | APR_FOPEN_BINARY;
    apr_finfo_t finfo;
    apr_status_t rv;

    if (core->enable_sendfile == ENABLE_SENDFILE_ON)
        flags |= APR_FOPEN_SENDFILE_ENABLED;
    rv = apr_file_open(file, path, flags, APR_FPROT_OS_DEFAULT, r->pool);
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

/* The file stays open as long as r->pool; httpd's filters send it from there. */
static void append_file(pp_request *req, apr_file_t *file, apr_off_t offset, apr_off_t len)
{
    const core_dir_config *core = ap_get_core_module_config(req->r->per_dir_config);
    apr_bucket *bucket =
        apr_brigade_insert_file(&req->call->out.held, file, offset, len, req->r->pool);

    if (core->enable_mmap == ENABLE_MMAP_OFF)
        apr_bucket_file_enable_mmap(bucket, 0);
}

/* The bytes that will be sent, or -1 with OSError or ValueError. Inside the guard. */
static apr_off_t send_file(pp_request *req, PyObject *path_given, apr_off_t offset, apr_off_t len)
{
    const char *path = pp_text_copy(req->r->pool, path_given, PP_TEXT_ANY, "the path");
    apr_file_t *file = NULL;
    apr_off_t size = 0;
    apr_status_t rv;

    if (!path)
        return -1;
    Py_BEGIN_ALLOW_THREADS
    rv = open_file(req->r, path, &file, &size);
    Py_END_ALLOW_THREADS
    if (rv != APR_SUCCESS) {
        errno = APR_TO_OS_ERROR(rv);
        PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, path_given);
        return -1;
    }
    /* Nothing to send; a file bucket of no length would confuse filters. */
    if (offset >= size || len == 0) {
        apr_file_close(file);
        return 0;
    }
    /* The file's end is the end, whatever was asked for. */
    if (len < 0 || len > size - offset)
        len = size - offset;
    append_file(req, file, offset, len);
    return len;
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
