/* SPDX-License-Identifier: Apache-2.0
 * Reads JSON (RFC 8259) into a tree. One allocation holds all nodes and texts; json_free() returns
 * them. Numbers are kept as double and, where they are whole and fit, as exact integers. */
#ifndef HTTPDRIVE_JSON_READ_H
#define HTTPDRIVE_JSON_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum json_kind {
    JSON_NULL,
    JSON_BOOL,
    JSON_NUMBER,
    JSON_TEXT,
    JSON_ARRAY,
    JSON_OBJECT
};

struct json_node {
    enum json_kind kind;
    const char *key;         /* of a member of an object, else NULL */
    const char *text;        /* JSON_TEXT: UTF-8, ends with NUL */
    double number;           /* JSON_NUMBER; JSON_BOOL: 0 or 1 */
    uint64_t count;          /* JSON_NUMBER: the value if it is whole and not negative, else 0 */
    struct json_node *next;  /* the next member of the same array or object */
    struct json_node *first; /* the members of this one, in their order */
};

struct json_document {
    struct json_node *root;
    void *memory;
};

/* False when `bytes` is no JSON; `error` says what and where. The bytes are not needed afterwards.
 */
bool json_parse(struct json_document *d, const char *bytes, size_t n, char *error,
                size_t error_size);
void json_free(struct json_document *d);

/* The member of that name, or NULL: also when `parent` is NULL or no object. */
const struct json_node *json_member(const struct json_node *parent, const char *key);
/* Members by name, with a value for "missing or of another kind". */
uint64_t json_get_count(const struct json_node *parent, const char *key);
double json_get_number(const struct json_node *parent, const char *key, double otherwise);
const char *json_get_text(const struct json_node *parent, const char *key);
bool json_get_bool(const struct json_node *parent, const char *key);

#endif
