/* SPDX-License-Identifier: Apache-2.0
 * Strings between httpd and Python. httpd's are bytes that end with NUL; Python sees them as str,
 * decoded as UTF-8 with surrogateescape: any byte survives the round trip and nothing can fail but
 * memory. Knows nothing of requests. */
#ifndef INTERPOOL_PYTHON_TEXT_H
#define INTERPOOL_PYTHON_TEXT_H

#include <apr_pools.h>

#include "modules/python/compat.h"

/* The bytes of a str (UTF-8, surrogateescape) or of a bytes-like object, valid until
 * pp_bytes_close. `held` and `view` keep them alive. */
typedef struct pp_bytes {
    const char *data; /* ends with NUL only when the value is a str or bytes */
    Py_ssize_t len;
    PyObject *held;
    Py_buffer view;
} pp_bytes;

/* What a text may hold: everything but ... */
typedef enum pp_text_kind {
    PP_TEXT_HEADER, /* what header_check_value forbids */
    PP_TEXT_LINE,   /* CR, LF and NUL: names, URIs, ... */
    PP_TEXT_ANY     /* NUL, which would cut it short */
} pp_text_kind;

/* New reference: str, or None when `text` is NULL. */
PyObject *pp_text(const char *text);
/* New reference: str of `len` bytes. */
PyObject *pp_text_n(const char *text, size_t len);

/* 0, or -1 with TypeError ("`what` must be str or bytes-like, not ..."). */
int pp_bytes_open(pp_bytes *bytes, PyObject *value, const char *what);
void pp_bytes_close(pp_bytes *bytes);

/* As pp_bytes_open; the bytes hold nothing that `kind` forbids (else ValueError) and end with NUL.
 */
int pp_text_open(pp_bytes *bytes, PyObject *value, pp_text_kind kind, const char *what);

/* A copy in `pool` of a str or bytes-like value; NULL with TypeError or ValueError naming `what`.
 */
const char *pp_text_copy(apr_pool_t *pool, PyObject *value, pp_text_kind kind, const char *what);

#endif
