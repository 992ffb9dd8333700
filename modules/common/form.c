/* SPDX-License-Identifier: Apache-2.0
 * Parsers for what HTML forms send. Every read is of a counted piece of the input. */
#include "modules/common/form.h"

#include <string.h>
#include <strings.h>

#define MAX_BOUNDARY 200 /* RFC 2046 allows 70 */

/* What both parsers share while they run. */
typedef struct parser {
    apr_pool_t *p;
    form_limits limits;
    form_callback each;
    void *baton;
    apr_size_t fields;
} parser;

static parser start(apr_pool_t *p, const form_limits *limits, form_callback each, void *baton)
{
    parser f = {.p = p, .each = each, .baton = baton};

    if (limits)
        f.limits = *limits;
    if (!f.limits.fields)
        f.limits.fields = FORM_MAX_FIELDS;
    if (!f.limits.name)
        f.limits.name = FORM_MAX_NAME;
    if (!f.limits.value)
        f.limits.value = APR_SIZE_MAX;
    if (!f.limits.headers)
        f.limits.headers = FORM_MAX_HEADERS;
    return f;
}

static form_error emit(parser *f, const form_field *field)
{
    if (field->name.length > f->limits.name || field->filename.length > f->limits.name ||
        field->value.length > f->limits.value)
        return FORM_FIELD_TOO_LARGE;
    if (++f->fields > f->limits.fields)
        return FORM_TOO_MANY_FIELDS;
    return f->each(f->baton, field) ? FORM_STOPPED : FORM_OK;
}

static int is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static int same_word(const char *a, apr_size_t length, const char *b)
{
    return length == strlen(b) && strncasecmp(a, b, length) == 0;
}

form_kind form_kind_of(const char *content_type)
{
    apr_size_t length;

    if (!content_type)
        return FORM_OTHER;
    content_type += strspn(content_type, " \t");
    length = strcspn(content_type, "; \t\r\n");
    if (same_word(content_type, length, "application/x-www-form-urlencoded"))
        return FORM_URLENCODED;
    if (same_word(content_type, length, "multipart/form-data"))
        return FORM_MULTIPART;
    return FORM_OTHER;
}

/* --- application/x-www-form-urlencoded --- */

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* Decodes into `to`, which has room for `length` bytes. */
static form_error decode(const char *from, apr_size_t length, int strict, char *to,
                         form_text *decoded)
{
    char *start_of = to;
    apr_size_t i;

    for (i = 0; i < length; i++) {
        int high = -1, low = -1;

        if (from[i] == '%' && length - i > 2) {
            high = hex_value(from[i + 1]);
            low = hex_value(from[i + 2]);
        }
        if (high >= 0 && low >= 0) {
            *to++ = (char)(high << 4 | low);
            i += 2;
        } else if (from[i] == '%' && strict) {
            return FORM_BAD_ESCAPE;
        } else {
            *to++ = from[i] == '+' ? ' ' : from[i];
        }
    }
    decoded->bytes = start_of;
    decoded->length = to - start_of;
    return FORM_OK;
}

static form_error parse_pair(parser *f, const char *pair, apr_size_t length, char *scratch)
{
    const char *equals = memchr(pair, '=', length);
    apr_size_t name_length = equals ? (apr_size_t)(equals - pair) : length;
    form_field field = {.value = {"", 0}, .has_equals = equals != NULL};
    form_error e = decode(pair, name_length, f->limits.strict, scratch, &field.name);

    if (e == FORM_OK && equals)
        e = decode(equals + 1, length - name_length - 1, f->limits.strict, scratch + name_length,
                   &field.value);
    return e == FORM_OK ? emit(f, &field) : e;
}

form_error form_parse_urlencoded(apr_pool_t *p, const char *bytes, apr_size_t length,
                                 const form_limits *limits, form_callback each, void *baton)
{
    parser f = start(p, limits, each, baton);
    const char *end = bytes + length;
    char *scratch;

    if (length == 0)
        return FORM_OK;
    scratch = apr_palloc(p, length);
    if (!scratch)
        return FORM_NO_MEMORY;
    while (bytes < end) {
        const char *ampersand = memchr(bytes, '&', end - bytes);
        const char *pair_end = ampersand ? ampersand : end;
        form_error e = FORM_OK;

        if (pair_end > bytes)
            e = parse_pair(&f, bytes, pair_end - bytes, scratch);
        if (e != FORM_OK)
            return e;
        bytes = pair_end + 1;
    }
    return FORM_OK;
}

/* --- header parameters --- */

static const char *skip_blanks(const char *s, const char *end)
{
    while (s < end && is_blank(*s))
        s++;
    return s;
}

/* Reads a quoted string after its opening quote; returns what follows the closing one. A backslash
 * escapes a quote and itself only: browsers send "C:\dir\file" as it is. `to` may be NULL. */
static const char *read_quoted(const char *s, const char *end, char *to, apr_size_t *length)
{
    apr_size_t n = 0;

    for (; s < end && *s != '"'; s++) {
        if (*s == '\\' && end - s > 1 && (s[1] == '"' || s[1] == '\\'))
            s++;
        if (to)
            to[n] = *s;
        n++;
    }
    *length = n;
    return s < end ? s + 1 : end;
}

/* Reads a value, quoted or a plain word up to ';'; returns what follows it. */
static const char *read_value(const char *s, const char *end, char *to, apr_size_t *length)
{
    const char *begin = s;
    const char *last;

    if (s < end && *s == '"')
        return read_quoted(s + 1, end, to, length);
    while (s < end && *s != ';')
        s++;
    for (last = s; last > begin && is_blank(last[-1]); last--)
        continue;
    *length = last - begin;
    if (to)
        memcpy(to, begin, *length);
    return s;
}

static const char *after_semicolon(const char *s, const char *end)
{
    const char *semicolon = memchr(s, ';', end - s);

    return semicolon ? semicolon + 1 : end;
}

int form_parameter(apr_pool_t *p, form_text header, const char *name, form_text *value)
{
    const char *end = header.bytes + header.length;
    const char *s;

    if (!header.bytes)
        return 0;
    for (s = after_semicolon(header.bytes, end); s < end; s = after_semicolon(s, end)) {
        const char *word = skip_blanks(s, end);
        const char *word_end = word;
        apr_size_t length;

        while (word_end < end && *word_end != '=' && *word_end != ';' && !is_blank(*word_end))
            word_end++;
        s = skip_blanks(word_end, end);
        if (s == end || *s != '=')
            continue;
        s = skip_blanks(s + 1, end);
        if (same_word(word, word_end - word, name)) {
            char *copy = apr_palloc(p, end - s + 1);

            read_value(s, end, copy, &length);
            value->bytes = copy;
            value->length = length;
            return 1;
        }
        s = read_value(s, end, NULL, &length);
    }
    return 0;
}

/* --- multipart/form-data --- */

/* A line that separates parts. */
typedef struct delimiter {
    const char *begin; /* of the end of line before it, which belongs to it */
    const char *after; /* the line after it */
    int last;          /* the closing one */
} delimiter;

/* What follows the blanks and the end of line at `s`; NULL when there is something else. */
static const char *after_blank_rest(const char *s, const char *end)
{
    while (s < end && (*s == ' ' || *s == '\t'))
        s++;
    if (s < end && *s == '\r')
        s++;
    if (s == end)
        return end;
    return *s == '\n' ? s + 1 : NULL;
}

/* Whether a line that starts at `s` is "--" boundary ["--"] blanks. */
static int is_delimiter(const char *s, const char *end, form_text boundary, delimiter *d)
{
    if ((apr_size_t)(end - s) < boundary.length + 2 || s[0] != '-' || s[1] != '-' ||
        memcmp(s + 2, boundary.bytes, boundary.length) != 0)
        return 0;
    s += boundary.length + 2;
    d->last = end - s >= 2 && s[0] == '-' && s[1] == '-';
    d->after = after_blank_rest(d->last ? s + 2 : s, end);
    return d->after != NULL;
}

/* Finds the next delimiter; `s` is the start of a line. */
static int find_delimiter(const char *s, const char *end, form_text boundary, delimiter *d)
{
    const char *begin = s;

    for (;;) {
        const char *newline;

        if (is_delimiter(s, end, boundary, d)) {
            d->begin = s;
            if (d->begin > begin)
                d->begin--;
            if (d->begin > begin && d->begin[-1] == '\r')
                d->begin--;
            return 1;
        }
        newline = memchr(s, '\n', end - s);
        if (!newline)
            return 0;
        s = newline + 1;
    }
}

/* The end of the line that starts at `s`, and where the next one starts; 0 without an end of line.
 */
static int line_end(const char *s, const char *end, const char **line, const char **next)
{
    const char *newline = memchr(s, '\n', end - s);

    if (!newline)
        return 0;
    *next = newline + 1;
    *line = newline > s && newline[-1] == '\r' ? newline - 1 : newline;
    return 1;
}

/* One header of a part: `line` to `end`, folded lines included. */
static void read_header(parser *f, const char *line, const char *end, form_field *field)
{
    const char *colon = memchr(line, ':', end - line);
    form_text value;

    if (!colon)
        return;
    value.bytes = skip_blanks(colon + 1, end);
    value.length = end - value.bytes;
    if (same_word(line, colon - line, "Content-Type")) {
        field->content_type = value;
    } else if (same_word(line, colon - line, "Content-Disposition") && value.length >= 9 &&
               strncasecmp(value.bytes, "form-data", 9) == 0) {
        form_parameter(f->p, value, "name", &field->name);
        form_parameter(f->p, value, "filename", &field->filename);
    }
}

/* The headers at `s`; *body is what follows their blank line. */
static form_error read_headers(parser *f, const char *s, const char *end, form_field *field,
                               const char **body)
{
    const char *first = s;
    const char *header_end, *next;

    while (line_end(s, end, &header_end, &next)) {
        if ((apr_size_t)(header_end - first) > f->limits.headers)
            return FORM_FIELD_TOO_LARGE;
        if (header_end == s) {
            field->headers = (form_text){first, s - first};
            *body = next;
            return FORM_OK;
        }
        while (next < end && (*next == ' ' || *next == '\t'))
            if (!line_end(next, end, &header_end, &next))
                return FORM_BAD_MULTIPART;
        read_header(f, s, header_end, field);
        s = next;
    }
    return FORM_BAD_MULTIPART;
}

/* Hands out the part at `s`; *d is the delimiter that ends it. */
static form_error parse_part(parser *f, const char *s, const char *end, form_text boundary,
                             delimiter *d)
{
    form_field field = {.has_equals = 1};
    const char *body;
    form_error e = read_headers(f, s, end, &field, &body);

    if (e != FORM_OK)
        return e;
    if (!find_delimiter(body, end, boundary, d))
        return FORM_TRUNCATED;
    if (!field.name.bytes)
        return FORM_NO_NAME;
    field.value = (form_text){body, d->begin - body};
    return emit(f, &field);
}

form_error form_parse_multipart(apr_pool_t *p, const char *content_type, const char *bytes,
                                apr_size_t length, const form_limits *limits, form_callback each,
                                void *baton)
{
    parser f = start(p, limits, each, baton);
    form_text header = {content_type, content_type ? strlen(content_type) : 0};
    const char *end = bytes + length;
    form_text boundary;
    delimiter d;

    if (!form_parameter(p, header, "boundary", &boundary) || boundary.length == 0 ||
        boundary.length > MAX_BOUNDARY)
        return FORM_NO_BOUNDARY;
    if (!find_delimiter(bytes, end, boundary, &d))
        return FORM_BAD_MULTIPART;
    while (!d.last) {
        form_error e = parse_part(&f, d.after, end, boundary, &d);

        if (e != FORM_OK)
            return e;
    }
    return FORM_OK;
}

const char *form_error_text(form_error e)
{
    switch (e) {
    case FORM_OK:
        return "no error";
    case FORM_BAD_ESCAPE:
        return "the form has a % that two hexadecimal digits do not follow";
    case FORM_NO_BOUNDARY:
        return "the form's Content-Type has no usable boundary";
    case FORM_BAD_MULTIPART:
        return "the form has no opening boundary, or a part without a blank line";
    case FORM_TRUNCATED:
        return "the form has no closing boundary";
    case FORM_NO_NAME:
        return "the form has a part without a name";
    case FORM_TOO_MANY_FIELDS:
        return "the form has too many fields";
    case FORM_FIELD_TOO_LARGE:
        return "the form has a field that is too large";
    case FORM_STOPPED:
        return "the form was not read to its end";
    case FORM_NO_MEMORY:
        break;
    }
    return "there is not enough memory for the form";
}
