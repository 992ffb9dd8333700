/* SPDX-License-Identifier: Apache-2.0
 * The response that a script is writing. See output.h. */
#include "modules/common/output.h"

#include <string.h>
#include <http_log.h>
#include <http_protocol.h>

#include "modules/common/hot.h"
#include "modules/common/length_guard.h"
#include "modules/common/report.h"

/* Sizes of buffers. Most responses that are small come in one small write: for those the allocator
 * of buckets has pieces of 128 bytes ready. */
#define FIRST_BYTES ((apr_size_t)128)
#define NEXT_BYTES  ((apr_size_t)APR_BUCKET_BUFF_SIZE)

/* Filters move buckets out of a brigade and never keep it, so it needs no pool of its own. */
HOT_PATH void output_begin(output *out, request_rec *r, ap_filter_rec_t *guard)
{
    out->r = r;
    out->guard = guard;
    out->bytes = 0;
    out->passed = out->bare = 0;
    out->held.p = r->pool;
    out->held.bucket_alloc = r->connection->bucket_alloc;
    APR_RING_INIT(&out->held.list, apr_bucket, link);
}

/* Where the last buffer has room, and for how many bytes: 0 when it is full. Every heap bucket that
 * is held was made here. */
static char *room_in(apr_bucket *last, apr_size_t *room)
{
    apr_bucket_heap *heap = last->data;

    *room = heap->alloc_len - (apr_size_t)last->start - last->length;
    return heap->base + last->start + last->length;
}

/* The bucket owns its memory, and says that it is empty until something is copied into it. */
static apr_bucket *add_buffer(output *out, apr_size_t size)
{
    apr_bucket_alloc_t *list = out->held.bucket_alloc;
    char *memory = apr_bucket_alloc(size, list);
    apr_bucket *made = apr_bucket_heap_create(memory, size, apr_bucket_free, list);

    made->length = 0;
    APR_BRIGADE_INSERT_TAIL(&out->held, made);
    return made;
}

HOT_PATH int output_hold(output *out, const char *bytes, apr_size_t length)
{
    apr_bucket *last = APR_BRIGADE_LAST(&out->held);
    int is_first = APR_BRIGADE_EMPTY(&out->held);

    if (length > OUTPUT_MOST - out->bytes)
        return 0;
    out->bytes += length;
    if (is_first || !APR_BUCKET_IS_HEAP(last))
        last = NULL;
    while (length > 0) {
        apr_size_t room = 0;
        char *to = last ? room_in(last, &room) : NULL;

        if (!room) {
            last = add_buffer(out, is_first && length <= FIRST_BYTES ? FIRST_BYTES : NEXT_BYTES);
            continue;
        }
        room = length < room ? length : room;
        memcpy(to, bytes, room);
        last->length += room;
        bytes += room;
        length -= room;
    }
    return 1;
}

void output_lend(output *out, const char *bytes, apr_size_t length)
{
    APR_BRIGADE_INSERT_TAIL(&out->held,
                            apr_bucket_transient_create(bytes, length, out->held.bucket_alloc));
}

void output_flush(output *out)
{
    APR_BRIGADE_INSERT_TAIL(&out->held, apr_bucket_flush_create(out->held.bucket_alloc));
}

static void clear(output *out)
{
    apr_brigade_cleanup(&out->held);
    out->bytes = 0;
}

/* What the filters did not take they have set aside or given up. An empty brigade is not passed:
 * some would take it for the beginning of a response. */
HOT_PATH apr_status_t output_pass(output *out)
{
    apr_status_t rv;

    if (APR_BRIGADE_EMPTY(&out->held))
        return APR_SUCCESS;
    out->passed = 1;
    out->bare |= out->r->header_only || AP_STATUS_IS_HEADER_ONLY(out->r->status);
    length_guard_begin(out->r, out->guard);
    rv = ap_pass_brigade(out->r->output_filters, &out->held);
    clear(out);
    if (rv == APR_SUCCESS && out->r->connection->aborted)
        rv = APR_ECONNABORTED;
    return rv;
}

/* httpd's page would be taken for the next response on this connection. */
COLD_PATH static int answer_by(output *out, int status)
{
    request_rec *r = out->r;

    output_drop(out);
    if (!r->eos_sent || r->main)
        return status;
    ap_log_rerror(__FILE__, __LINE__, APLOG_NO_MODULE, APLOG_INFO, 0, r,
                  "%s: status %d came when the response was complete", r->filename, status);
    return AP_FILTER_ERROR;
}

/* The end in the same brigade as the last bytes is what lets httpd count a small response. */
HOT_PATH int output_end(output *out, int status)
{
    request_rec *r = out->r;
    apr_status_t rv;

    if (status != OK && status != DONE)
        return answer_by(out, status);
    if (!output_is_open(out)) {
        clear(out);
        return status;
    }
    APR_BRIGADE_INSERT_TAIL(&out->held, apr_bucket_eos_create(out->held.bucket_alloc));
    rv = output_pass(out);
    if (rv == APR_SUCCESS || r->connection->aborted)
        return status;
    ap_log_rerror(__FILE__, __LINE__, APLOG_NO_MODULE, APLOG_WARNING, rv, r,
                  "%s: an output filter failed", r->filename);
    return AP_FILTER_ERROR;
}

int output_is_late(const output *out, int status)
{
    const request_rec *r = out->r;

    return status != OK && status != DONE && !r->main && !r->eos_sent &&
           (out->bare || report_response_started(r) || (status == DECLINED && out->passed));
}

void output_drop(output *out)
{
    clear(out);
    length_guard_forget(out->r);
}
