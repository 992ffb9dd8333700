/* SPDX-License-Identifier: Apache-2.0
 * The attributes of `req`, a row for each in the table at the end. */
#include "modules/python/request.h"

#include <limits.h>
#include <apr_lib.h>
#include <apr_strings.h>
#include <http_core.h>
#include <http_protocol.h>
#include "modules/common/hot.h"
#include "modules/python/apache_module.h"
#include "modules/python/field.h"
#include "modules/python/server.h"
#include "modules/python/table.h"

/* ---- the way in: guard, then the field's own function ---- */

/* New reference. The getter for every attribute. */
static PyObject *field_get(PyObject *op, void *closure)
{
    const pp_field *field = closure;
    request_rec *r = pp_request_enter((pp_request *)op);
    PyObject *value;

    if (!r)
        return NULL;
    value = field->get(op, (const char *)r + field->offset);
    pp_request_leave((pp_request *)op);
    return value;
}

/* 0, or -1. The setter for every attribute that can be set; a NULL value is a `del`. */
HOT_PATH static int field_set(PyObject *op, PyObject *value, void *closure)
{
    const pp_field *field = closure;
    request_rec *r;
    int rc;

    /* None is what clears; without this check a setter would see NULL. */
    if (!value) {
        PyErr_Format(PyExc_AttributeError, "%s can't be deleted", field->name);
        return -1;
    }
    r = pp_request_enter((pp_request *)op);
    if (!r)
        return -1;
    rc = field->set(op, (char *)r + field->offset, value, field);
    pp_request_leave((pp_request *)op);
    return rc;
}

/* ---- setters by kind ---- */

/* A text that may not be missing. */
static int set_text(PyObject *op, void *at, PyObject *value, const pp_field *field)
{
    const char *text = pp_text_copy(((pp_request *)op)->r->pool, value, PP_TEXT_LINE, field->name);

    if (!text)
        return -1;
    /* What was there stays in the pool: others may still point to it. */
    *(const char **)at = text;
    return 0;
}

/* A text that None takes away. */
static int set_text_or_none(PyObject *op, void *at, PyObject *value, const pp_field *field)
{
    if (value != Py_None)
        return set_text(op, at, value, field);
    *(const char **)at = NULL;
    return 0;
}

/* Any int of C: what the numbers mean is httpd's business. */
static int set_int(PyObject *op, void *at, PyObject *value, const pp_field *field)
{
    (void)op;
    return pp_int_in(value, INT_MIN, INT_MAX, field->name, at);
}

/* Members that httpd tests for truth only, some of them one bit wide. */
static int set_flag(PyObject *op, void *at, PyObject *value, const pp_field *field)
{
    (void)op;
    return pp_int_in(value, 0, 1, field->name, at);
}

/* ---- attributes with a way of their own; at offset 0 `at` is the request_rec ---- */

/* httpd answers 500 for a status it has no line for; what can't be one at all is refused here. */
static int set_status(PyObject *op, void *at, PyObject *value, const pp_field *field)
{
    (void)op;
    return pp_int_in(value, 100, 999, field->name, at);
}

/* httpd sends the line only when it starts with the status, so one sets the other. */
static int set_status_line(PyObject *op, void *at, PyObject *value, const pp_field *field)
{
    request_rec *r = ((pp_request *)op)->r;
    const char *line;

    if (value == Py_None)
        return set_text_or_none(op, at, value, field);
    line = pp_text_copy(r->pool, value, PP_TEXT_LINE, field->name);
    if (!line)
        return -1;
    if (!apr_isdigit(line[0]) || line[0] == '0' || !apr_isdigit(line[1]) || !apr_isdigit(line[2]) ||
        line[3] != ' ') {
        PyErr_Format(PyExc_ValueError, "%s must be like '404 Not Found', not %R", field->name,
                     value);
        return -1;
    }
    r->status = (line[0] - '0') * 100 + (line[1] - '0') * 10 + (line[2] - '0');
    r->status_line = line;
    return 0;
}

/* Through httpd, since filters depend on the type; None takes it away. */
HOT_PATH static int set_content_type(PyObject *op, void *at, PyObject *value, const pp_field *field)
{
    pp_request *self = (pp_request *)op;
    const char *type = NULL;

    (void)at;
    if (value != Py_None) {
        type = pp_text_copy(self->r->pool, value, PP_TEXT_HEADER, field->name);
        if (!type)
            return -1;
    }
    /* Not the member itself: httpd looks for filters by type (AddOutputFilterByType). */
    ap_set_content_type(self->r, type);
    self->content_type_set = type != NULL;
    return 0;
}

/* Whether a script, not a directive, chose the type: mod_python's filters ask for it. */
static PyObject *get_content_type_set(PyObject *op, const void *at)
{
    (void)at;
    return PyLong_FromLong(((pp_request *)op)->content_type_set);
}

/* New reference: the table at `which`, made the first time. Its values are headers or free text. */
static PyObject *get_table(PyObject *op, int which, apr_table_t *table)
{
    pp_request *self = (pp_request *)op;
    pp_text_kind kind = which <= PP_ERR_HEADERS_OUT ? PP_TEXT_HEADER : PP_TEXT_ANY;
    PyTypeObject *type = pp_state_of(self->call->module)->table_type;

    /* Kept, so that req.headers_in is req.headers_in, and costs nothing the second time. */
    if (!self->tables[which])
        self->tables[which] = pp_table_new(type, table, &self->guard, op, kind);
    return Py_XNewRef(self->tables[which]);
}

static PyObject *get_headers_in(PyObject *op, const void *at)
{
    return get_table(op, PP_HEADERS_IN, ((const request_rec *)at)->headers_in);
}

static PyObject *get_headers_out(PyObject *op, const void *at)
{
    return get_table(op, PP_HEADERS_OUT, ((const request_rec *)at)->headers_out);
}

static PyObject *get_err_headers_out(PyObject *op, const void *at)
{
    return get_table(op, PP_ERR_HEADERS_OUT, ((const request_rec *)at)->err_headers_out);
}

static PyObject *get_subprocess_env(PyObject *op, const void *at)
{
    return get_table(op, PP_SUBPROCESS_ENV, ((const request_rec *)at)->subprocess_env);
}

static PyObject *get_notes(PyObject *op, const void *at)
{
    return get_table(op, PP_NOTES, ((const request_rec *)at)->notes);
}

/* New reference: one object for the whole request, made the first time. */
static PyObject *get_connection(PyObject *op, const void *at)
{
    pp_request *self = (pp_request *)op;
    PyTypeObject *type = pp_state_of(self->call->module)->connection_type;

    if (!self->connection)
        self->connection =
            pp_connection_new(type, ((const request_rec *)at)->connection, &self->guard, op);
    return Py_XNewRef(self->connection);
}

/* New reference: one object for the whole request, so that attributes put on it stay. */
static PyObject *get_server(PyObject *op, const void *at)
{
    pp_request *self = (pp_request *)op;
    PyTypeObject *type = pp_state_of(self->call->module)->server_type;

    if (!self->server)
        self->server = pp_server_new(type, ((const request_rec *)at)->server);
    return Py_XNewRef(self->server);
}

/* New reference: made each time, since the next handler of the list changes it. */
static PyObject *get_hlist(PyObject *op, const void *at)
{
    const pp_call *call = ((pp_request *)op)->call;

    (void)at;
    return pp_hlist_new(pp_state_of(call->module)->hlist_type, call);
}

/* New reference: what httpd found when it mapped the URI to a file; no system call. */
static PyObject *get_finfo(PyObject *op, const void *at)
{
    return pp_finfo_new(pp_state_of(((pp_request *)op)->call->module)->finfo_type, at);
}

/* So that a handler that changes filename can say what is there now: apache.stat gives it. */
static int set_finfo(PyObject *op, void *at, PyObject *value, const pp_field *field)
{
    pp_request *self = (pp_request *)op;

    (void)field;
    return pp_finfo_read(pp_state_of(self->call->module)->finfo_type, value, self->r->pool, at);
}

/* The three ways to other requests; each gives a new reference, or None. */
static PyObject *get_main(PyObject *op, const void *at)
{
    (void)at;
    return pp_request_beside((pp_request *)op, PP_MAIN);
}

static PyObject *get_prev(PyObject *op, const void *at)
{
    (void)at;
    return pp_request_beside((pp_request *)op, PP_PREV);
}

static PyObject *get_next(PyObject *op, const void *at)
{
    (void)at;
    return pp_request_beside((pp_request *)op, PP_NEXT);
}

/* What the call says about itself; new references. */
static PyObject *get_interpreter(PyObject *op, const void *at)
{
    (void)at;
    return pp_text(((pp_request *)op)->call->interpreter);
}

static PyObject *get_phase(PyObject *op, const void *at)
{
    (void)at;
    return pp_text(((pp_request *)op)->call->phase);
}

static PyObject *get_extension(PyObject *op, const void *at)
{
    (void)at;
    return pp_text(((pp_request *)op)->call->extension);
}

/* One bit of httpd's, so no generic getter can reach it. */
static PyObject *get_expecting_100(PyObject *op, const void *at)
{
    (void)op;
    return PyLong_FromLong((long)((const request_rec *)at)->expecting_100);
}

/* What write() collected and nobody passed on; with bytes_sent it is all that was written. */
static PyObject *get_bytes_queued(PyObject *op, const void *at)
{
    (void)at;
    return PyLong_FromSize_t(((pp_request *)op)->call->out.bytes);
}

/* (methods,) that allow_methods added beyond the known ones. */
static PyObject *get_allowed_xmethods(PyObject *op, const void *at)
{
    const ap_method_list_t *list = ((const request_rec *)at)->allowed_methods;

    return pp_get_strings(op, &list->method_list);
}

/* 0, or -1. Appends the name of method number `i` to `list`. */
static int append_method(PyObject *list, apr_pool_t *pool, int i)
{
    /* GET and HEAD have one number. */
    PyObject *name = pp_text(i == M_GET ? "GET" : ap_method_name_of(pool, i));
    int rc = name ? PyList_Append(list, name) : -1;

    Py_XDECREF(name);
    return rc;
}

/* The names of all allowed methods. */
static PyObject *get_allowed_methods(PyObject *op, const void *at)
{
    const request_rec *r = at;
    apr_uint64_t allowed = (apr_uint64_t)(r->allowed | r->allowed_methods->method_mask);
    PyObject *others = get_allowed_xmethods(op, at);
    PyObject *list = others ? PyList_New(0) : NULL;
    PyObject *tuple = NULL;
    int i;

    for (i = 0; list && i < METHODS; i++) {
        if ((allowed >> i & 1) && append_method(list, r->pool, i) != 0)
            Py_CLEAR(list);
    }
    if (list && PyList_SetSlice(list, PyList_GET_SIZE(list), PyList_GET_SIZE(list), others) == 0)
        tuple = PyList_AsTuple(list);
    Py_XDECREF(list);
    Py_XDECREF(others);
    return tuple;
}

/* (scheme, hostinfo, user, password, hostname, port, path, query, fragment) */
static PyObject *get_parsed_uri(PyObject *op, const void *at)
{
    const apr_uri_t *uri = &((const request_rec *)at)->parsed_uri;
    const char *text[] = {uri->scheme,   uri->hostinfo, uri->user,  uri->password, uri->hostname,
                          uri->port_str, uri->path,     uri->query, uri->fragment};
    const size_t n = sizeof(text) / sizeof(text[0]);
    const size_t port = 5;
    PyObject *tuple = PyTuple_New((Py_ssize_t)n);
    size_t i;

    (void)op;
    for (i = 0; tuple && i < n; i++) {
        /* Only a port that was given is a number; mod_python has None for the rest. */
        PyObject *part = i == port && uri->port ? PyLong_FromLong(uri->port) : pp_text(text[i]);

        if (part)
            PyTuple_SET_ITEM(tuple, (Py_ssize_t)i, part);
        else
            Py_CLEAR(tuple);
    }
    return tuple;
}

#define MEMBER(name)         APR_OFFSETOF(request_rec, name)
#define READ(name, get, doc) PP_FIELD(field_get, NULL, "req.", name, MEMBER(name), get, NULL, doc)
#define WRITE(name, get, set, doc) \
    PP_FIELD(field_get, field_set, "req.", name, MEMBER(name), get, set, doc)
#define FIND(name, get, doc) PP_FIELD(field_get, NULL, "req.", name, 0, get, NULL, doc)

PyGetSetDef pp_request_fields[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    /* what the client asked for */
    READ(the_request, pp_get_text, "the request line"),
    READ(method, pp_get_text, "'GET', 'POST', ..."),
    READ(method_number, pp_get_int, "apache.M_GET, ..."),
    WRITE(uri, pp_get_text, set_text, "the path of the URI, decoded"),
    READ(unparsed_uri, pp_get_text, "the URI as it was sent"),
    FIND(parsed_uri, get_parsed_uri, "tuple, indexed by apache.URI_*"),
    WRITE(args, pp_get_text, set_text_or_none, "what stands after '?', or None"),
    WRITE(path_info, pp_get_text, set_text_or_none, "what the URI has beyond the file"),
    WRITE(filename, pp_get_text, set_text, "the file the URI stands for"),
    WRITE(canonical_filename, pp_get_text, set_text, "filename, as httpd spells it"),
    READ(protocol, pp_get_text, "'HTTP/1.1'"),
    READ(proto_num, pp_get_int, "1001 for HTTP/1.1"),
    READ(hostname, pp_get_text, "the host the client asked, or None"),
    READ(header_only, pp_get_int, "1 for HEAD"),
    READ(request_time, pp_get_time, "when the request came, in seconds since 1970"),
    READ(useragent_ip, pp_get_text, "the client's address"),
    READ(useragent_addr, pp_get_address, "(ip, port) of the client"),
    WRITE(user, pp_get_text, set_text_or_none, "who the client is, once authenticated, or None"),
    WRITE(ap_auth_type, pp_get_text, set_text_or_none, "how it was authenticated, or None"),
    WRITE(assbackwards, pp_get_int, set_flag, "1: no header is sent (HTTP/0.9)"),
    WRITE(proxyreq, pp_get_int, set_int, "apache.PROXYREQ_*"),
    WRITE(handler, pp_get_text, set_text_or_none, "name of httpd's handler"),
    WRITE(used_path_info, pp_get_int, set_int, "apache.AP_REQ_*"),
    /* tables */
    FIND(headers_in, get_headers_in, "table of the request's headers"),
    FIND(headers_out, get_headers_out, "table of the response's headers"),
    FIND(err_headers_out, get_err_headers_out, "table of headers that errors keep"),
    FIND(subprocess_env, get_subprocess_env, "table of environment variables"),
    FIND(notes, get_notes, "table of notes between modules"),
    /* the response */
    WRITE(content_type, pp_get_text, set_content_type, "the response's Content-Type, or None"),
    FIND(_content_type_set, get_content_type_set, "1: a script set content_type"),
    WRITE(finfo, get_finfo, set_finfo,
          "tuple of what is known of the file, indexed by apache.FINFO_*"),
    READ(content_encoding, pp_get_text, "the response's Content-Encoding, or None"),
    READ(content_languages, pp_get_strings, "tuple of languages"),
    READ(vlist_validator, pp_get_text, "validator of a negotiated resource, or None"),
    WRITE(status, pp_get_int, set_status, "the response's status"),
    WRITE(status_line, pp_get_text, set_status_line, "'404 Not Found': status with its reason"),
    READ(allowed, pp_get_int64, "bits of the allowed methods"),
    FIND(allowed_methods, get_allowed_methods, "tuple of the allowed methods' names"),
    FIND(allowed_xmethods, get_allowed_xmethods, "tuple of those httpd does not know"),
    WRITE(chunked, pp_get_int, set_flag, "1: the response is chunked"),
    WRITE(no_cache, pp_get_int, set_flag, "1: the response is not to be cached"),
    WRITE(no_local_copy, pp_get_int, set_flag, "1: never answer 304"),
    READ(mtime, pp_get_time, "what update_mtime gave, in seconds since 1970"),
    READ(range, pp_get_text, "the Range header in effect, or None"),
    READ(clength, pp_get_offset, "the response's Content-Length, as far as known"),
    READ(sent_bodyct, pp_get_offset, "how often body data has been sent"),
    READ(bytes_sent, pp_get_offset, "bytes of the body sent"),
    READ(eos_sent, pp_get_int, "1: the end of the response has been sent"),
    FIND(_bytes_queued, get_bytes_queued, "bytes written and not yet sent"),
    /* the body of the request */
    READ(remaining, pp_get_offset, "bytes of the request's body that have not been read"),
    READ(read_length, pp_get_offset, "bytes of the request's body that have been read"),
    READ(read_body, pp_get_int, "apache.REQUEST_*"),
    READ(read_chunked, pp_get_int, "1: the request's body is chunked"),
    FIND(expecting_100, get_expecting_100, "1: the client waits for 100 Continue"),
    /* around the request */
    FIND(connection, get_connection, "the connection"),
    FIND(server, get_server, "the virtual host"),
    FIND(main, get_main, "the request this one is a part of, or None"),
    FIND(prev, get_prev, "the request that was redirected here, or None"),
    FIND(next, get_next, "the request this one was redirected to, or None"),
    FIND(interpreter, get_interpreter, "name of the interpreter"),
    FIND(hlist, get_hlist, "the handler that is run: handler, directory, location"),
    FIND(phase, get_phase, "'PythonHandler', ..."),
    FIND(extension, get_extension, "what the directive named after '|', or None"),
    {NULL, NULL, NULL, NULL, NULL}};
