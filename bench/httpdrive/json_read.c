/* SPDX-License-Identifier: Apache-2.0
 * JSON reader; see json_read.h. Recursive descent, with a bound on the depth. Two passes are not
 * needed: nodes and texts are bounded by the number of bytes, so that memory
 * for the worst case is taken at once (the pages that stay untouched cost nothing). */
#include "json_read.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 64

/* nodes and texts grow through the one block of memory; its size bounds both beforehand. */
struct parser {
    const char *at, *end, *begin;
    struct json_node *nodes; /* the next free one */
    char *texts;             /* the next free byte */
    int depth;
    const char *problem;
};

static struct json_node *parse_value(struct parser *p);

/* Always NULL. The first problem is the one that is told: what follows comes of it. */
static void *fail(struct parser *p, const char *problem)
{
    if (!p->problem)
        p->problem = problem;
    return NULL;
}

static void skip_blanks(struct parser *p)
{
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r'))
        p->at++;
}

/* Takes this character if it is next, after blanks. */
static bool take(struct parser *p, char c)
{
    skip_blanks(p);
    if (p->at == p->end || *p->at != c)
        return false;
    p->at++;
    return true;
}

static struct json_node *new_node(struct parser *p, enum json_kind kind)
{
    struct json_node *node = p->nodes++;

    memset(node, 0, sizeof(*node));
    node->kind = kind;
    return node;
}

/* strtoul would take signs and blanks too, so they are checked before. */
static bool four_digits(struct parser *p, unsigned *out)
{
    char digits[5] = "";
    char *end;

    if (p->end - p->at < 4)
        return false;
    memcpy(digits, p->at, 4);
    if (strspn(digits, "0123456789abcdefABCDEF") != 4)
        return false;
    *out = (unsigned)strtoul(digits, &end, 16);
    p->at += 4;
    return true;
}

/* At most 4 bytes of text for the 6 or 12 of an escape: texts never outgrow the input. */
static void put_utf8(struct parser *p, unsigned c)
{
    if (c < 0x80) {
        *p->texts++ = (char)c;
        return;
    }
    if (c < 0x800) {
        *p->texts++ = (char)(0xc0 | c >> 6);
    } else {
        if (c < 0x10000) {
            *p->texts++ = (char)(0xe0 | c >> 12);
        } else {
            *p->texts++ = (char)(0xf0 | c >> 18);
            *p->texts++ = (char)(0x80 | (c >> 12 & 0x3f));
        }
        *p->texts++ = (char)(0x80 | (c >> 6 & 0x3f));
    }
    *p->texts++ = (char)(0x80 | (c & 0x3f));
}

/* \uXXXX, after the "\u"; two of them make a character beyond the first 65,536. */
static bool unicode_escape(struct parser *p)
{
    unsigned c, low;

    if (!four_digits(p, &c))
        return false;
    if (c >= 0xd800 && c < 0xdc00) {
        if (p->end - p->at < 6 || p->at[0] != '\\' || p->at[1] != 'u')
            return false;
        p->at += 2;
        if (!four_digits(p, &low) || low < 0xdc00 || low > 0xdfff)
            return false;
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
    } else if (c == 0 || (c >= 0xdc00 && c < 0xe000)) {
        return false; /* texts end with NUL here */
    }
    put_utf8(p, c);
    return true;
}

/* What follows a backslash, into the text */
static bool escape(struct parser *p)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *found;

    if (p->at == p->end)
        return false;
    if (*p->at == 'u') {
        p->at++;
        return unicode_escape(p);
    }
    found = *p->at ? strchr(from, *p->at) : NULL;
    if (!found)
        return false;
    *p->texts++ = to[found - from];
    p->at++;
    return true;
}

/* The text after an opening quote. */
static const char *parse_text(struct parser *p)
{
    char *begin = p->texts;

    /* Bytes above 0x7f are taken as they are: this reads what json_write.c wrote, which is UTF-8.
     */
    while (p->at < p->end && *p->at != '"') {
        unsigned char c = (unsigned char)*p->at++;
        if (c < 0x20)
            return fail(p, "a control character in a text");
        if (c != '\\') {
            *p->texts++ = (char)c;
        } else if (!escape(p)) {
            return fail(p, "a bad escape in a text");
        }
    }
    if (p->at == p->end)
        return fail(p, "a text is not closed");
    p->at++;
    *p->texts++ = '\0';
    return begin;
}

/* strtod takes more than JSON has (hexadecimal, infinities): the characters are limited before and
 * the end is checked afterwards. A leading zero is let pass. */
static struct json_node *parse_number(struct parser *p)
{
    struct json_node *node;
    char digits[64];
    size_t n = 0;
    char *end;

    /* Copied, since strtod reads on until a NUL, which the input need not have. */
    while (p->at + n < p->end && n < sizeof(digits) - 1 && strchr("+-.eE0123456789", p->at[n]) &&
           p->at[n])
        n++;
    memcpy(digits, p->at, n);
    digits[n] = '\0';
    node = new_node(p, JSON_NUMBER);
    /* A longer number than this fits is refused below: its end is not at the copy's end. */
    node->number = strtod(digits, &end);
    if (n == 0 || *end || *digits == '+' || !isfinite(node->number))
        return fail(p, "neither a value nor a number");
    /* Counters have up to 64 bits, a double only 53: digits alone are read as an integer too. */
    if (digits[strspn(digits, "0123456789")] == '\0') {
        errno = 0;
        node->count = strtoull(digits, NULL, 10);
        if (errno)
            node->count = 0;
    } else if (node->number >= 0 && node->number < 1e15 && node->number == floor(node->number)) {
        node->count = (uint64_t)node->number;
    }
    p->at += n;
    return node;
}

/* The members after an opening bracket. */
static struct json_node *parse_members(struct parser *p, enum json_kind kind, char closing)
{
    struct json_node *node = new_node(p, kind), **last = &node->first;

    /* The parser calls itself for each level, and the C stack has an end. */
    if (++p->depth > DEPTH_MAX)
        return fail(p, "too deep");
    if (take(p, closing)) {
        p->depth--;
        return node;
    }
    do {
        const char *key = NULL;
        if (kind == JSON_OBJECT && (!take(p, '"') || !(key = parse_text(p)) || !take(p, ':')))
            return fail(p, "a member without name and colon");
        if (!(*last = parse_value(p)))
            return NULL;
        /* Texts lie in the document's memory, like the nodes. */
        (*last)->key = key;
        last = &(*last)->next;
    } while (take(p, ','));
    if (!take(p, closing))
        return fail(p, "a comma or a closing bracket is missing");
    p->depth--;
    return node;
}

/* null, true, false, or a number */
static struct json_node *parse_word(struct parser *p)
{
    static const struct {
        const char *word;
        enum json_kind kind;
        double value;
    } words[] = {{"null", JSON_NULL, 0}, {"true", JSON_BOOL, 1}, {"false", JSON_BOOL, 0}};

    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        size_t n = strlen(words[i].word);
        if ((size_t)(p->end - p->at) >= n && memcmp(p->at, words[i].word, n) == 0) {
            struct json_node *node = new_node(p, words[i].kind);
            node->number = words[i].value;
            p->at += n;
            return node;
        }
    }
    return parse_number(p);
}

static struct json_node *parse_value(struct parser *p)
{
    struct json_node *node;

    if (take(p, '{'))
        return parse_members(p, JSON_OBJECT, '}');
    if (take(p, '['))
        return parse_members(p, JSON_ARRAY, ']');
    if (!take(p, '"'))
        return parse_word(p);
    node = new_node(p, JSON_TEXT);
    node->text = parse_text(p);
    return node->text ? node : NULL;
}

bool json_parse(struct json_document *d, const char *bytes, size_t n, char *error,
                size_t error_size)
{
    struct parser p = {.at = bytes, .begin = bytes, .end = bytes + n};
    size_t nodes = n / 2 + DEPTH_MAX + 2; /* "[0,0,0]", and "[[[" as deep as it may go */

    d->root = NULL;
    d->memory = malloc(nodes * sizeof(struct json_node) + n + 1);
    if (!d->memory) {
        snprintf(error, error_size, "out of memory");
        return false;
    }
    p.nodes = d->memory;
    p.texts = (char *)(p.nodes + nodes);
    d->root = parse_value(&p);
    skip_blanks(&p);
    if (d->root && p.at != p.end)
        d->root = fail(&p, "more follows the value");
    if (!d->root) {
        snprintf(error, error_size, "byte %zu: %s", (size_t)(p.at - p.begin) + 1, p.problem);
        json_free(d);
    }
    return d->root != NULL;
}

void json_free(struct json_document *d)
{
    free(d->memory);
    d->memory = NULL;
    d->root = NULL;
}

/* A search from the front: objects here have some dozens of members. */
const struct json_node *json_member(const struct json_node *parent, const char *key)
{
    if (!parent || parent->kind != JSON_OBJECT)
        return NULL;
    for (const struct json_node *node = parent->first; node; node = node->next) {
        if (strcmp(node->key, key) == 0)
            return node;
    }
    return NULL;
}

uint64_t json_get_count(const struct json_node *parent, const char *key)
{
    const struct json_node *node = json_member(parent, key);

    return node && node->kind == JSON_NUMBER ? node->count : 0;
}

double json_get_number(const struct json_node *parent, const char *key, double otherwise)
{
    const struct json_node *node = json_member(parent, key);

    return node && node->kind == JSON_NUMBER ? node->number : otherwise;
}

const char *json_get_text(const struct json_node *parent, const char *key)
{
    const struct json_node *node = json_member(parent, key);

    return node && node->kind == JSON_TEXT ? node->text : NULL;
}

bool json_get_bool(const struct json_node *parent, const char *key)
{
    const struct json_node *node = json_member(parent, key);

    return node && node->kind == JSON_BOOL && node->number != 0;
}
