/* SPDX-License-Identifier: Apache-2.0
 * The driver's response parser: every case whole, byte by byte, and cut at every place. */
#include "bench/httpdrive/response.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

struct expectation {
    const char *bytes;
    bool head_request, closes; /* closes: the stream ends after the bytes */
    enum response_state state;
    enum response_fault fault;
    unsigned status;
    const char *body;
    bool close;
    unsigned interim;
};

#define DONE    RESPONSE_DONE
#define FAILED  RESPONSE_FAILED
#define CHUNKED "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

static const struct expectation cases[] = {
    {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 0, 0, DONE, 0, 200, "hello", false, 0},
    {"HTTP/1.1 200\nCONTENT-LENGTH:5\n\nhello", 0, 0, DONE, 0, 200, "hello", false, 0},
    {"\r\nHTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n", 0, 0, DONE, 0, 404, "", false, 0},
    {CHUNKED "5\r\nhello\r\n1;a=b\r\n!\r\n0\r\n\r\n", 0, 0, DONE, 0, 200, "hello!", false, 0},
    {CHUNKED "00000a \r\n0123456789\r\n0\r\nX: y\r\nZ: 1\r\n\r\n", 0, 0, DONE, 0, 200, "0123456789",
     false, 0},
    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, CHUNKED\r\nContent-Length: "
     "9\r\n\r\n1\r\na\r\n0\r\n\r\n",
     0, 0, DONE, 0, 200, "a", false, 0},
    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\nContent-Length: 1\r\n\r\nabc", 0, 1, DONE, 0,
     200, "abc", true, 0},
    {"HTTP/1.1 101 Switching Protocols\r\n\r\n", 0, 0, DONE, 0, 101, "", true, 0},
    {"HTTP/1.1 204 No Content\r\n\r\n", 0, 0, DONE, 0, 204, "", false, 0},
    {"HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n", 0, 0, DONE, 0, 304, "", false, 0},
    {"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n", 1, 0, DONE, 0, 200, "", false, 0},
    {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nContent-Length: 7\r\n\r\n"
     "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
     0, 0, DONE, 0, 200, "ok", false, 2},
    {"HTTP/1.1 200 OK\r\n\r\nuntil the end", 0, 1, DONE, 0, 200, "until the end", true, 0},
    {"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", 0, 0, DONE, 0, 200, "ok", true, 0},
    {"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 2\r\n\r\nok", 0, 0, DONE, 0, 200,
     "ok", false, 0},
    {"HTTP/1.1 200 OK\r\nConnection: x, close\r\nContent-Length: 2\r\n\r\nok", 0, 0, DONE, 0, 200,
     "ok", true, 0},
    {"HTTP/1.1 200 OK\r\nX-Connection: close\r\nX-Note: close\r\nContent-Length: 2\r\n\r\nok", 0, 0,
     DONE, 0, 200, "ok", false, 0},
    {"HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\nContent-Length: 2\r\n\r\nok", 0, 0, DONE, 0, 200,
     "ok", false, 0},
    {"HTTP/1.1 200 OK\r\nX: a\r\n folded: no header\r\nContent-Length: 2\r\n\r\nok", 0, 0, DONE, 0,
     200, "ok", false, 0},
    {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort", 0, 1, RESPONSE_BODY_LENGTH, 0, 200,
     "short", true, 0},
    {CHUNKED "9\r\nshort", 0, 1, RESPONSE_CHUNK_DATA, 0, 200, "short", true, 0},
    {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n", 0, 0, FAILED,
     RESPONSE_BAD_HEAD, 200, "", true, 0},
    {"HTTP/1.1 200 OK\r\nContent-Length: -2\r\n", 0, 0, FAILED, RESPONSE_BAD_HEAD, 200, "", true,
     0},
    {"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n", 0, 0, FAILED, RESPONSE_BAD_HEAD,
     200, "", true, 0},
    {"HTTP/1.1 200 OK\r\nContent-Length:\r\n", 0, 0, FAILED, RESPONSE_BAD_HEAD, 200, "", true, 0},
    {"HTTP/1.1 200 OK\r\nno colon\r\n", 0, 0, FAILED, RESPONSE_BAD_HEAD, 200, "", true, 0},
    {"HTTP/1.1 200 OK\r\nContent-Length : 2\r\n", 0, 0, FAILED, RESPONSE_BAD_HEAD, 200, "", true,
     0},
    {"HTTP/2 200\r\n", 0, 0, FAILED, RESPONSE_BAD_HEAD, 0, "", true, 0},
    {"HTTP/1.1 2000 OK\r\n", 0, 0, FAILED, RESPONSE_BAD_HEAD, 0, "", true, 0},
    {"HTTP/1.1 099 OK\r\n", 0, 0, FAILED, RESPONSE_BAD_HEAD, 0, "", true, 0},
    {"SSH-2.0-OpenSSH\r\n", 0, 0, FAILED, RESPONSE_BAD_HEAD, 0, "", true, 0},
    {CHUNKED "x\r\n", 0, 0, FAILED, RESPONSE_BAD_CHUNK, 200, "", true, 0},
    {CHUNKED "2\r\nabc\r\n", 0, 0, FAILED, RESPONSE_BAD_CHUNK, 200, "ab", true, 0},
    {CHUNKED "ffffffffffffffffff\r\n", 0, 0, FAILED, RESPONSE_BAD_CHUNK, 200, "", true, 0},
};

struct collected {
    char body[256];
    size_t length;
};

static void collect(void *baton, const char *bytes, size_t n)
{
    struct collected *c = baton;

    assert_true(c->length + n < sizeof(c->body));
    memcpy(c->body + c->length, bytes, n);
    c->length += n;
}

/* Feeds n bytes that lie at the very end of their memory, so that a sanitizer sees a step beyond.
 */
static size_t feed(struct response *r, const char *bytes, size_t n, const struct response_hooks *h)
{
    char *copy = malloc(n ? n : 1);
    size_t used;

    memcpy(copy, bytes, n);
    used = response_feed(r, copy, n, h);
    free(copy);
    return used;
}

static void check(const struct expectation *e, size_t first, size_t step)
{
    struct collected c = {.length = 0};
    struct response_hooks hooks = {NULL, collect, &c};
    struct response r;
    size_t n = strlen(e->bytes), at = 0;

    response_start(&r, e->head_request);
    while (at < n && r.state < RESPONSE_DONE) {
        size_t piece = at == 0 && first ? first : step;
        piece = piece > n - at ? n - at : piece;
        at += feed(&r, e->bytes + at, piece, &hooks);
    }
    if (e->closes)
        response_closed(&r);
    if (r.state != e->state || (r.state != RESPONSE_FAILED && at != n))
        print_error("state %d after %zu bytes of: %s\n", r.state, at, e->bytes);
    assert_int_equal(r.state, e->state);
    assert_int_equal(r.fault, e->fault);
    assert_int_equal(r.status, e->status);
    assert_int_equal(r.close, e->close);
    assert_int_equal(r.interim, e->interim);
    assert_int_equal(c.length, strlen(e->body));
    assert_memory_equal(c.body, e->body, c.length);
    assert_int_equal(r.body, c.length);
}

static void reads_every_case_whole(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        check(&cases[i], 0, 1000);
}

static void reads_every_case_byte_by_byte(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        check(&cases[i], 0, 1);
}

static void reads_every_case_cut_anywhere(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        for (size_t cut = 1; cut < strlen(cases[i].bytes); cut++)
            check(&cases[i], cut, 1000);
    }
}

static void leaves_what_follows_the_answer(void **state)
{
    static const char bytes[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 ";
    struct response r;

    (void)state;
    response_start(&r, false);
    assert_int_equal(response_feed(&r, bytes, sizeof(bytes) - 1, NULL), sizeof(bytes) - 1 - 9);
    assert_int_equal(r.state, RESPONSE_DONE);
}

static void shows_header_lines(void *baton, const char *name, size_t name_length, const char *value,
                               size_t value_length)
{
    char *seen = baton;

    strncat(seen, name, name_length);
    strcat(seen, "=");
    strncat(seen, value, value_length);
    strcat(seen, ";");
}

static void shows_headers_without_space_around_values(void **state)
{
    static const char bytes[] = "HTTP/1.1 200 OK\r\nA:1\r\nBc: \t two words \t\r\nD:\r\n\r\n";
    char seen[200];
    struct response_hooks hooks = {shows_header_lines, NULL, seen};
    struct response r;

    (void)state;
    for (size_t step = 1; step < sizeof(bytes); step++) {
        seen[0] = '\0';
        response_start(&r, true);
        for (size_t at = 0; at < sizeof(bytes) - 1; at += step)
            feed(&r, bytes + at, at + step < sizeof(bytes) ? step : sizeof(bytes) - 1 - at, &hooks);
        assert_int_equal(r.state, RESPONSE_DONE);
        assert_string_equal(seen, "A=1;Bc=two words;D=;");
    }
}

static void reads_over_long_lines_that_frame_nothing(void **state)
{
    char bytes[6000] = "HTTP/1.1 200 OK\r\nSet-Cookie: ";
    struct response r;

    (void)state;
    memset(bytes + strlen(bytes), 'x', 5000);
    strcat(bytes, "\r\nContent-Length: 2\r\n\r\nok");
    for (size_t step = 1; step < 700; step += 69) {
        size_t n = strlen(bytes);
        response_start(&r, false);
        for (size_t at = 0; at < n; at += step)
            feed(&r, bytes + at, at + step < n ? step : n - at, NULL);
        assert_int_equal(r.state, RESPONSE_DONE);
        assert_int_equal(r.body, 2);
    }
}

static void refuses_an_endless_head(void **state)
{
    static char line[1024];
    struct response r;
    size_t sent = 0;

    (void)state;
    memset(line, 'x', sizeof(line));
    memcpy(line, "X: ", 3);
    line[sizeof(line) - 1] = '\n';
    response_start(&r, false);
    response_feed(&r, "HTTP/1.1 200 OK\n", 16, NULL);
    while (r.state != RESPONSE_FAILED && sent < 1000000)
        sent += response_feed(&r, line, sizeof(line), NULL);
    assert_int_equal(r.fault, RESPONSE_HEAD_TOO_LONG);
    assert_true(sent <= RESPONSE_HEAD_LIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_every_case_whole),
        cmocka_unit_test(reads_every_case_byte_by_byte),
        cmocka_unit_test(reads_every_case_cut_anywhere),
        cmocka_unit_test(leaves_what_follows_the_answer),
        cmocka_unit_test(shows_headers_without_space_around_values),
        cmocka_unit_test(reads_over_long_lines_that_frame_nothing),
        cmocka_unit_test(refuses_an_endless_head),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
