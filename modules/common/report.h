/* SPDX-License-Identifier: Apache-2.0
 * What happens when a script fails: one entry in the error log, a plain error page for the client.
 *
 * It decides the log's format and what the client may see. Getting message, line and traceback out
 * of an interpreter is the modules' work. */
#ifndef INTERPOOL_REPORT_H
#define INTERPOOL_REPORT_H

#include <httpd.h>

typedef enum {
    FAILURE_NONE = 0,
    FAILURE_SCRIPT, /* the script's fault; the interpreter is as good as before */
    FAILURE_FATAL   /* the interpreter must not be used again */
} failure_kind;

/* All strings are the caller's, read during the call only; any but `tag` and `message` may be NULL.
 */
typedef struct failure {
    failure_kind kind;
    int status;            /* the answer: 500, 503, 413, ...; 0 means 500 */
    const char *tag;       /* stable, without a colon: "LP001" */
    const char *script;    /* the file where it happened */
    int line;              /* in `script`; 0: not known */
    const char *message;   /* one line, bytes of any kind (httpd escapes what is not printable) */
    const char *traceback; /* lines separated by '\n' */
    int begun;             /* a response went out that httpd does not count: one without a body */
} failure;

/* Reports `f` once, and answers; returns what the handler has to return.
 *
 * Log: one entry at level error (info when the answer is a 4xx) under the caller's module, so that
 * `LogLevel luapool:...` reaches it: "LP001: /srv/hello.lua:3: message | traceback line | ...".
 * httpd would write a newline as the two characters \n; the lines of a traceback are joined with
 * " | " instead. The middle of an overlong traceback is left out, its ends (where the fault and the
 * entry point are) are kept.
 *
 * Client: nothing sent yet: what a script left buffered is dropped and the status is returned, so
 * that httpd's own page or the ErrorDocument answers. With `show_details` (the administrator asked
 * for it) the answer is a page with the message and traceback, HTML-escaped. Once a response is on
 * its way nothing is added to it: the connection is cut, so that the client sees that it is
 * incomplete. `module_index` is APLOG_MODULE_INDEX of the calling file. */
int report_failure(request_rec *r, int module_index, const failure *f, int show_details);

/* Whether a part of the response has left towards the client (its status can't change any more). */
int report_response_started(const request_rec *r);

/* `traceback` in one line, as in the log, at most about `most` bytes; in pool `p`. */
const char *report_one_line(apr_pool_t *p, const char *traceback, apr_size_t most);

#endif
