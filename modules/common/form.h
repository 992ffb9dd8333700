/* SPDX-License-Identifier: Apache-2.0
 * Parsers for what HTML forms send: application/x-www-form-urlencoded and multipart/form-data.
 *
 * Pure functions over bytes: no I/O, no state; each field is handed to a callback, in order.
 * Lengths are counted, so a NUL is a byte like any other. They know nothing of requests or scripts.
 */
#ifndef INTERPOOL_FORM_H
#define INTERPOOL_FORM_H

#include <apr_pools.h>

typedef enum {
    FORM_OK = 0,
    FORM_BAD_ESCAPE,    /* a % that two hex digits do not follow (strict parsing only) */
    FORM_NO_BOUNDARY,   /* multipart without a usable boundary parameter */
    FORM_BAD_MULTIPART, /* no opening boundary, or a part without the blank line */
    FORM_TRUNCATED,     /* no closing boundary */
    FORM_NO_NAME,       /* a part without Content-Disposition: form-data and a name */
    FORM_TOO_MANY_FIELDS,
    FORM_FIELD_TOO_LARGE, /* a name, a value or the headers of a part */
    FORM_STOPPED,         /* the callback said so */
    FORM_NO_MEMORY
} form_error;

typedef enum {
    FORM_OTHER,
    FORM_URLENCODED,
    FORM_MULTIPART
} form_kind;

typedef struct form_limits {
    apr_size_t fields;  /* 0: FORM_MAX_FIELDS */
    apr_size_t name;    /* bytes in a name or file name, decoded; 0: FORM_MAX_NAME */
    apr_size_t value;   /* bytes in a value, decoded; 0: no limit (the body's limit bounds it) */
    apr_size_t headers; /* bytes in the headers of a part; 0: FORM_MAX_HEADERS */
    int strict;         /* refuse a malformed %; otherwise it stands for itself, as browsers do */
} form_limits;

#define FORM_MAX_FIELDS  1000
#define FORM_MAX_NAME    8192
#define FORM_MAX_HEADERS 16384

typedef struct form_text {
    const char *bytes; /* not NUL-terminated; NULL: absent, which is not the same as empty */
    apr_size_t length;
} form_text;

/* Valid during the callback only. Names and values are as sent, without any charset conversion. */
typedef struct form_field {
    form_text name;
    form_text value;
    int has_equals;         /* urlencoded: "a=" has one, "a" has not */
    form_text filename;     /* multipart: of a file upload, else absent; never a path to trust */
    form_text content_type; /* multipart: of the part, else absent */
    form_text headers;      /* multipart: all headers of the part, raw lines */
} form_field;

/* Returns 0 to go on; anything else stops the parsing with FORM_STOPPED. */
typedef int (*form_callback)(void *baton, const form_field *field);

/* Which parser a Content-Type asks for. NULL is FORM_OTHER. Case and parameters do not matter. */
form_kind form_kind_of(const char *content_type);

/* The value of parameter `name` in a header such as `form-data; name="a\"b"`: quoted or not, name
 * in any case; written to `value` in pool `p`. Returns 0 when absent. */
int form_parameter(apr_pool_t *p, form_text header, const char *name, form_text *value);

/* "a=1&b=2": '+' is a space, %XX a byte, ';' no separator; an empty pair ("a=1&&b=2") is no field.
 * Scratch memory of at most `length` bytes is taken from `p`. `limits` may be NULL. */
form_error form_parse_urlencoded(apr_pool_t *p, const char *bytes, apr_size_t length,
                                 const form_limits *limits, form_callback each, void *baton);

/* A multipart body; the boundary comes from `content_type`, quoted or not, with or without other
 * parameters before it. Text before the first boundary and after the last is ignored. A boundary
 * counts only at the start of a line; lines end with CRLF, or LF alone. */
form_error form_parse_multipart(apr_pool_t *p, const char *content_type, const char *bytes,
                                apr_size_t length, const form_limits *limits, form_callback each,
                                void *baton);

/* For messages: "the form has too many fields". Never NULL. */
const char *form_error_text(form_error e);

#endif
