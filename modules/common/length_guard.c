/* SPDX-License-Identifier: Apache-2.0
 * A filter that counts a response. See length_guard.h. */
#include "modules/common/length_guard.h"

#include <http_log.h>
#include <http_protocol.h>

#include "modules/common/hot.h"
#include "modules/common/report.h"

typedef struct length_count {
    int begun;
    int surplus;    /* there was more than announced */
    apr_off_t left; /* bytes that may still come */
} length_count;

static void unset(request_rec *r, const char *name)
{
    apr_table_unset(r->headers_out, name);
    apr_table_unset(r->err_headers_out, name);
}

/* The length that will be sent: that of the header, as it is now that all content filters ran. -1:
 * none. */
static apr_off_t announced(request_rec *r)
{
    const char *text = apr_table_get(r->headers_out, "Content-Length");
    apr_off_t length = -1;

    if (text && !ap_parse_strict_length(&length, text))
        length = -1;
    unset(r, "Content-Length");
    if (length >= 0)
        ap_set_content_length(r, length); /* once, whatever stood there */
    return length;
}

/* Takes a bucket into account; removes what is more than was announced. */
static apr_status_t count(length_count *counted, apr_bucket *e)
{
    const char *bytes;
    apr_size_t length = e->length;
    apr_status_t rv = APR_SUCCESS;

    if (length == (apr_size_t)-1)
        rv = apr_bucket_read(e, &bytes, &length, APR_BLOCK_READ);
    if (rv == APR_SUCCESS && (apr_off_t)length > counted->left) {
        counted->surplus = 1;
        length = (apr_size_t)counted->left;
        rv = apr_bucket_split(e, length);
        if (rv == APR_SUCCESS)
            apr_bucket_delete(APR_BUCKET_NEXT(e));
    }
    counted->left -= (apr_off_t)length;
    return rv;
}

static void end(request_rec *r, const length_count *counted)
{
    if (!counted->left && !counted->surplus)
        return;
    r->connection->keepalive = AP_CONN_CLOSE;
    ap_log_rerror(__FILE__, __LINE__, APLOG_NO_MODULE, APLOG_WARNING, 0, r,
                  "%s: what it writes is %s than its Content-Length", r->filename,
                  counted->surplus ? "longer" : "shorter");
}

static apr_status_t guard(ap_filter_t *f, apr_bucket_brigade *bb)
{
    length_count *counted = f->ctx;
    request_rec *r = f->r;
    apr_status_t rv = APR_SUCCESS;

    if (!counted->begun) {
        counted->begun = 1;
        counted->left = r->header_only || AP_STATUS_IS_HEADER_ONLY(r->status) ||
                                (!APR_BRIGADE_EMPTY(bb) && APR_BUCKET_IS_EOS(APR_BRIGADE_LAST(bb)))
                            ? -1
                            : announced(r);
    }
    if (counted->left < 0) {
        ap_remove_output_filter(f);
        return ap_pass_brigade(f->next, bb);
    }
    for (apr_bucket *e = APR_BRIGADE_FIRST(bb); e != APR_BRIGADE_SENTINEL(bb) && rv == APR_SUCCESS;
         e = APR_BUCKET_NEXT(e)) {
        if (APR_BUCKET_IS_EOS(e))
            end(r, counted);
        else if (!APR_BUCKET_IS_METADATA(e))
            rv = count(counted, e);
    }
    return rv == APR_SUCCESS ? ap_pass_brigade(f->next, bb) : rv;
}

ap_filter_rec_t *length_guard_register(const char *name)
{
    return ap_register_output_filter(name, guard, NULL, AP_FTYPE_CONTENT_SET + 5);
}

/* Whether the header is this request's affair, and has not been sent. */
static int is_to_come(const request_rec *r)
{
    return !r->main && !report_response_started(r);
}

/* The usual case: nothing was set. */
static int is_bare(const request_rec *r)
{
    return apr_is_empty_table(r->headers_out) && apr_is_empty_table(r->err_headers_out);
}

HOT_PATH void length_guard_begin(request_rec *r, ap_filter_rec_t *filter)
{
    ap_filter_t *f;

    if (is_bare(r) || !is_to_come(r))
        return;
    unset(r, "Transfer-Encoding");
    if (!apr_table_get(r->headers_out, "Content-Length") &&
        !apr_table_get(r->err_headers_out, "Content-Length"))
        return;
    for (f = r->output_filters; f; f = f->next)
        if (f->frec == filter)
            return;
    ap_add_output_filter_handle(filter, apr_pcalloc(r->pool, sizeof(length_count)), r,
                                r->connection);
}

void length_guard_forget(request_rec *r)
{
    if (is_bare(r) || !is_to_come(r))
        return;
    unset(r, "Transfer-Encoding");
    unset(r, "Content-Length");
}
