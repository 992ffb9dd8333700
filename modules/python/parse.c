/* SPDX-License-Identifier: Apache-2.0
 * `_apache.parse_qsl` and `_apache.parse_form`: the forms that clients send, by the parsers both
 * modules share. */
#include "modules/python/apache_module.h"

#include "modules/common/form.h"
#include "modules/python/text.h"

/* What a parser's callback fills. */
typedef struct fields {
    PyObject *list; /* owned; NULL after a failure, with its exception set */
    int keep_blank;
    int strict;
} fields;

/* 0, or -1 with the list dropped. Steals `item`. */
static int append(fields *to, PyObject *item)
{
    if (!item || PyList_Append(to->list, item) != 0)
        Py_CLEAR(to->list);
    Py_XDECREF(item);
    return to->list ? 0 : -1;
}

/* New reference: str, or None when the part of the field is absent. */
static PyObject *form_str(const form_text *text)
{
    return text->bytes ? pp_text_n(text->bytes, text->length) : Py_NewRef(Py_None);
}

/* form_callback for a query string: appends (name, value). mod_python leaves out empty values
 * unless told to keep them. */
static int add_pair(void *baton, const form_field *field)
{
    fields *to = baton;

    if (to->strict && !field->has_equals) {
        PyErr_SetString(PyExc_ValueError, "the form has a field without '='");
        Py_CLEAR(to->list);
        return -1;
    }
    if (!to->keep_blank && field->value.length == 0)
        return 0;
    return append(to, Py_BuildValue("(NN)", form_str(&field->name),
                                    pp_text_n(field->value.bytes, field->value.length)));
}

/* form_callback for a body: appends the five parts of a field. Empty values are left out where
 * mod_python does: only a part of a multipart form has headers. */
static int add_field(void *baton, const form_field *field)
{
    fields *to = baton;
    const char *value = field->value.bytes ? field->value.bytes : "";

    if (!to->keep_blank && field->value.length == 0 && !field->headers.bytes)
        return 0;
    return append(to, Py_BuildValue("(Ny#NNN)", form_str(&field->name), value,
                                    (Py_ssize_t)field->value.length, form_str(&field->filename),
                                    form_str(&field->content_type), form_str(&field->headers)));
}

/* New reference: the list, or NULL with ValueError or what happened in the callback. Steals. */
static PyObject *finish(fields *to, form_error error)
{
    if (error && !PyErr_Occurred())
        PyErr_SetString(PyExc_ValueError, form_error_text(error));
    if (error)
        Py_CLEAR(to->list);
    return to->list;
}

/* parse_qsl(text[, keep_blank_values[, strict_parsing]]): list of (name, value) */
PyObject *pp_parse_qsl(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"qs", "keep_blank_values", "strict_parsing", NULL};
    fields to = {NULL, 0, 0};
    form_limits limits = {0, 0, 0, 0, 0};
    form_error error;
    apr_pool_t *pool;
    PyObject *text;
    pp_bytes bytes;

    (void)module;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|pp:parse_qsl", names, &text, &to.keep_blank,
                                     &to.strict) ||
        pp_bytes_open(&bytes, text, "the query") != 0)
        return NULL;
    if (apr_pool_create_unmanaged(&pool) != APR_SUCCESS) {
        pp_bytes_close(&bytes);
        return PyErr_NoMemory();
    }
    to.list = PyList_New(0);
    /* Otherwise a stray % stands for itself, as in browsers. */
    limits.strict = to.strict;
    error = to.list ? form_parse_urlencoded(pool, bytes.data, (apr_size_t)bytes.len, &limits,
                                            add_pair, &to)
                    : FORM_NO_MEMORY;
    apr_pool_destroy(pool);
    pp_bytes_close(&bytes);
    return finish(&to, error);
}

/* Hands each field of `body` to add_field; what kind of form it is was looked at before. */
static form_error parse_body(apr_pool_t *pool, const char *type, const pp_bytes *body, fields *to)
{
    form_limits limits = {0, 0, 0, 0, to->strict};

    if (form_kind_of(type) == FORM_MULTIPART)
        return form_parse_multipart(pool, type, body->data, (apr_size_t)body->len, &limits,
                                    add_field, to);
    return form_parse_urlencoded(pool, body->data, (apr_size_t)body->len, &limits, add_field, to);
}

/* is_form(content_type): whether parse_form can take such a body apart */
PyObject *pp_is_form(PyObject *module, PyObject *type)
{
    pp_bytes text;
    form_kind kind;

    (void)module;
    if (pp_text_open(&text, type, PP_TEXT_ANY, "the content type") != 0)
        return NULL;
    kind = form_kind_of(text.data);
    pp_bytes_close(&text);
    return PyBool_FromLong(kind != FORM_OTHER);
}

/* As parse_form, for the bytes of both. */
static PyObject *parse_bytes(const char *type, const pp_bytes *body, fields *to)
{
    form_error error;
    apr_pool_t *pool;

    if (form_kind_of(type) == FORM_OTHER)
        return PyErr_Format(PyExc_ValueError, "%s is not the content type of a form", type);
    if (apr_pool_create_unmanaged(&pool) != APR_SUCCESS)
        return PyErr_NoMemory();
    to->list = PyList_New(0);
    error = to->list ? parse_body(pool, type, body, to) : FORM_NO_MEMORY;
    apr_pool_destroy(pool);
    return finish(to, error);
}

/* parse_form(content_type, body, keep_blank_values, strict_parsing): list of (name, value as bytes,
 * file name or None, content type or None, headers or None). */
PyObject *pp_parse_form(PyObject *module, PyObject *args)
{
    fields to = {NULL, 0, 0};
    PyObject *type_given;
    PyObject *body_given;
    PyObject *list = NULL;
    pp_bytes type;
    pp_bytes body;

    (void)module;
    if (!PyArg_ParseTuple(args, "OOpp:parse_form", &type_given, &body_given, &to.keep_blank,
                          &to.strict) ||
        pp_text_open(&type, type_given, PP_TEXT_ANY, "the content type") != 0)
        return NULL;
    if (pp_bytes_open(&body, body_given, "the body") == 0) {
        list = parse_bytes(type.data, &body, &to);
        pp_bytes_close(&body);
    }
    pp_bytes_close(&type);
    return list;
}
