/* SPDX-License-Identifier: Apache-2.0
 * What happens when a script fails: the log entry and the answer. */
#include "modules/common/report.h"

#include <string.h>
#include <apr_strings.h>
#include <http_log.h>
#include <http_protocol.h>
#include <util_filter.h>

/* httpd cuts a log line at 8192 bytes; this leaves room for what comes before the traceback. */
#define LOGGED_TRACEBACK 6000

int report_response_started(const request_rec *r)
{
    return r->sent_bodyct || r->eos_sent || r->bytes_sent > 0;
}

static const char *skip_blanks(const char *s)
{
    return s + strspn(s, " \t\r\n");
}

/* Copies `text` with each end of line, and the blanks around it, turned into " | ". */
static char *join_lines(apr_pool_t *p, const char *text)
{
    char *joined = apr_palloc(p, 3 * strlen(text) + 1); /* each '\n' becomes three bytes */
    char *to = joined;

    for (text = skip_blanks(text); *text;) {
        apr_size_t length = strcspn(text, "\r\n");

        memcpy(to, text, length);
        to += length;
        text = skip_blanks(text + length);
        if (*text) {
            memcpy(to, " | ", 3);
            to += 3;
        }
    }
    *to = '\0';
    return joined;
}

const char *report_one_line(apr_pool_t *p, const char *traceback, apr_size_t most)
{
    char *line = join_lines(p, traceback);
    apr_size_t length = strlen(line);
    apr_size_t head = most / 2;

    if (length <= most)
        return line;
    return apr_psprintf(p, "%.*s ... %s", (int)head, line, line + length - (most - head));
}

static const char *place(apr_pool_t *p, const failure *f)
{
    if (!f->script)
        return "";
    if (f->line <= 0)
        return apr_pstrcat(p, f->script, ": ", NULL);
    return apr_psprintf(p, "%s:%d: ", f->script, f->line);
}

static void log_failure(request_rec *r, int module_index, const failure *f, int status)
{
    int level = ap_is_HTTP_CLIENT_ERROR(status) ? APLOG_INFO : APLOG_ERR;
    const char *trace = "";

    if (f->traceback && *f->traceback)
        trace = report_one_line(r->pool, f->traceback, LOGGED_TRACEBACK);
    ap_log_rerror(__FILE__, __LINE__, module_index, level, 0, r, "%s: %s%s%s%s", f->tag,
                  place(r->pool, f), f->message, *trace ? " | " : "", trace);
}

/* Nothing may follow what was sent, least of all an end: the client must see that it is cut. The
 * error bucket says so to the filters that make the end (HTTP/2 resets the stream). */
static int cut_response(request_rec *r)
{
    conn_rec *c = r->connection;
    apr_bucket_brigade *bb = apr_brigade_create(r->pool, c->bucket_alloc);

    APR_BRIGADE_INSERT_TAIL(
        bb, ap_bucket_error_create(HTTP_BAD_GATEWAY, NULL, r->pool, c->bucket_alloc));
    ap_pass_brigade(r->proto_output_filters, bb);
    c->keepalive = AP_CONN_CLOSE;
    c->aborted = 1;
    return AP_FILTER_ERROR;
}

/* What a script wrote and set for its own answer must not show in the one about its failure. */
static void forget_response(request_rec *r)
{
    r->output_filters = r->proto_output_filters;
    r->status = HTTP_OK; /* or httpd takes the failure for one of an ErrorDocument */
    r->status_line = NULL;
    r->content_encoding = NULL;
    r->content_languages = NULL;
    apr_table_clear(r->headers_out);
}

static int show_failure(request_rec *r, const failure *f, int status)
{
    apr_pool_t *p = r->pool;

    r->status = status;
    r->no_cache = 1;
    ap_set_content_type(r, "text/html; charset=utf-8");
    ap_rvputs(r, "<!DOCTYPE html>\n<html><head><title>Script error</title></head><body>\n<h1>",
              ap_escape_html(p, ap_get_status_line(status)), "</h1>\n<p>",
              ap_escape_html(p, apr_pstrcat(p, f->tag, ": ", place(p, f), f->message, NULL)),
              "</p>\n", NULL);
    if (f->traceback && *f->traceback)
        ap_rvputs(r, "<pre>", ap_escape_html(p, f->traceback), "</pre>\n", NULL);
    ap_rputs("</body></html>\n", r);
    return OK;
}

int report_failure(request_rec *r, int module_index, const failure *f, int show_details)
{
    int status = f->status ? f->status : HTTP_INTERNAL_SERVER_ERROR;

    log_failure(r, module_index, f, status);
    if (r->main)
        return status; /* the page that includes this one decides what to show */
    if (r->eos_sent)
        return AP_FILTER_ERROR; /* the server has answered, for example to a malformed body */
    if (f->begun || report_response_started(r))
        return cut_response(r);
    forget_response(r);
    return show_details ? show_failure(r, f, status) : status;
}
