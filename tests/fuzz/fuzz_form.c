/* SPDX-License-Identifier: Apache-2.0
 * Feeds the form parsers anything. An input is a content type, a line feed, and a body.
 *
 * Built for libFuzzer by run.sh; with replay.c it is a program of `make check` that runs the kept
 * inputs. Either way a broken promise of form.h aborts. */
#include "modules/common/form.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>
#include <apr_general.h>

#define MOST_FIELDS 50

/* What the callback may rely on, and the form written anew with every byte escaped. */
typedef struct seen {
    const char *body;
    size_t length;
    int multipart;
    size_t fields;
    size_t bytes; /* in names and values */
    char *again;
    size_t again_used;
} seen;

static void escape(seen *s, form_text t)
{
    size_t i;

    for (i = 0; i < t.length; i++)
        s->again_used += sprintf(s->again + s->again_used, "%%%02x", (unsigned char)t.bytes[i]);
}

/* Reads all bytes, so that a sanitizer sees any that are not there. */
static size_t sum(form_text t)
{
    volatile unsigned char all = 0;
    size_t i;

    for (i = 0; i < t.length; i++)
        all ^= t.bytes[i];
    (void)all;
    return t.length;
}

static int look(void *baton, const form_field *field)
{
    seen *s = baton;

    s->fields++;
    s->bytes += sum(field->name) + sum(field->value);
    sum(field->filename);
    sum(field->content_type);
    sum(field->headers);
    MUST(field->name.bytes && field->value.bytes);
    MUST(s->fields <= MOST_FIELDS);
    MUST(s->bytes <= s->length);
    if (s->multipart) {
        MUST(field->value.bytes >= s->body);
        MUST(field->value.bytes + field->value.length <= s->body + s->length);
    } else if (s->again) {
        if (s->fields > 1)
            s->again[s->again_used++] = '&';
        escape(s, field->name);
        if (field->has_equals)
            s->again[s->again_used++] = '=';
        escape(s, field->value);
    }
    return 0;
}

/* A form written anew has the same fields with the same bytes. (A field that is empty on both sides
 * can't be written without its '=', and has one.) */
static void try_urlencoded(apr_pool_t *p, const char *body, size_t length)
{
    form_limits limits = {.fields = MOST_FIELDS}, strict = {.fields = MOST_FIELDS, .strict = 1};
    seen first = {body, length, 0, 0, 0, apr_palloc(p, 3 * length + 2 * MOST_FIELDS + 1), 0};
    seen second = {NULL, 0, 0, 0, 0, NULL, 0};

    if (form_parse_urlencoded(p, body, length, &limits, look, &first) != FORM_OK)
        return;
    second.body = first.again;
    second.length = first.again_used;
    MUST(form_parse_urlencoded(p, first.again, first.again_used, &strict, look, &second) ==
         FORM_OK);
    MUST(second.fields == first.fields && second.bytes == first.bytes);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    static int ready;
    const char *input = (const char *)data;
    const char *newline = memchr(input, '\n', size);
    size_t type_length = newline ? (size_t)(newline - input) : 0;
    const char *body = newline ? newline + 1 : input;
    size_t length = size - (body - input);
    apr_pool_t *p;
    char *type;

    if (!ready)
        apr_initialize();
    ready = 1;
    MUST(apr_pool_create(&p, NULL) == APR_SUCCESS);
    type = apr_pcalloc(p, type_length + 1);
    memcpy(type, input, type_length);
    if (form_kind_of(type) == FORM_MULTIPART) {
        form_limits limits = {.fields = MOST_FIELDS, .headers = 1000};
        seen s = {body, length, 1, 0, 0, NULL, 0};

        MUST(form_error_text(form_parse_multipart(p, type, body, length, &limits, look, &s)));
    } else {
        try_urlencoded(p, body, length);
    }
    apr_pool_destroy(p);
    return 0;
}
