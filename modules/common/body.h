/* SPDX-License-Identifier: Apache-2.0
 * Reading the body of a request: whole, by pieces, by lines; whatever the method or the framing.
 *
 * It decides limits and names what went wrong: no body is not a truncated one. It knows nothing of
 * scripts. The calls block on the client, so callers give up an interpreter's lock around them.
 * A reader belongs to one request and is used by one thread at a time. */
#ifndef INTERPOOL_BODY_H
#define INTERPOOL_BODY_H

#include <httpd.h>

#include "modules/common/watchdog.h"

typedef enum {
    BODY_OK = 0,
    BODY_TOO_LARGE,   /* more than the limit given here or LimitRequestBody */
    BODY_TRUNCATED,   /* the client went away, or ended the body before its announced length */
    BODY_TIMEOUT,     /* the client was too slow (Timeout, RequestReadTimeout) */
    BODY_BAD_FRAMING, /* malformed chunked coding, or a Transfer-Encoding that is not known */
    BODY_FAILED       /* an input filter or memory failed */
} body_error;

typedef struct body_reader body_reader;

/* Lives as long as r->pool. `limit`: bytes over all reads; 0: no limit but LimitRequestBody. No
 * byte is read yet (a client that sent Expect: 100-continue goes on waiting until the first read,
 * and never sends a body whose announced length is beyond the limit). */
body_reader *body_open(request_rec *r, apr_off_t limit);

/* Once the watch is overdue, reading gives BODY_TIMEOUT instead of waiting for more: a client that
 * sends a little now and then would never meet a time limit otherwise. NULL: no such limit. */
void body_set_watch(body_reader *b, const watch *w);

/* Reads up to *length bytes into `buffer`, blocking until there are that many or the body ends;
 * *length 0 is its end. After an error every call gives that error again, with what came before the
 * error lost to the caller. */
body_error body_read(body_reader *b, char *buffer, apr_size_t *length);

/* The next line with its '\n', if it has one, or its first `most` bytes (0: no bound but the body's
 * limit). *length 0: the end. *line is valid until the next call with this reader. */
body_error body_read_line(body_reader *b, apr_size_t most, const char **line, apr_size_t *length);

/* All that is left, in one piece followed by an uncounted NUL; valid until body_close. Memory grows
 * with the bytes that arrive, never with what a header announces. */
body_error body_read_all(body_reader *b, char **bytes, apr_size_t *length);

/* Frees what body_read_all and body_read_line hold, before the request ends. */
void body_close(body_reader *b);

/* Whether a request announces a body (Content-Length above 0, or chunked). */
int body_expected(const request_rec *r);

/* For messages: "the request body is larger than the limit". And the status that answers it: 413,
 * 400, 408, 500. */
const char *body_error_text(body_error e);
int body_error_status(body_error e);

#endif
