/* SPDX-License-Identifier: Apache-2.0
 * Gives the driver's URL parser anything. What it accepts has to be usable: nothing in the Host
 * header that would end its line, and the same parts when the URL is written anew from them. */
#include "bench/httpdrive/url.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static void check_text(const char *text)
{
    for (; *text; text++)
        MUST((unsigned char)*text > ' ' && *text != 0x7f);
}

/* http://authority/path, and what that is parsed to. */
static void write_anew(const struct url *u)
{
    char authority[300], error[200] = "";
    size_t size;
    struct url again;
    char *text;
    int length = url_authority(u, authority, sizeof(authority));

    MUST(length > 0 && (size_t)length < sizeof(authority));
    check_text(authority);
    MUST(!strpbrk(authority, "/?#@"));
    size = strlen(authority) + u->path_length + 20;
    text = malloc(size);
    MUST(text);
    snprintf(text, size, "%s://%s%s%.*s", u->tls ? "https" : "http", authority,
             u->path_needs_slash && u->path_length ? "/" : "", (int)u->path_length, u->path);
    MUST(url_parse(&again, text, error, sizeof(error)));
    MUST(again.tls == u->tls && again.port == u->port && again.literal_v6 == u->literal_v6);
    /* A zone is not part of the authority. */
    MUST(strncmp(again.host, u->host, strlen(again.host)) == 0);
    MUST(again.path_length >= u->path_length);
    free(text);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    char *text = malloc(size + 1), error[200] = "";
    struct url u;

    MUST(text);
    memcpy(text, data, size);
    text[size] = '\0';
    if (url_parse(&u, text, error, sizeof(error))) {
        MUST(*u.host && u.port >= 1 && u.port <= 65535);
        check_text(u.host);
        check_text(u.unix_path);
        MUST(u.path >= text && u.path + u.path_length <= text + strlen(text));
        MUST(u.path_needs_slash == (*u.path != '/'));
        MUST(!memchr(u.path, '#', u.path_length));
        write_anew(&u);
    } else {
        MUST(*error);
    }
    free(text);
    return 0;
}
