/* SPDX-License-Identifier: Apache-2.0
 * Takes a URL apart. Pure; the error says what is wrong and where. */
#ifndef HTTPDRIVE_URL_H
#define HTTPDRIVE_URL_H

#include <stdbool.h>
#include <stddef.h>

struct url {
    bool tls;
    char host[256];  /* without brackets; may hold a zone ("fe80::1%lo") */
    bool literal_v6; /* host was written in brackets */
    unsigned port;   /* 80 or 443 when none was given */
    bool port_given;
    char unix_path[108];   /* "unix:/path/to/socket:http://host/": where to connect instead */
    char userinfo[256];    /* "user:password" of http://user:password@host/, decoded */
    const char *path;      /* path and query, into the text given; "" when there was none */
    size_t path_length;    /* without the fragment */
    bool path_needs_slash; /* "http://host?query": the request line needs a "/" before it */
};

/* True when `text` is an http or https URL; otherwise `error` holds the reason. `text` has to
 * live as long as `u`. */
bool url_parse(struct url *u, const char *text, char *error, size_t error_size);

/* The Host header's value, and the authority of absolute-form: brackets and a port that is not
 * the scheme's own. Returns the length, as snprintf. */
int url_authority(const struct url *u, char *out, size_t size);

#endif
