/* SPDX-License-Identifier: Apache-2.0
 * Gives the driver's JSON reader anything. Its tree has to be whole, and when it is written anew
 * with the driver's writer, the reader has to find the same tree. */
#include "bench/httpdrive/json_read.h"
#include "bench/httpdrive/json_write.h"
#include "tests/fuzz/fuzz.h"

#include <math.h>
#include <string.h>

/* Every text ends, so strlen() is what a sanitizer watches here. */
static void write_tree(struct json_writer *j, const struct json_node *node)
{
    if (node->key)
        MUST(strlen(node->key) < 100000);
    switch (node->kind) {
    case JSON_NULL:
        json_null(j, node->key);
        break;
    case JSON_BOOL:
        json_bool(j, node->key, node->number != 0);
        break;
    case JSON_NUMBER:
        MUST(isfinite(node->number));
        json_number(j, node->key, node->number);
        break;
    case JSON_TEXT:
        json_text(j, node->key, node->text);
        break;
    case JSON_ARRAY:
    case JSON_OBJECT:
        json_open(j, node->key, node->kind == JSON_ARRAY ? '[' : '{');
        for (const struct json_node *n = node->first; n; n = n->next) {
            MUST((n->key != NULL) == (node->kind == JSON_OBJECT));
            write_tree(j, n);
        }
        json_close(j, node->kind == JSON_ARRAY ? ']' : '}');
        break;
    }
}

/* Numbers are written with nine digits. Bytes that are no UTF-8 are written as other ones, so texts
 * are compared only where the writer kept them. */
static void compare(const struct json_node *a, const struct json_node *b)
{
    MUST(a->kind == b->kind);
    MUST(fabs(a->number - b->number) <= 1e-8 * fabs(a->number));
    MUST(!a->text == !b->text && !a->key == !b->key);
    a = a->first;
    for (b = b->first; a && b; a = a->next, b = b->next)
        compare(a, b);
    MUST(!a && !b);
}

static char *write_anew(const struct json_node *root, size_t *size)
{
    char *text = NULL;
    struct json_writer j = {.out = open_memstream(&text, size)};

    MUST(j.out);
    write_tree(&j, root);
    MUST(fclose(j.out) == 0);
    return text;
}

/* The tree of `text`, which is this program's own, written anew; the text is freed. */
static char *read_again(char *text, size_t *size, const struct json_node *same)
{
    struct json_document d;
    char error[200], *again;

    MUST(json_parse(&d, text, *size, error, sizeof(error)));
    compare(d.root, same);
    again = write_anew(d.root, size);
    json_free(&d);
    free(text);
    return again;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    struct json_document d;
    char error[200] = "", *once, *twice;
    size_t once_size, twice_size;

    if (!json_parse(&d, (const char *)data, size, error, sizeof(error))) {
        MUST(*error && !d.root && !d.memory);
        return 0;
    }
    /* Twice, since the first time may turn bytes that are no UTF-8 into characters. */
    once = read_again(write_anew(d.root, &once_size), &once_size, d.root);
    twice = malloc(once_size);
    MUST(twice);
    memcpy(twice, once, once_size);
    twice_size = once_size;
    twice = read_again(twice, &twice_size, d.root);
    MUST(once_size == twice_size && memcmp(once, twice, once_size) == 0);
    json_free(&d);
    free(once);
    free(twice);
    return 0;
}
