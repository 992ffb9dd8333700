/* SPDX-License-Identifier: Apache-2.0
 * Parser of HTTP/1 responses; see response.h. Lines are looked at in place; only a line that the
 * end of the input cuts is kept until its rest arrives. */
#include "response.h"

#include <string.h>
#include <strings.h>

/* The kept line is not cleared: `kept` says that nothing of it is valid, and 512 bytes for every
 * request would be the most expensive part of this parser. */
void response_start(struct response *r, bool head_request)
{
    memset(r, 0, offsetof(struct response, line));
    r->head_request = head_request;
}

/* `reason` has to be static text. Whatever follows on this connection cannot be trusted. */
static void fail(struct response *r, enum response_fault fault, const char *reason)
{
    r->state = RESPONSE_FAILED;
    r->fault = fault;
    r->reason = reason;
    r->close = true;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* "HTTP/1.1 200 OK"; the reason phrase may be missing. */
static void status_line(struct response *r, const char *line, size_t n)
{
    if (n == 0 && r->head_size <= 2)
        return; /* an empty line before the answer is forgiven (RFC 9112, 2.2) */
    if (n < 12 || memcmp(line, "HTTP/1.", 7) != 0 || !is_digit(line[7]) || line[8] != ' ') {
        fail(r, RESPONSE_BAD_HEAD, "the answer does not begin with HTTP/1.x and a status");
        return;
    }
    if (!is_digit(line[9]) || !is_digit(line[10]) || !is_digit(line[11]) || line[9] == '0' ||
        (n > 12 && line[12] != ' ')) {
        fail(r, RESPONSE_BAD_HEAD, "the status is not three digits");
        return;
    }
    r->minor = (unsigned char)(line[7] - '0');
    r->status = (unsigned short)((line[9] - '0') * 100 + (line[10] - '0') * 10 + (line[11] - '0'));
    /* HTTP/1.0 closes unless the header says otherwise; see head_complete(). */
    r->close = r->minor == 0;
    r->state = RESPONSE_HEADERS;
}

/* One or several equal numbers ("12", "12, 12"). */
static void content_length(struct response *r, const char *value, size_t n)
{
    size_t i = 0;

    do {
        uint64_t length = 0;
        size_t digits = 0;
        while (i < n && is_blank(value[i]))
            i++;
        for (; i < n && is_digit(value[i]); i++, digits++) {
            /* Checked before the multiplication, for any last digit. */
            if (length > (UINT64_MAX - 9) / 10) {
                fail(r, RESPONSE_BAD_HEAD, "Content-Length is too large");
                return;
            }
            length = length * 10 + (uint64_t)(value[i] - '0');
        }
        while (i < n && is_blank(value[i]))
            i++;
        if (digits == 0 || (i < n && value[i] != ',')) {
            fail(r, RESPONSE_BAD_HEAD, "Content-Length is not a number");
            return;
        }
        if (r->has_length && r->length != length) {
            fail(r, RESPONSE_BAD_HEAD, "two different Content-Length");
            return;
        }
        r->has_length = true;
        r->length = length;
    } while (i++ < n);
}

/* Calls `each` for the members of a comma-separated list, without the space around them. */
static void each_member(struct response *r, const char *value, size_t n,
                        void (*each)(struct response *, const char *, size_t))
{
    const char *end = value + n;

    while (value < end) {
        const char *comma = memchr(value, ',', (size_t)(end - value));
        const char *stop = comma ? comma : end, *next = comma ? comma + 1 : end;
        while (value < stop && is_blank(*value))
            value++;
        while (stop > value && is_blank(stop[-1]))
            stop--;
        if (stop > value)
            each(r, value, (size_t)(stop - value));
        value = next;
    }
}

/* Words of headers have no case. */
static bool is_word(const char *text, size_t n, const char *word)
{
    return n == strlen(word) && strncasecmp(text, word, n) == 0;
}

/* "close" wins over "keep-alive" wherever it stands. */
static void connection_member(struct response *r, const char *word, size_t n)
{
    if (is_word(word, n, "close")) {
        r->close = true;
    } else if (is_word(word, n, "keep-alive")) {
        r->keep_alive = true;
    }
}

/* Only a last "chunked" frames the body; after any other coding it ends with the connection. */
static void transfer_member(struct response *r, const char *word, size_t n)
{
    r->coded = true;
    /* A later member takes it back: "chunked, gzip" is framed by the end of the connection. */
    r->chunked = is_word(word, n, "chunked");
}

/* The three headers that say where the answer ends. If the line is longer than what is kept of
 * it, its end, which may be what counts, has not been seen. */
static void known_header(struct response *r, const char *name, size_t length, const char *value,
                         size_t n)
{
    if (length == 14 && strncasecmp(name, "Content-Length", 14) == 0) {
        content_length(r, value, n);
    } else if (length == 10 && strncasecmp(name, "Connection", 10) == 0) {
        each_member(r, value, n, connection_member);
    } else if (length == 17 && strncasecmp(name, "Transfer-Encoding", 17) == 0) {
        each_member(r, value, n, transfer_member);
    } else {
        return;
    }
    if (r->line_cut)
        fail(r, RESPONSE_HEAD_TOO_LONG, "a framing header is too long");
}

static void header_line(struct response *r, const char *line, size_t n,
                        const struct response_hooks *hooks)
{
    const char *colon, *value, *end = line + n;
    size_t length;

    if (is_blank(*line))
        return; /* the continuation of a folded line, which frames nothing */
    /* A blank before the colon is refused (RFC 9112, 5.1): two parsers that differ in what the name
     * is can be played off against each other. */
    colon = memchr(line, ':', n);
    if (!colon || colon == line || is_blank(colon[-1])) {
        if (!r->line_cut)
            fail(r, RESPONSE_BAD_HEAD, "a header line has no name and colon");
        return;
    }
    length = (size_t)(colon - line);
    for (value = colon + 1; value < end && is_blank(*value);)
        value++;
    while (end > value && is_blank(end[-1]))
        end--;
    /* Most lines are told apart from the three that matter by their length alone. */
    if (length == 10 || length == 14 || length == 17)
        known_header(r, line, length, value, (size_t)(end - value));
    if (hooks && hooks->header)
        hooks->header(hooks->baton, line, length, value, (size_t)(end - value));
}

/* The empty line after the headers: what follows? (RFC 9112, 6.3) */
static void head_complete(struct response *r)
{
    /* An interim answer: the final one follows. Its bytes count for the limit of the head, so that
     * a server that sends them for ever is stopped. */
    if (r->status < 200 && r->status != 101) {
        struct response fresh = {.head_request = r->head_request,
                                 .interim = (unsigned short)(r->interim + 1),
                                 .head_size = r->head_size};
        memcpy(r, &fresh, offsetof(struct response, line));
        return;
    }
    if (r->minor == 0 && r->keep_alive)
        r->close = false;
    if (r->status == 101)
        r->close = true; /* what follows is another protocol */
    /* These have no body whatever their headers say; after 101 the rest is not HTTP. */
    if (r->head_request || r->status == 101 || r->status == 204 || r->status == 304) {
        r->state = RESPONSE_DONE;
    } else if (r->chunked) {
        r->state = RESPONSE_CHUNK_SIZE;
    } else if (r->has_length && !r->coded) {
        r->left = r->length;
        r->state = r->left ? RESPONSE_BODY_LENGTH : RESPONSE_DONE;
    } else {
        r->close = true;
        r->state = RESPONSE_BODY_CLOSE;
    }
}

/* Extensions after a semicolon are read over. More than 16 digits would overflow, which the
 * highest four bits tell before each further one. */
static void chunk_size(struct response *r, const char *line, size_t n)
{
    uint64_t size = 0;
    size_t i;

    for (i = 0; i < n; i++) {
        char c = (char)(line[i] | 0x20);
        unsigned digit;
        if (is_digit(line[i])) {
            digit = (unsigned)(line[i] - '0');
        } else if (c >= 'a' && c <= 'f') {
            digit = (unsigned)(c - 'a') + 10;
        } else {
            break;
        }
        if (size >> 60) {
            fail(r, RESPONSE_BAD_CHUNK, "a chunk is too large");
            return;
        }
        size = size * 16 + digit;
    }
    if (i == 0 || (i < n && line[i] != ';' && !is_blank(line[i]))) {
        fail(r, RESPONSE_BAD_CHUNK, "the size of a chunk is not a hexadecimal number");
        return;
    }
    r->left = size;
    r->state = size ? RESPONSE_CHUNK_DATA : RESPONSE_TRAILERS;
}

/* A whole line, without its line end. */
static void take_line(struct response *r, const char *line, size_t n,
                      const struct response_hooks *hooks)
{
    /* A bare line feed is taken too, as RFC 9112, 2.2 allows. */
    if (n && line[n - 1] == '\r')
        n--;
    switch (r->state) {
    case RESPONSE_STATUS_LINE:
        status_line(r, line, n);
        break;
    case RESPONSE_HEADERS:
        if (n == 0) {
            head_complete(r);
        } else {
            header_line(r, line, n, hooks);
        }
        break;
    case RESPONSE_CHUNK_SIZE:
        chunk_size(r, line, n);
        break;
    case RESPONSE_CHUNK_END:
        if (n) {
            /* Where its line end should be */
            fail(r, RESPONSE_BAD_CHUNK, "a chunk is longer than its size");
        } else {
            r->state = RESPONSE_CHUNK_SIZE;
        }
        break;
    case RESPONSE_TRAILERS:
        /* Trailers frame nothing and are not shown to the hooks. */
        if (n == 0)
            r->state = RESPONSE_DONE;
        break;
    default:
        break;
    }
}

/* Appends a piece of a line as far as there is room. */
static void keep(struct response *r, const char *bytes, size_t n)
{
    size_t room = sizeof(r->line) - r->kept;

    if (n > room) {
        r->line_cut = true;
        n = room;
    }
    memcpy(r->line + r->kept, bytes, n);
    r->kept = (uint16_t)(r->kept + n);
}

/* Bytes up to and with the next line end; a line that is not complete is kept. */
static size_t feed_line(struct response *r, const char *bytes, size_t n,
                        const struct response_hooks *hooks)
{
    const char *newline = memchr(bytes, '\n', n);
    size_t used = newline ? (size_t)(newline - bytes) + 1 : n;

    /* Chunk sizes are not counted: a body may have any number of chunks. */
    if (r->state <= RESPONSE_HEADERS || r->state == RESPONSE_TRAILERS) {
        if (used > RESPONSE_HEAD_LIMIT - r->head_size) {
            fail(r, RESPONSE_HEAD_TOO_LONG, "the head is longer than 64 KiB");
            return 0;
        }
        r->head_size += (uint32_t)used;
    }
    /* The usual case: a whole line within the caller's bytes is looked at where it lies. */
    if (newline && r->kept == 0) {
        take_line(r, bytes, used - 1, hooks);
    } else {
        keep(r, bytes, newline ? used - 1 : used);
        if (r->line_cut && r->state >= RESPONSE_CHUNK_SIZE && r->state <= RESPONSE_CHUNK_END) {
            fail(r, RESPONSE_BAD_CHUNK, "the line with the size of a chunk is too long");
        } else if (newline) {
            size_t length = r->kept;
            r->kept = 0;
            take_line(r, r->line, length, hooks);
            r->line_cut = false;
        }
    }
    return used;
}

/* As much of the body, or of the chunk, as is here. Returns how much that was. */
static size_t feed_body(struct response *r, const char *bytes, size_t n,
                        const struct response_hooks *hooks)
{
    if (r->state != RESPONSE_BODY_CLOSE && n > r->left)
        n = (size_t)r->left;
    if (hooks && hooks->body)
        hooks->body(hooks->baton, bytes, n);
    r->body += n;
    if (r->state == RESPONSE_BODY_CLOSE)
        return n;
    r->left -= n;
    if (r->left == 0)
        r->state = r->state == RESPONSE_CHUNK_DATA ? RESPONSE_CHUNK_END : RESPONSE_DONE;
    return n;
}

size_t response_feed(struct response *r, const char *bytes, size_t n,
                     const struct response_hooks *hooks)
{
    size_t used = 0;

    while (used < n && r->state < RESPONSE_DONE) {
        if (r->state == RESPONSE_BODY_LENGTH || r->state == RESPONSE_BODY_CLOSE ||
            r->state == RESPONSE_CHUNK_DATA) {
            used += feed_body(r, bytes + used, n - used, hooks);
        } else {
            used += feed_line(r, bytes + used, n - used, hooks);
        }
    }
    return used;
}

/* Only an answer without length or chunks may end this way. */
bool response_closed(struct response *r)
{
    r->close = true;
    if (r->state == RESPONSE_BODY_CLOSE)
        r->state = RESPONSE_DONE;
    return r->state == RESPONSE_DONE;
}
