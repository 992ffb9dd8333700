/* SPDX-License-Identifier: Apache-2.0
 * Writes JSON to a stream: commas, quoting and indentation. A key of NULL is for array members. */
#ifndef HTTPDRIVE_JSON_WRITE_H
#define HTTPDRIVE_JSON_WRITE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json_writer {
    FILE *out;
    int depth;
    bool filled; /* something stands before, within the same brackets */
    int flat;    /* depth from which on no line is broken; 0: none */
};

void json_open(struct json_writer *j, const char *key, char bracket);      /* '{' or '[' */
void json_open_flat(struct json_writer *j, const char *key, char bracket); /* on one line */
void json_close(struct json_writer *j, char bracket);                      /* '}' or ']' */
void json_text(struct json_writer *j, const char *key, const char *value); /* NULL: null */
void json_count(struct json_writer *j, const char *key, uint64_t value);
void json_integer(struct json_writer *j, const char *key, int64_t value);
void json_number(struct json_writer *j, const char *key, double value); /* not finite: null */
/* With all the digits that reading it back needs. */
void json_exact(struct json_writer *j, const char *key, double value);
void json_bool(struct json_writer *j, const char *key, bool value);
void json_null(struct json_writer *j, const char *key);

#endif
