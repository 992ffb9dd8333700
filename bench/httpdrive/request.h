/* SPDX-License-Identifier: Apache-2.0
 * The bytes of requests, made from the options before the run. */
#ifndef HTTPDRIVE_REQUEST_H
#define HTTPDRIVE_REQUEST_H

#include "plan.h"

/* Appends text to a growing buffer; out of memory ends the program with a message. */
struct buffer {
    char *bytes;
    size_t length;
    size_t room;
};

void buffer_add(struct buffer *b, const char *bytes, size_t n);
void __attribute__((format(printf, 2, 3))) buffer_print(struct buffer *b, const char *format, ...);
/* A whole file, or standard input for "-"; false with errno. */
bool buffer_read_file(struct buffer *b, const char *path);

/* The request for one path ("" means "/"). */
void request_make(const struct plan *p, struct target *t, const char *path, size_t path_length,
                  const struct buffer *body);
/* The request that asks a proxy for a tunnel. */
void request_make_tunnel(struct plan *p);

#endif
