/* SPDX-License-Identifier: Apache-2.0
 * JSON writer; see json_write.h. */
#include "json_write.h"

#include <math.h>

/* Bytes of the UTF-8 sequence that begins with this byte; 0: none does. */
static int sequence_length(unsigned char first)
{
    if (first < 0x80)
        return 1;
    if (first >= 0xc2 && first < 0xe0)
        return 2;
    if ((first & 0xf0) == 0xe0)
        return 3;
    return first >= 0xf0 && first < 0xf5 ? 4 : 0;
}

/* The length of the valid UTF-8 sequence at s; 0 when there is none. */
static int utf8_length(const unsigned char *s)
{
    int n = sequence_length(*s);

    for (int i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    }
    /* Overlong forms, surrogates, and what lies beyond Unicode. */
    if ((*s == 0xe0 && s[1] < 0xa0) || (*s == 0xed && s[1] > 0x9f) || (*s == 0xf0 && s[1] < 0x90) ||
        (*s == 0xf4 && s[1] > 0x8f))
        return 0;
    return n;
}

/* Texts come from the command line and from the server, so they may hold anything. */
static void quoted(FILE *out, const char *text)
{
    const unsigned char *s = (const unsigned char *)text;

    putc('"', out);
    while (*s) {
        int n = utf8_length(s);
        if (n == 0) {
            fprintf(out, "\\u%04x", *s++); /* bytes of unknown meaning: as Latin-1 */
        } else if (*s == '"' || *s == '\\') {
            fprintf(out, "\\%c", *s++);
        } else if (*s < 0x20 || *s == 0x7f || *s == '<') {
            fprintf(out, "\\u%04x", *s++); /* '<' too: the text may stand in an HTML page */
        } else {
            fwrite(s, 1, (size_t)n, out);
            s += n;
        }
    }
    putc('"', out);
}

/* What stands before a value: a comma, a new line with its indentation, and the key. */
static void begin(struct json_writer *j, const char *key)
{
    bool flat = j->flat && j->depth >= j->flat;

    if (j->filled)
        fputs(flat ? ", " : ",", j->out);
    if (!flat && j->depth)
        fprintf(j->out, "\n%*s", j->depth * 2, "");
    if (key) {
        quoted(j->out, key);
        fputs(": ", j->out);
    }
    j->filled = true;
}

void json_open(struct json_writer *j, const char *key, char bracket)
{
    begin(j, key);
    putc(bracket, j->out);
    j->depth++;
    j->filled = false;
}

/* Nested calls stay flat: the outermost one decides. */
void json_open_flat(struct json_writer *j, const char *key, char bracket)
{
    json_open(j, key, bracket);
    if (!j->flat)
        j->flat = j->depth;
}

void json_close(struct json_writer *j, char bracket)
{
    bool flat = j->flat && j->depth >= j->flat;

    j->depth--;
    /* An empty object or list stays on its line. */
    if (!flat && j->filled)
        fprintf(j->out, "\n%*s", j->depth * 2, "");
    if (j->depth < j->flat)
        j->flat = 0;
    putc(bracket, j->out);
    j->filled = true;
    /* A text file ends with a line end. */
    if (j->depth == 0)
        putc('\n', j->out);
}

void json_text(struct json_writer *j, const char *key, const char *value)
{
    begin(j, key);
    if (value) {
        quoted(j->out, value);
    } else {
        fputs("null", j->out);
    }
}

void json_count(struct json_writer *j, const char *key, uint64_t value)
{
    begin(j, key);
    fprintf(j->out, "%llu", (unsigned long long)value);
}

void json_integer(struct json_writer *j, const char *key, int64_t value)
{
    begin(j, key);
    fprintf(j->out, "%lld", (long long)value);
}

static void number(struct json_writer *j, const char *key, double value, int digits)
{
    begin(j, key);
    /* JSON has no infinities. */
    if (isfinite(value)) {
        fprintf(j->out, "%.*g", digits, value);
    } else {
        fputs("null", j->out);
    }
}

void json_number(struct json_writer *j, const char *key, double value)
{
    number(j, key, value, 15); /* the most digits that stay as people wrote them: 0.1 */
}

void json_exact(struct json_writer *j, const char *key, double value)
{
    number(j, key, value, 17);
}

void json_bool(struct json_writer *j, const char *key, bool value)
{
    begin(j, key);
    fputs(value ? "true" : "false", j->out);
}

void json_null(struct json_writer *j, const char *key)
{
    json_text(j, key, NULL);
}
