/* SPDX-License-Identifier: Apache-2.0
 * Reading the body of a request through its input filters.
 *
 * What a filter delivered beyond what was asked for stays in the reader's brigade for the next
 * call. The block that holds a whole body or a line is malloc's, so that a large one can be given
 * back before the request ends. */
#include "modules/common/body.h"

#include <stdlib.h>
#include <string.h>
#include <http_core.h>
#include <http_protocol.h>
#include <util_filter.h>

#define READ_SIZE   32768
#define FIRST_BLOCK 4096

struct body_reader {
    request_rec *r;
    apr_bucket_brigade *bb; /* delivered, not yet taken */
    apr_off_t limit;        /* 0: none */
    apr_off_t taken;        /* bytes handed out */
    int ended;              /* the end has been delivered */
    const watch *deadline;  /* NULL: none */
    body_error error;
    char *block;
    apr_size_t used;     /* of the block */
    apr_size_t capacity; /* of the block, without its NUL */
};

void body_close(body_reader *b)
{
    free(b->block);
    b->block = NULL;
    b->used = b->capacity = 0;
}

static apr_status_t close_with_request(void *b)
{
    body_close(b);
    return APR_SUCCESS;
}

/* From here on the connection can't be used for another request: the rest of the body is unread. */
static body_error fail(body_reader *b, body_error error)
{
    b->error = error;
    b->r->connection->keepalive = AP_CONN_CLOSE;
    return error;
}

static apr_off_t announced_length(const request_rec *r)
{
    const char *text = apr_table_get(r->headers_in, "Content-Length");
    apr_off_t length;

    if (!text || apr_table_get(r->headers_in, "Transfer-Encoding") ||
        !ap_parse_strict_length(&length, text))
        return 0;
    return length;
}

body_reader *body_open(request_rec *r, apr_off_t limit)
{
    body_reader *b = apr_pcalloc(r->pool, sizeof(*b));

    b->r = r;
    b->limit = limit;
    b->bb = apr_brigade_create(r->pool, r->connection->bucket_alloc);
    apr_pool_cleanup_register(r->pool, b, close_with_request, apr_pool_cleanup_null);
    if (limit > 0 && announced_length(r) > limit)
        fail(b, BODY_TOO_LARGE);
    return b;
}

void body_set_watch(body_reader *b, const watch *w)
{
    b->deadline = w;
}

int body_expected(const request_rec *r)
{
    const char *length = apr_table_get(r->headers_in, "Content-Length");

    return apr_table_get(r->headers_in, "Transfer-Encoding") || (length && strcmp(length, "0"));
}

static body_error error_of_status(int status)
{
    switch (status) {
    case HTTP_REQUEST_ENTITY_TOO_LARGE:
        return BODY_TOO_LARGE;
    case HTTP_REQUEST_TIME_OUT:
        return BODY_TIMEOUT;
    case HTTP_BAD_REQUEST:
    case HTTP_NOT_IMPLEMENTED:
        return BODY_BAD_FRAMING;
    default:
        return BODY_FAILED;
    }
}

/* With AP_FILTER_ERROR the server has already answered, with the status that is in the request. */
static body_error error_of(const request_rec *r, apr_status_t rv)
{
    if (rv == AP_FILTER_ERROR)
        return error_of_status(r->status);
    if (APR_STATUS_IS_TIMEUP(rv))
        return BODY_TIMEOUT;
    if (rv == APR_ENOSPC)
        return BODY_TOO_LARGE;
    if (rv == APR_EINVAL || rv == APR_ENOTIMPL)
        return BODY_BAD_FRAMING;
    if (rv == APR_INCOMPLETE || APR_STATUS_IS_EOF(rv) || APR_STATUS_IS_ECONNRESET(rv) ||
        APR_STATUS_IS_ECONNABORTED(rv) || APR_STATUS_IS_EPIPE(rv) || r->connection->aborted)
        return BODY_TRUNCATED;
    return BODY_FAILED;
}

/* When a body is malformed or larger than LimitRequestBody, httpd's own filter ends the response
 * with an error. Once a response has begun nothing but that end tells: the call succeeds, and the
 * brigade holds what the filter choked on as if it were data. */
static body_error error_of_ended_response(const body_reader *b)
{
    apr_off_t most = ap_get_limit_req_body(b->r);
    apr_off_t length = 0;

    apr_brigade_length(b->bb, 0, &length);
    return most > 0 && b->taken + length > most ? BODY_TOO_LARGE : BODY_BAD_FRAMING;
}

/* Gets more into the empty brigade. A filter that returns nothing where it should block has failed.
 */
static body_error fetch(body_reader *b, apr_size_t wanted)
{
    request_rec *r = b->r;
    int ended_before = r->eos_sent;
    apr_status_t rv;

    if (b->deadline && watch_overdue(b->deadline))
        return fail(b, BODY_TIMEOUT);
    if (b->limit > 0 && (apr_off_t)wanted > b->limit - b->taken)
        wanted = b->limit - b->taken + 1; /* one more tells whether there is too much */
    rv = ap_get_brigade(r->input_filters, b->bb, AP_MODE_READBYTES, APR_BLOCK_READ, wanted);
    if (rv != APR_SUCCESS)
        return fail(b, error_of(r, rv));
    if (r->eos_sent && !ended_before)
        return fail(b, error_of_ended_response(b));
    if (APR_BRIGADE_EMPTY(b->bb))
        return fail(b, BODY_FAILED);
    return BODY_OK;
}

/* The next bytes that lie in one piece; *length 0 at the end. They are taken with take(). */
static body_error peek(body_reader *b, apr_size_t wanted, const char **bytes, apr_size_t *length)
{
    *length = 0;
    while (!b->error && !b->ended && *length == 0) {
        apr_bucket *e = APR_BRIGADE_FIRST(b->bb);
        apr_status_t rv = APR_SUCCESS;

        if (e == APR_BRIGADE_SENTINEL(b->bb)) {
            fetch(b, wanted);
            continue;
        }
        if (APR_BUCKET_IS_EOS(e))
            b->ended = 1;
        else if (AP_BUCKET_IS_ERROR(e))
            fail(b, error_of_status(((ap_bucket_error *)e->data)->status));
        else if (!APR_BUCKET_IS_METADATA(e))
            rv = apr_bucket_read(e, bytes, length, APR_BLOCK_READ);
        if (rv != APR_SUCCESS)
            fail(b, error_of(b->r, rv));
        else if (*length == 0)
            apr_bucket_delete(e);
    }
    if (!b->error && b->limit > 0 && (apr_off_t)*length > b->limit - b->taken)
        fail(b, BODY_TOO_LARGE);
    return b->error;
}

/* Removes `length` bytes of what peek showed. */
static void take(body_reader *b, apr_size_t length)
{
    apr_bucket *e = APR_BRIGADE_FIRST(b->bb);

    if (length < e->length)
        apr_bucket_split(e, length);
    apr_bucket_delete(e);
    b->taken += length;
}

body_error body_read(body_reader *b, char *buffer, apr_size_t *length)
{
    apr_size_t wanted = *length;

    for (*length = 0; *length < wanted;) {
        const char *bytes;
        apr_size_t n;

        if (peek(b, wanted - *length, &bytes, &n) != BODY_OK)
            return b->error;
        if (n == 0)
            break;
        if (n > wanted - *length)
            n = wanted - *length;
        memcpy(buffer + *length, bytes, n);
        *length += n;
        take(b, n);
    }
    return b->error;
}

/* Appends to the block, which at least doubles when it is full. */
static body_error append(body_reader *b, const char *bytes, apr_size_t length)
{
    if (!b->block || length > b->capacity - b->used) {
        apr_size_t capacity = b->capacity ? b->capacity : FIRST_BLOCK;
        char *block;

        while (capacity - b->used < length)
            capacity *= 2;
        block = realloc(b->block, capacity + 1);
        if (!block)
            return fail(b, BODY_FAILED);
        b->block = block;
        b->capacity = capacity;
    }
    memcpy(b->block + b->used, bytes, length);
    b->used += length;
    return BODY_OK;
}

/* How much of the bytes belongs to a line of at most `most` bytes; *complete when it ends there. */
static apr_size_t line_part(const char *bytes, apr_size_t length, apr_size_t most, int *complete)
{
    const char *newline;

    if (length >= most) {
        length = most;
        *complete = 1;
    }
    newline = memchr(bytes, '\n', length);
    if (newline) {
        length = newline - bytes + 1;
        *complete = 1;
    }
    return length;
}

body_error body_read_line(body_reader *b, apr_size_t most, const char **line, apr_size_t *length)
{
    int complete = 0;

    if (most == 0)
        most = APR_SIZE_MAX;
    for (b->used = 0; !complete;) {
        const char *bytes;
        apr_size_t n;

        if (peek(b, READ_SIZE, &bytes, &n) != BODY_OK)
            return b->error;
        if (n == 0)
            break;
        n = line_part(bytes, n, most - b->used, &complete);
        if (append(b, bytes, n) != BODY_OK)
            return b->error;
        take(b, n);
    }
    *line = b->used ? b->block : "";
    *length = b->used;
    return b->error;
}

body_error body_read_all(body_reader *b, char **bytes, apr_size_t *length)
{
    const char *piece;
    apr_size_t n;

    b->used = 0;
    if (append(b, "", 0) != BODY_OK)
        return b->error;
    for (;;) {
        if (peek(b, READ_SIZE, &piece, &n) != BODY_OK)
            return b->error;
        if (n == 0)
            break;
        if (append(b, piece, n) != BODY_OK)
            return b->error;
        take(b, n);
    }
    b->block[b->used] = '\0';
    *bytes = b->block;
    *length = b->used;
    return BODY_OK;
}

const char *body_error_text(body_error e)
{
    switch (e) {
    case BODY_OK:
        return "no error";
    case BODY_TOO_LARGE:
        return "the request body is larger than the limit";
    case BODY_TRUNCATED:
        return "the request body ended before its announced length";
    case BODY_TIMEOUT:
        return "the request body did not arrive in time";
    case BODY_BAD_FRAMING:
        return "the request body is malformed";
    case BODY_FAILED:
        break;
    }
    return "the request body could not be read";
}

int body_error_status(body_error e)
{
    switch (e) {
    case BODY_OK:
        return HTTP_OK;
    case BODY_TOO_LARGE:
        return HTTP_REQUEST_ENTITY_TOO_LARGE;
    case BODY_TRUNCATED:
    case BODY_BAD_FRAMING:
        return HTTP_BAD_REQUEST;
    case BODY_TIMEOUT:
        return HTTP_REQUEST_TIME_OUT;
    case BODY_FAILED:
        break;
    }
    return HTTP_INTERNAL_SERVER_ERROR;
}
