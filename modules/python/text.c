/* SPDX-License-Identifier: Apache-2.0
 * Strings between httpd and Python.
 *
 * ASCII, which is nearly everything, takes the fast path of both directions: one copy when
 * decoding, none when encoding. */
#include "modules/python/text.h"

#include <string.h>
#include <apr_strings.h>
#include "modules/common/header_check.h"
#include "modules/common/hot.h"

PyObject *pp_text_n(const char *text, size_t len)
{
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)len, "surrogateescape");
}

PyObject *pp_text(const char *text)
{
    if (!text)
        Py_RETURN_NONE;
    return pp_text_n(text, strlen(text));
}

/* The UTF-8 form is cached in the str: the second use of a constant costs nothing. */
static int open_str(pp_bytes *bytes, PyObject *value)
{
    if (PyUnicode_IS_COMPACT_ASCII(value)) {
        bytes->data = PyUnicode_DATA(value);
        bytes->len = PyUnicode_GET_LENGTH(value);
        bytes->held = Py_NewRef(value);
        return 0;
    }
    bytes->data = PyUnicode_AsUTF8AndSize(value, &bytes->len);
    if (bytes->data) {
        bytes->held = Py_NewRef(value);
        return 0;
    }
    /* Escaped bytes, as in text that came from httpd: the cached form cannot hold them. */
    if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError))
        return -1;
    PyErr_Clear();
    /* Fails again for surrogates that stand for no byte: those are the caller's mistake. */
    bytes->held = PyUnicode_AsEncodedString(value, "utf-8", "surrogateescape");
    if (!bytes->held)
        return -1;
    bytes->data = PyBytes_AS_STRING(bytes->held);
    bytes->len = PyBytes_GET_SIZE(bytes->held);
    return 0;
}

/* PyBUF_SIMPLE asks for one contiguous piece; what is not raises BufferError. */
HOT_PATH int pp_bytes_open(pp_bytes *bytes, PyObject *value, const char *what)
{
    /* What pp_bytes_close looks at, whatever happens below. */
    bytes->held = NULL;
    bytes->view.obj = NULL;
    if (PyUnicode_Check(value))
        return open_str(bytes, value);
    if (!PyObject_CheckBuffer(value)) {
        PyErr_Format(PyExc_TypeError, "%s must be str or bytes-like, not %.100s", what,
                     Py_TYPE(value)->tp_name);
        return -1;
    }
    if (PyObject_GetBuffer(value, &bytes->view, PyBUF_SIMPLE) != 0)
        return -1;
    bytes->data = bytes->view.buf;
    bytes->len = bytes->view.len;
    return 0;
}

/* Of bytes that were opened; once. */
HOT_PATH void pp_bytes_close(pp_bytes *bytes)
{
    Py_CLEAR(bytes->held);
    if (bytes->view.obj)
        PyBuffer_Release(&bytes->view);
}

/* The reason why `bytes` may not be of this kind, or NULL. */
static const char *refusal(const pp_bytes *bytes, pp_text_kind kind)
{
    apr_size_t len = (apr_size_t)bytes->len;

    if (kind == PP_TEXT_HEADER)
        return header_check_value(bytes->data, len);
    if (memchr(bytes->data, '\0', len))
        return "must not contain NUL";
    if (kind == PP_TEXT_LINE && memchr(bytes->data, '\r', len))
        return "must not contain CR";
    if (kind == PP_TEXT_LINE && memchr(bytes->data, '\n', len))
        return "must not contain LF";
    return NULL;
}

/* 0, or -1 with ValueError naming `what`. */
static int check(const pp_bytes *bytes, pp_text_kind kind, const char *what)
{
    const char *why = refusal(bytes, kind);

    if (why)
        PyErr_Format(PyExc_ValueError, "%s: %s", what, why);
    return why ? -1 : 0;
}

/* A copy of bytes that may not end with NUL. */
static int terminate(pp_bytes *bytes)
{
    PyObject *copy;

    if (bytes->held || PyBytes_Check(bytes->view.obj))
        return 0;
    copy = PyBytes_FromStringAndSize(bytes->data, bytes->len);
    if (!copy)
        return -1;
    PyBuffer_Release(&bytes->view);
    bytes->held = copy;
    bytes->data = PyBytes_AS_STRING(copy);
    return 0;
}

HOT_PATH int pp_text_open(pp_bytes *bytes, PyObject *value, pp_text_kind kind, const char *what)
{
    if (pp_bytes_open(bytes, value, what) != 0)
        return -1;
    if (check(bytes, kind, what) == 0 && terminate(bytes) == 0)
        return 0;
    pp_bytes_close(bytes);
    return -1;
}

HOT_PATH const char *pp_text_copy(apr_pool_t *pool, PyObject *value, pp_text_kind kind,
                                  const char *what)
{
    const char *copy;
    pp_bytes bytes;

    if (pp_text_open(&bytes, value, kind, what) != 0)
        return NULL;
    copy = apr_pstrmemdup(pool, bytes.data, (apr_size_t)bytes.len);
    if (!copy)
        PyErr_NoMemory();
    pp_bytes_close(&bytes);
    return copy;
}
