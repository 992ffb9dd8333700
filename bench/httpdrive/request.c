/* SPDX-License-Identifier: Apache-2.0
 * Makes the bytes of requests; see request.h. */
#include "request.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Doubles, so that building a request of n bytes takes n steps, not n squared. */
static void buffer_reserve(struct buffer *b, size_t more)
{
    if (b->length + more + 1 > b->room) {
        size_t room = (b->length + more + 1) * 2;
        char *bytes = realloc(b->bytes, room);
        if (!bytes) {
            fputs("httpdrive: HD001: out of memory\n", stderr);
            exit(2);
        }
        b->bytes = bytes;
        b->room = room;
    }
}

void buffer_add(struct buffer *b, const char *bytes, size_t n)
{
    buffer_reserve(b, n);
    if (n)
        memcpy(b->bytes + b->length, bytes, n);
    b->length += n;
    b->bytes[b->length] = '\0';
}

/* Twice through the format: once for its length, once into the room made for it. */
void buffer_print(struct buffer *b, const char *format, ...)
{
    va_list arguments, again;
    int n;

    va_start(arguments, format);
    va_copy(again, arguments);
    n = vsnprintf(NULL, 0, format, arguments);
    buffer_reserve(b, (size_t)n);
    vsnprintf(b->bytes + b->length, (size_t)n + 1, format, again);
    b->length += (size_t)n;
    va_end(again);
    va_end(arguments);
}

/* Piece by piece: the size of standard input is not known beforehand. */
bool buffer_read_file(struct buffer *b, const char *path)
{
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    char piece[16384];
    size_t n;
    int failure;

    if (!file)
        return false;
    buffer_reserve(b, 0);
    b->bytes[b->length] = '\0';
    /* Not by its size beforehand: it may be a pipe. */
    while ((n = fread(piece, 1, sizeof(piece), file)) > 0)
        buffer_add(b, piece, n);
    failure = ferror(file) ? errno : 0;
    if (file != stdin)
        fclose(file);
    errno = failure;
    return failure == 0;
}

/* RFC 4648, with padding. */
static void add_base64(struct buffer *b, const char *text)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *in = (const unsigned char *)text;
    size_t n = strlen(text);

    for (size_t i = 0; i < n; i += 3) {
        unsigned second = i + 1 < n ? in[i + 1] : 0, third = i + 2 < n ? in[i + 2] : 0;
        unsigned bits = (unsigned)in[i] << 16 | second << 8 | third;
        char four[4] = {digits[bits >> 18], digits[bits >> 12 & 63],
                        i + 1 < n ? digits[bits >> 6 & 63] : '=',
                        i + 2 < n ? digits[bits & 63] : '='};
        buffer_add(b, four, sizeof(four));
    }
}

/* "Basic dXNlcjpwYXNz" */
static void add_basic(struct buffer *b, const char *name, const char *user_password)
{
    buffer_print(b, "%s: Basic ", name);
    add_base64(b, user_password);
    buffer_print(b, "\r\n");
}

/* Is this "NAME: VALUE" a header of that name? */
static bool named(const char *header, const char *name)
{
    size_t n = strlen(name);
    return strncasecmp(header, name, n) == 0 && header[n] == ':';
}

/* Adds a header of ours unless the user gave one of that name. */
static void add_default(struct buffer *b, const struct options *o, const char *name,
                        const char *value)
{
    for (size_t i = 0; i < o->headers.count; i++) {
        if (named(o->headers.items[i], name))
            return;
    }
    buffer_print(b, "%s: %s\r\n", name, value);
}

/* All in one header, as RFC 6265 wants it. */
static void add_cookies(struct buffer *b, const struct text_list *cookies)
{
    for (size_t i = 0; i < cookies->count; i++)
        buffer_print(b, "%s%s", i ? "; " : "Cookie: ", cookies->items[i]);
    if (cookies->count)
        buffer_print(b, "\r\n");
}

/* A body of 0 bytes is one too, and says so. */
static void add_body_headers(struct buffer *b, const struct options *o, size_t length)
{
    char number[32];

    snprintf(number, sizeof(number), "%zu", length);
    add_default(b, o, "Content-Length", number);
    add_default(b, o, "Content-Type", o->content_type ? o->content_type : "text/plain");
}

/* Ours first; those of the user replace them by name and follow in their order. */
static void add_headers(struct buffer *b, const struct plan *p)
{
    const struct options *o = &p->options;

    add_default(b, o, "Host", p->authority);
    add_default(b, o, "User-Agent", "httpdrive/" HTTPDRIVE_VERSION);
    add_default(b, o, "Accept", "*/*");
    /* HTTP/1.1 keeps a connection unless told, HTTP/1.0 closes it unless told. */
    if (!o->keepalive) {
        add_default(b, o, "Connection", "close");
    } else if (o->http10) {
        add_default(b, o, "Connection", "Keep-Alive");
    }
    /* -A goes before the user in the URL. */
    if (o->auth || *p->url.userinfo)
        add_basic(b, "Authorization", o->auth ? o->auth : p->url.userinfo);
    /* Through a tunnel the request does not pass the proxy, which has its credentials already. */
    if (o->proxy && o->proxy_auth && !p->tunnel)
        add_basic(b, "Proxy-Authorization", o->proxy_auth);
    add_cookies(b, &o->cookies);
    for (size_t i = 0; i < o->headers.count; i++)
        buffer_print(b, "%s\r\n", o->headers.items[i]);
}

/* Through a plain proxy the request line holds the whole URL (absolute form). */
void request_make(const struct plan *p, struct target *t, const char *path, size_t path_length,
                  const struct buffer *body)
{
    const char *slash = *path == '/' ? "" : "/";
    struct buffer b = {0};

    buffer_print(&b, "%s ", plan_method(p));
    /* Absolute-form (RFC 9112, 3.2.2) */
    if (p->options.proxy && !p->tunnel)
        buffer_print(&b, "http://%s", p->authority);
    buffer_print(&b, "%s%.*s HTTP/1.%d\r\n", slash, (int)path_length, path,
                 p->options.http10 ? 0 : 1);
    add_headers(&b, p);
    if (body)
        add_body_headers(&b, &p->options, body->length);
    buffer_add(&b, "\r\n", 2);
    t->head_length = b.length;
    if (body)
        buffer_add(&b, body->bytes, body->length);
    t->bytes = b.bytes;
    t->length = b.length;
    /* The first buffer is the target's now. */
    b = (struct buffer){0};
    buffer_print(&b, "%s%.*s", slash, (int)path_length, path);
    t->path = b.bytes;
}

/* The port is always named, also when it is the scheme's own (RFC 9110, 9.3.6). */
void request_make_tunnel(struct plan *p)
{
    struct buffer b = {0};
    bool v6 = p->url.literal_v6;

    buffer_print(&b, "CONNECT %s%s%s:%u HTTP/1.1\r\nHost: %s%s%s:%u\r\n", v6 ? "[" : "",
                 p->url.host, v6 ? "]" : "", p->url.port, v6 ? "[" : "", p->url.host, v6 ? "]" : "",
                 p->url.port);
    buffer_print(&b, "User-Agent: httpdrive/" HTTPDRIVE_VERSION "\r\n");
    if (p->options.proxy_auth)
        add_basic(&b, "Proxy-Authorization", p->options.proxy_auth);
    buffer_print(&b, "\r\n");
    p->tunnel = b.bytes;
    p->tunnel_length = b.length;
}
