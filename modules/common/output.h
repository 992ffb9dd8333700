/* SPDX-License-Identifier: Apache-2.0
 * What a script writes: collected, and passed to httpd's filters in few large pieces.
 *
 * A write is one copy; nothing else happens until more than OUTPUT_MOST bytes are held, or the
 * script flushes. What never came to that goes out at the end in one piece, so that httpd can count
 * it and give a Content-Length; until then a script that fails can still be answered by a plain
 * error. An `output` lies where its call lies, and belongs to one thread at a time. */
#ifndef INTERPOOL_OUTPUT_H
#define INTERPOOL_OUTPUT_H

#include <httpd.h>
#include <util_filter.h>

/* Bytes held at most. */
#define OUTPUT_MOST ((apr_size_t)64 * 1024)

typedef struct output {
    request_rec *r;
    ap_filter_rec_t *guard;  /* see length_guard.h */
    apr_size_t bytes;        /* of those in `held`, the ones that were copied */
    int passed;              /* whether something went down the filters */
    int bare;                /* likewise, of a response that has a header only */
    apr_bucket_brigade held; /* what nobody has passed on */
} output;

/* Must be followed by output_end() or output_drop() before the connection goes. */
void output_begin(output *out, request_rec *r, ap_filter_rec_t *guard);

/* Whether the response can still grow: no end was sent, no other request answers instead. */
static inline int output_is_open(const output *out)
{
    return !out->r->next && !out->r->eos_sent;
}

/* Copies; false, and nothing done, when that would be more than OUTPUT_MOST. */
int output_hold(output *out, const char *bytes, apr_size_t length);

/* Adds bytes that stay where they are until output_pass(), which must come next. */
void output_lend(output *out, const char *bytes, apr_size_t length);

/* Adds a request to send all that came before. */
void output_flush(output *out);

/* Empties what is held down the filters; may wait for the client. Nothing held: nothing done.
 * APR_ECONNABORTED when the client is gone, else what a filter said. */
apr_status_t output_pass(output *out);

/* The script is over. OK or DONE: the rest and the end of the response are passed; a response that
 * is complete gets nothing more. Another status answers instead of what is held, which is dropped.
 * Returns what the handler has to return: `status`, or AP_FILTER_ERROR after a log entry when a
 * filter of httpd's failed, or when a complete response (a redirect's, or httpd's own to a broken
 * body) leaves no room for an answer by `status`. A client that has gone is no error. */
int output_end(output *out, int status);

/* Whether the script can't answer by this status any more, since a part of its own answer was sent:
 * what httpd makes of the status would follow that part. An error page takes the place of what a
 * filter still holds; the file that DECLINED leads to does not. */
int output_is_late(const output *out, int status);

/* Forgets what was not passed on, and how long the response was said to be: another answer takes
 * its place, unless the response has begun. */
void output_drop(output *out);

#endif
