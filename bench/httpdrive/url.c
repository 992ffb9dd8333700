/* SPDX-License-Identifier: Apache-2.0
 * URL parser of the driver; see url.h. */
#include "url.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

struct reader {
    const char *at;
    char *error;
    size_t error_size;
};

/* Always false, so that a reader can return it. */
static bool __attribute__((format(printf, 2, 3))) refuse(struct reader *in, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(in->error, in->error_size, format, arguments);
    va_end(arguments);
    return false;
}

/* `what` names the part in the message when it does not fit. */
static bool copy_span(struct reader *in, char *out, size_t size, const char *from, size_t length,
                      const char *what)
{
    if (length >= size)
        return refuse(in, "the %s is longer than %zu characters", what, size - 1);
    memcpy(out, from, length);
    out[length] = '\0';
    return true;
}

/* 0 to 15, or -1. */
static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* %41 becomes A, in place. */
static void percent_decode(char *text)
{
    char *out = text;

    for (; *text; text++) {
        int high = *text == '%' ? hex_digit(text[1]) : -1;
        int low = high >= 0 ? hex_digit(text[2]) : -1;
        /* %00 stays as it is: it would end the text here. */
        if (low >= 0 && (high || low)) {
            *out++ = (char)(high * 16 + low);
            text += 2;
        } else {
            *out++ = *text;
        }
    }
    *out = '\0';
}

/* Moves behind "http://" or "https://" and sets the port that goes with it. Only what stands
 * before the path is a scheme: "host/?to=ftp://x" has none. */
static bool read_scheme(struct reader *in, struct url *u)
{
    if (strncasecmp(in->at, "http://", 7) == 0) {
        in->at += 7;
        u->port = 80;
    } else if (strncasecmp(in->at, "https://", 8) == 0) {
        in->at += 8;
        u->tls = true;
        u->port = 443;
    } else if (strncmp(in->at + strcspn(in->at, ":/?#"), "://", 3) == 0) {
        return refuse(in, "only http:// and https:// are known, not '%.*s'",
                      (int)strcspn(in->at, ":"), in->at);
    } else {
        /* "host/path", as people type it */
        u->port = 80;
    }
    return true;
}

/* "unix:/path:http://host/": the path may hold colons, but not ":http". */
static bool read_unix(struct reader *in, struct url *u)
{
    const char *path = in->at + 5, *end = strstr(path, ":http");

    if (!end)
        return refuse(in, "a UNIX socket is written unix:/path/to/socket:http://host/path");
    if (end == path)
        return refuse(in, "the path of the UNIX socket is missing after 'unix:'");
    in->at = end + 1;
    return copy_span(in, u->unix_path, sizeof(u->unix_path), path, (size_t)(end - path),
                     "path of the UNIX socket");
}

/* Digits only: strtol would also take signs and blanks. */
static bool read_port(struct reader *in, struct url *u, const char *text, const char *end)
{
    unsigned port = 0;

    if (text == end)
        return true; /* "host:" means the default port (RFC 3986, 3.2.3) */
    for (const char *p = text; p < end; p++) {
        if (*p < '0' || *p > '9' || (port = port * 10 + (unsigned)(*p - '0')) > 65535)
            return refuse(in, "'%.*s' is no port (1 to 65535)", (int)(end - text), text);
    }
    if (port == 0)
        return refuse(in, "port 0 cannot be connected to");
    u->port = port;
    u->port_given = true;
    return true;
}

/* Nothing else may stand in brackets: it goes into the Host header as it is, and "%0d%0a" would be
 * a line end there by now. */
static bool is_address(const char *host)
{
    const char *zone = host + strspn(host, "0123456789abcdefABCDEF:.");

    if (zone == host || *zone == '\0')
        return zone > host;
    return *zone == '%' && zone[1] &&
           !zone[1 + strspn(zone + 1, "0123456789abcdefghijklmnopqrstuvwxyz"
                                      "ABCDEFGHIJKLMNOPQRSTUVWXYZ-._~")];
}

/* "host", "host:port", "[address]" or "[address]:port", which ends at `end`. */
static bool read_host(struct reader *in, struct url *u, const char *text, const char *end)
{
    const char *stop;

    if (*text == '[') {
        stop = memchr(text, ']', (size_t)(end - text));
        if (!stop)
            return refuse(in, "the bracket of the IPv6 address is not closed");
        if (!copy_span(in, u->host, sizeof(u->host), text + 1, (size_t)(stop - text - 1), "host"))
            return false;
        percent_decode(u->host); /* the zone may be written %25lo */
        if (*u->host && !is_address(u->host))
            return refuse(in, "'%.*s' is no IPv6 address", (int)(stop - text - 1), text + 1);
        u->literal_v6 = true;
        if (++stop < end && *stop != ':')
            return refuse(in, "'%.*s' follows the IPv6 address", (int)(end - stop), stop);
    } else {
        stop = memchr(text, ':', (size_t)(end - text));
        if (!stop)
            stop = end;
        if (!copy_span(in, u->host, sizeof(u->host), text, (size_t)(stop - text), "host"))
            return false;
    }
    if (!*u->host)
        return refuse(in, "the host name is missing");
    return stop < end ? read_port(in, u, stop + 1, end) : true;
}

/* Blanks and control bytes would end the request line, or begin another header. Bytes above 0x7f
 * are sent as they are: many servers take UTF-8 there. */
static bool check_bytes(struct reader *in, const char *text)
{
    for (const char *p = text; *p; p++) {
        if ((unsigned char)*p <= ' ' || *p == 0x7f)
            return refuse(in, "byte 0x%02x at position %zu has to be written %%%02X",
                          (unsigned char)*p, (size_t)(p - text) + 1, (unsigned char)*p);
    }
    return true;
}

bool url_parse(struct url *u, const char *text, char *error, size_t error_size)
{
    struct reader in = {text, error, error_size};
    const char *end, *at;

    memset(u, 0, sizeof(*u));
    if (!check_bytes(&in, text))
        return false;
    if (strncmp(text, "unix:", 5) == 0 && !read_unix(&in, u))
        return false;
    if (!read_scheme(&in, u))
        return false;
    /* A password may hold '@': the last one ends the user's part. */
    end = in.at + strcspn(in.at, "/?#");
    at = in.at;
    for (const char *p = in.at; p < end; p++)
        at = *p == '@' ? p : at;
    if (*at == '@' && at < end) {
        if (!copy_span(&in, u->userinfo, sizeof(u->userinfo), in.at, (size_t)(at - in.at), "user"))
            return false;
        percent_decode(u->userinfo);
        in.at = at + 1;
    }
    if (!read_host(&in, u, in.at, end))
        return false;
    u->path = end;
    u->path_length = strcspn(end, "#");
    u->path_needs_slash = *end != '/';
    return true;
}

int url_authority(const struct url *u, char *out, size_t size)
{
    /* A zone means something on this machine only and is not sent. */
    int length = (int)strcspn(u->host, u->literal_v6 ? "%" : "");
    const char *left = u->literal_v6 ? "[" : "", *right = u->literal_v6 ? "]" : "";

    if (u->port == (u->tls ? 443u : 80u))
        return snprintf(out, size, "%s%.*s%s", left, length, u->host, right);
    return snprintf(out, size, "%s%.*s%s:%u", left, length, u->host, right, u->port);
}
