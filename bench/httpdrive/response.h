/* SPDX-License-Identifier: Apache-2.0
 * Parser of HTTP/1 responses (RFC 9112): a pure function over bytes that may be cut anywhere.
 * It neither reads from a socket nor allocates, and it copies only a line that a cut went through.
 */
#ifndef HTTPDRIVE_RESPONSE_H
#define HTTPDRIVE_RESPONSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is kept of a line that arrives in pieces; longer lines are read over unless they matter. */
#define RESPONSE_LINE       512
#define RESPONSE_HEAD_LIMIT 65536

enum response_state {
    RESPONSE_STATUS_LINE,
    RESPONSE_HEADERS,
    RESPONSE_BODY_LENGTH, /* Content-Length bytes follow */
    RESPONSE_BODY_CLOSE,  /* everything until the connection is closed */
    RESPONSE_CHUNK_SIZE,  /* a line with the size of the next chunk */
    RESPONSE_CHUNK_DATA,
    RESPONSE_CHUNK_END, /* the line end after a chunk */
    RESPONSE_TRAILERS,
    RESPONSE_DONE,
    RESPONSE_FAILED
};

enum response_fault {
    RESPONSE_FINE,
    RESPONSE_BAD_HEAD, /* not HTTP, or a framing header that cannot be trusted */
    RESPONSE_HEAD_TOO_LONG,
    RESPONSE_BAD_CHUNK
};

/* What the caller may want to see while the bytes pass; a NULL is not called. */
struct response_hooks {
    void (*header)(void *baton, const char *name, size_t name_length, const char *value,
                   size_t value_length);
    void (*body)(void *baton, const char *bytes, size_t length);
    void *baton;
};

struct response {
    enum response_state state;
    enum response_fault fault;
    const char *reason; /* of a fault, in words */
    bool head_request;  /* set by the caller: the answer to HEAD or CONNECT has no body */
    bool coded;         /* there was a Transfer-Encoding */
    bool chunked;       /* and chunked was its last member */
    bool close;         /* the connection cannot be used again */
    bool keep_alive;    /* the header said "keep-alive" */
    bool has_length;
    unsigned short status;
    unsigned short interim; /* how many 1xx answers were skipped */
    unsigned char minor;    /* HTTP/1.minor */
    uint64_t length;        /* Content-Length */
    uint64_t body;          /* bytes of content received, without chunk framing */
    uint64_t left;          /* of the body or of the chunk */
    uint32_t head_size;     /* bytes of all heads so far */
    uint16_t kept;          /* bytes in line */
    bool line_cut;          /* the line was longer than RESPONSE_LINE */
    char line[RESPONSE_LINE];
};

/* Makes ready for the next answer. */
void response_start(struct response *r, bool head_request);

/* Takes bytes; returns how many belonged to this answer (fewer than n only when it is complete or
 * faulty). r->state tells what is next. */
size_t response_feed(struct response *r, const char *bytes, size_t n,
                     const struct response_hooks *hooks);

/* The connection was closed. True when that completes the answer. */
bool response_closed(struct response *r);

#endif
