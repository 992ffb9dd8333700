/* SPDX-License-Identifier: Apache-2.0
 * Feeds the driver's response parser anything. An input is 'H' when HEAD was asked for (any other
 * byte: GET), a byte that says where the stream is cut, and the bytes a server sent.
 *
 * The stream is parsed whole and again in pieces: both must come to the same answers. */
#include "bench/httpdrive/response.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

/* What the hooks saw, as sums: order counts, places of cuts do not. */
struct seen {
    uint64_t header_sum;
    uint64_t headers;
    uint64_t body_sum;
    uint64_t body;
};

static uint64_t add_up(uint64_t sum, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sum = (sum ^ (unsigned char)bytes[i]) * UINT64_C(0x100000001b3);
    return sum;
}

static void see_header(void *baton, const char *name, size_t name_length, const char *value,
                       size_t value_length)
{
    struct seen *s = baton;

    MUST(name_length > 0);
    s->header_sum = add_up(s->header_sum, name, name_length);
    s->header_sum = add_up(s->header_sum + 1, value, value_length);
    s->headers++;
}

static void see_body(void *baton, const char *bytes, size_t length)
{
    struct seen *s = baton;

    s->body_sum = add_up(s->body_sum, bytes, length);
    s->body += length;
}

/* What response.h promises of an answer, wherever its bytes end. */
static void check(const struct response *r, const struct seen *s)
{
    MUST((r->state == RESPONSE_FAILED) == (r->fault != RESPONSE_FINE));
    MUST((r->fault != RESPONSE_FINE) == (r->reason != NULL));
    MUST(r->body == s->body);
    MUST(r->kept <= RESPONSE_LINE);
    MUST(r->head_size <= RESPONSE_HEAD_LIMIT);
    if (r->state == RESPONSE_FAILED) {
        MUST(r->close);
        return;
    }
    if (r->state > RESPONSE_STATUS_LINE)
        MUST(r->status >= 100 && r->status <= 999);
    if (r->state != RESPONSE_DONE)
        return;
    MUST(r->status >= 200 || r->status == 101);
    if (r->head_request || r->status == 101 || r->status == 204 || r->status == 304) {
        MUST(r->body == 0);
    } else if (!r->coded) {
        MUST(r->has_length && r->body == r->length);
    } else {
        MUST(r->chunked);
    }
}

/* Feeds one answer in pieces, each in a block of its own size so that a sanitizer sees a read
 * beyond it. `cuts` 0: in one piece. Returns how many bytes belonged to it. */
static size_t feed(struct response *r, struct seen *s, const char *bytes, size_t n, unsigned cuts)
{
    const struct response_hooks hooks = {see_header, see_body, s};
    size_t used = 0;

    while (used < n && r->state < RESPONSE_DONE) {
        size_t piece = n - used, taken;
        char *copy;
        if (cuts) {
            cuts = cuts * 1103515245u + 12345u;
            piece = 1 + (cuts >> 16) % (cuts & 0x8000 ? 3 : 40);
            if (piece > n - used)
                piece = n - used;
        }
        copy = malloc(piece);
        MUST(copy);
        memcpy(copy, bytes + used, piece);
        taken = response_feed(r, copy, piece, &hooks);
        free(copy);
        MUST(taken == piece || r->state >= RESPONSE_DONE);
        used += taken;
        check(r, s);
    }
    return used;
}

/* Of a longer line that was cut only the beginning is kept: then cuts may matter. */
static int has_long_line(const char *bytes, size_t n)
{
    size_t length = 0;

    for (size_t i = 0; i < n; i++) {
        length = bytes[i] == '\n' ? 0 : length + 1;
        if (length > RESPONSE_LINE)
            return 1;
    }
    return 0;
}

static void compare(const struct response *a, const struct seen *sa, const struct response *b,
                    const struct seen *sb)
{
    MUST(a->state == b->state && a->fault == b->fault && a->reason == b->reason);
    MUST(a->status == b->status && a->minor == b->minor && a->interim == b->interim);
    MUST(a->close == b->close && a->keep_alive == b->keep_alive);
    MUST(a->has_length == b->has_length && a->length == b->length && a->left == b->left);
    MUST(sa->headers == sb->headers && sa->header_sum == sb->header_sum);
    MUST(sa->body == sb->body && sa->body_sum == sb->body_sum);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    const char *bytes = (const char *)data + 2;
    struct response whole, pieces;
    size_t left;

    if (size < 2)
        return 0;
    /* Answer after answer, as on a connection that is kept. */
    for (left = size - 2; left;) {
        struct seen whole_seen = {0}, pieces_seen = {0};
        size_t used, used_again;
        int same = !has_long_line(bytes, left);

        response_start(&whole, data[0] == 'H');
        response_start(&pieces, data[0] == 'H');
        used = feed(&whole, &whole_seen, bytes, left, 0);
        used_again = feed(&pieces, &pieces_seen, bytes, left, data[1] + 1u);
        if (same) {
            compare(&whole, &whole_seen, &pieces, &pieces_seen);
            MUST(used == used_again);
        }
        if (whole.state != RESPONSE_DONE) {
            int ends = whole.state == RESPONSE_BODY_CLOSE;
            MUST(response_closed(&whole) == ends && whole.close);
            break;
        }
        MUST(response_feed(&whole, "x", 1, NULL) == 0);
        MUST(used > 0);
        bytes += used;
        left -= used;
    }
    return 0;
}
