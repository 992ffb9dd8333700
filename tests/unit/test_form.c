/* SPDX-License-Identifier: Apache-2.0
 * form: what both parsers find in bytes of any kind. What was found is written down as one string,
 * a field as name=value; a file as name=value<filename|content type>; a NUL as \0. */
#include "tests/unit/unit.h"
#include "modules/common/form.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <apr_strings.h>

typedef struct found {
    char text[8192];
    size_t used;
    int fields;
    int stop_at; /* the callback says stop at this field; 0: never */
} found;

static void put_char(found *f, char c)
{
    assert_true(f->used + 3 < sizeof(f->text));
    if (c == '\0') {
        f->text[f->used++] = '\\';
        c = '0';
    }
    f->text[f->used++] = c;
    f->text[f->used] = '\0';
}

static void put(found *f, form_text t)
{
    apr_size_t i;

    for (i = 0; i < t.length; i++)
        put_char(f, t.bytes[i]);
}

static int note_field(void *baton, const form_field *field)
{
    found *f = baton;

    put(f, field->name);
    if (field->has_equals)
        put_char(f, '=');
    put(f, field->value);
    if (field->filename.bytes) {
        put_char(f, '<');
        put(f, field->filename);
        put_char(f, '|');
        put(f, field->content_type);
        put_char(f, '>');
    }
    put_char(f, ';');
    return ++f->fields == f->stop_at;
}

/* Parses a copy of exactly `length` bytes, so that a sanitizer sees a read beyond them. */
static form_error parse(void **state, const char *content_type, const char *bytes,
                        apr_size_t length, const form_limits *limits, found *f)
{
    char *copy = malloc(length ? length : 1);
    form_error e;

    memcpy(copy, bytes, length);
    if (content_type)
        e = form_parse_multipart(*state, content_type, copy, length, limits, note_field, f);
    else
        e = form_parse_urlencoded(*state, copy, length, limits, note_field, f);
    free(copy);
    return e;
}

static void finds_bytes(void **state, const char *content_type, const char *bytes,
                        apr_size_t length, const char *expected)
{
    found f = {{0}, 0, 0, 0};

    assert_int_equal(parse(state, content_type, bytes, length, NULL, &f), FORM_OK);
    assert_string_equal(f.text, expected);
}

static void finds(void **state, const char *content_type, const char *bytes, const char *expected)
{
    finds_bytes(state, content_type, bytes, strlen(bytes), expected);
}

static void fails(void **state, const char *content_type, const char *bytes, form_error expected)
{
    found f = {{0}, 0, 0, 0};

    assert_int_equal(parse(state, content_type, bytes, strlen(bytes), NULL, &f), expected);
}

static void reads_pairs_in_order(void **state)
{
    finds(state, NULL, "a=1&b=2&a=3", "a=1;b=2;a=3;");
    finds(state, NULL, "", "");
}

static void decodes_plus_and_percent(void **state)
{
    finds(state, NULL, "a+b=c+d%2B%26%3d", "a b=c d+&=;");
    finds(state, NULL, "%C3%A9=%e2%82%ac", "\xc3\xa9=\xe2\x82\xac;");
    finds(state, NULL, "a=%00b", "a=\\0b;");
    finds_bytes(state, NULL, "a=\0b", 4, "a=\\0b;");
}

static void tells_an_empty_value_from_none(void **state)
{
    finds(state, NULL, "a=&b&=c", "a=;b;=c;");
}

static void skips_empty_pairs(void **state)
{
    finds(state, NULL, "&&a=1&&b=2&", "a=1;b=2;");
}

static void splits_at_the_first_equals_only(void **state)
{
    finds(state, NULL, "a=b=c", "a=b=c;");
    finds(state, NULL, "a=1;b=2", "a=1;b=2;");
}

static void leaves_malformed_escapes_as_they_are(void **state)
{
    finds(state, NULL, "a=100%", "a=100%;");
    finds(state, NULL, "a=%4", "a=%4;");
    finds(state, NULL, "a=%zz%4g%41", "a=%zz%4gA;");
    finds(state, NULL, "%%41", "%A;");
}

static void refuses_malformed_escapes_when_strict(void **state)
{
    form_limits strict = {.strict = 1};
    found f = {{0}, 0, 0, 0};

    assert_int_equal(parse(state, NULL, "a=%4", 4, &strict, &f), FORM_BAD_ESCAPE);
    assert_int_equal(parse(state, NULL, "%zz=1", 5, &strict, &f), FORM_BAD_ESCAPE);
    assert_int_equal(parse(state, NULL, "a=%41", 5, &strict, &f), FORM_OK);
}

static void holds_the_limits(void **state)
{
    form_limits two = {.fields = 2}, short_name = {.name = 3}, short_value = {.value = 3};
    found f = {{0}, 0, 0, 0};

    assert_int_equal(parse(state, NULL, "a=1&b=2", 7, &two, &f), FORM_OK);
    assert_int_equal(parse(state, NULL, "a&b&c", 5, &two, &f), FORM_TOO_MANY_FIELDS);
    assert_int_equal(parse(state, NULL, "abc=1", 5, &short_name, &f), FORM_OK);
    assert_int_equal(parse(state, NULL, "%61bcd=1", 8, &short_name, &f), FORM_FIELD_TOO_LARGE);
    assert_int_equal(parse(state, NULL, "a=123", 5, &short_value, &f), FORM_OK);
    assert_int_equal(parse(state, NULL, "a=1234", 6, &short_value, &f), FORM_FIELD_TOO_LARGE);
}

static void limits_the_fields_without_being_asked(void **state)
{
    char many[2 * FORM_MAX_FIELDS + 2];
    found f = {{0}, 0, 0, 0};
    int i;

    for (i = 0; i <= FORM_MAX_FIELDS; i++)
        memcpy(many + 2 * i, "a&", 2);
    assert_int_equal(parse(state, NULL, many, 2 * FORM_MAX_FIELDS, NULL, &f), FORM_OK);
    assert_int_equal(f.fields, FORM_MAX_FIELDS);
    f = (found){{0}, 0, 0, 0};
    assert_int_equal(parse(state, NULL, many, sizeof(many), NULL, &f), FORM_TOO_MANY_FIELDS);
}

static void stops_when_the_callback_says_so(void **state)
{
    found f = {{0}, 0, 0, 2};

    assert_int_equal(parse(state, NULL, "a&b&c", 5, NULL, &f), FORM_STOPPED);
    assert_string_equal(f.text, "a;b;");
}

/* --- multipart --- */

#define MULTIPART   "multipart/form-data; boundary=XX"
#define FIELD(name) "Content-Disposition: form-data; name=\"" name "\"\r\n\r\n"

static void reads_parts_in_order(void **state)
{
    finds(state, MULTIPART,
          "--XX\r\n" FIELD("a") "one\r\n--XX\r\n" FIELD("b") "two\r\nlines\r\n--XX--\r\n",
          "a=one;b=two\r\nlines;");
}

static void reads_an_empty_form(void **state)
{
    finds(state, MULTIPART, "--XX--\r\n", "");
    finds(state, MULTIPART, "--XX--", "");
}

static void keeps_an_empty_field_in_the_first_place(void **state)
{
    finds(state, MULTIPART, "--XX\r\n" FIELD("a") "\r\n--XX\r\n" FIELD("b") "2\r\n--XX--",
          "a=;b=2;");
    finds(state, MULTIPART, "--XX\r\n" FIELD("a") "--XX\r\n" FIELD("b") "2\r\n--XX--", "a=;b=2;");
}

static void reads_a_file(void **state)
{
    finds(state, MULTIPART,
          "--XX\r\ncontent-disposition: Form-Data; name=up; filename=\"x y.txt\"\r\n"
          "content-type: text/plain\r\n\r\nhello\r\n--XX--\r\n",
          "up=hello<x y.txt|text/plain>;");
    finds(state, MULTIPART,
          "--XX\r\nContent-Disposition: form-data; name=up; filename=\"\"\r\n\r\n\r\n--XX--\r\n",
          "up=<|>;");
}

static void keeps_binary_values_exactly(void **state)
{
    static const char body[] = "--XX\r\n" FIELD("a") "\r\n\0--X\r\n--XY\n\r\n\r\n--XX--\r\n";

    finds_bytes(state, MULTIPART, body, sizeof(body) - 1, "a=\r\n\\0--X\r\n--XY\n\r\n;");
}

static void takes_the_boundary_however_it_is_written(void **state)
{
    static const char *const types[] = {
        "multipart/form-data; boundary=XX",
        "multipart/form-data; boundary=\"XX\"",
        "multipart/form-data;boundary=XX",
        "multipart/form-data; Boundary=XX",
        "multipart/form-data; charset=utf-8; boundary=XX",
        "multipart/form-data; boundary=XX; charset=utf-8",
        "multipart/form-data; a=\";boundary=no\"; boundary = XX ",
        "multipart/form-data; boundary=\"\\XX\"; boundary=YY",
    };
    size_t i;

    for (i = 0; i < sizeof(types) / sizeof(types[0]) - 1; i++)
        finds(state, types[i], "--XX\r\n" FIELD("a") "1\r\n--XX--\r\n", "a=1;");
    fails(state, types[i], "--XX\r\n" FIELD("a") "1\r\n--XX--\r\n", FORM_BAD_MULTIPART);
}

static void refuses_a_missing_boundary(void **state)
{
    char longest[400] = "multipart/form-data; boundary=";

    fails(state, "multipart/form-data", "--XX--", FORM_NO_BOUNDARY);
    fails(state, "multipart/form-data; boundary", "--XX--", FORM_NO_BOUNDARY);
    fails(state, "multipart/form-data; boundary=", "--XX--", FORM_NO_BOUNDARY);
    fails(state, "multipart/form-data; boundary=\"\"", "--XX--", FORM_NO_BOUNDARY);
    memset(longest + strlen(longest), 'x', 201);
    fails(state, longest, "--XX--", FORM_NO_BOUNDARY);
}

static void survives_what_once_broke_a_server(void **state)
{
    fails(state, "multipart/form-data; boundary=4",
          "4\r\nContent-Disposition: form-data; name=\"name\"\r\n\r\n04\r\n", FORM_BAD_MULTIPART);
}

static void ignores_what_is_before_and_after(void **state)
{
    finds(state, MULTIPART, "preamble\r\n--XX\r\n" FIELD("a") "1\r\n--XX--\r\nepilogue --XX\r\n",
          "a=1;");
}

static void takes_bare_line_feeds_and_blanks_after_a_boundary(void **state)
{
    finds(state, MULTIPART,
          "--XX \t\nContent-Disposition: form-data; name=a\n\n1\n--XX\n"
          "Content-Disposition: form-data; name=b\n\n2\n--XX--\n",
          "a=1;b=2;");
}

static void takes_a_boundary_only_as_a_whole_line(void **state)
{
    finds(state, MULTIPART, "--XX\r\n" FIELD("a") "x--XX\r\n--XXX\r\n--XX-\r\n--XX y\r\n--XX--\r\n",
          "a=x--XX\r\n--XXX\r\n--XX-\r\n--XX y;");
}

static void says_when_a_form_was_cut(void **state)
{
    fails(state, MULTIPART, "--XX\r\n" FIELD("a") "1\r\n", FORM_TRUNCATED);
    fails(state, MULTIPART, "--XX\r\n" FIELD("a") "1\r\n--X", FORM_TRUNCATED);
    fails(state, MULTIPART, "--XX\r\nContent-Disposition: form-data; name=a\r\n",
          FORM_BAD_MULTIPART);
    fails(state, MULTIPART, "--XX\r\n", FORM_BAD_MULTIPART);
    fails(state, MULTIPART, "", FORM_BAD_MULTIPART);
}

static void refuses_a_part_without_a_name(void **state)
{
    fails(state, MULTIPART, "--XX\r\n\r\n1\r\n--XX--", FORM_NO_NAME);
    fails(state, MULTIPART, "--XX\r\nContent-Disposition: form-data\r\n\r\n1\r\n--XX--",
          FORM_NO_NAME);
    fails(state, MULTIPART, "--XX\r\nContent-Disposition: attachment; name=a\r\n\r\n1\r\n--XX--",
          FORM_NO_NAME);
}

static void reads_folded_headers(void **state)
{
    finds(state, MULTIPART,
          "--XX\r\nContent-Disposition: form-data;\r\n\tname=\"a\"\r\n\r\n1\r\n--XX--", "a=1;");
}

static void unescapes_quotes_and_leaves_other_backslashes(void **state)
{
    finds(state, MULTIPART,
          "--XX\r\nContent-Disposition: form-data; name=\"a\\\"b\"; filename=\"C:\\dir\\f\"\r\n\r\n"
          "1\r\n--XX--",
          "a\"b=1<C:\\dir\\f|>;");
}

static void holds_the_limits_of_parts(void **state)
{
    static const char body[] = "--XX\r\n" FIELD("abc") "1234\r\n--XX\r\n" FIELD("b") "\r\n--XX--";
    form_limits one = {.fields = 1}, headers = {.headers = 20}, value = {.value = 3},
                name = {.name = 2};
    found f = {{0}, 0, 0, 0};

    assert_int_equal(parse(state, MULTIPART, body, sizeof(body) - 1, &one, &f),
                     FORM_TOO_MANY_FIELDS);
    assert_int_equal(parse(state, MULTIPART, body, sizeof(body) - 1, &headers, &f),
                     FORM_FIELD_TOO_LARGE);
    assert_int_equal(parse(state, MULTIPART, body, sizeof(body) - 1, &value, &f),
                     FORM_FIELD_TOO_LARGE);
    assert_int_equal(parse(state, MULTIPART, body, sizeof(body) - 1, &name, &f),
                     FORM_FIELD_TOO_LARGE);
}

static int note_headers(void *baton, const form_field *field)
{
    *(char **)baton =
        apr_pstrmemdup(*(apr_pool_t **)baton, field->headers.bytes, field->headers.length);
    return 0;
}

static void shows_the_headers_of_a_part(void **state)
{
    static const char body[] = "--XX\r\nX-A: 1\r\n" FIELD("a") "1\r\n--XX--";
    void *baton = *state;

    assert_int_equal(
        form_parse_multipart(*state, MULTIPART, body, sizeof(body) - 1, NULL, note_headers, &baton),
        FORM_OK);
    assert_string_equal(baton, "X-A: 1\r\nContent-Disposition: form-data; name=\"a\"\r\n");
}

static void knows_the_kinds_of_form(void **state)
{
    (void)state;
    assert_int_equal(form_kind_of(NULL), FORM_OTHER);
    assert_int_equal(form_kind_of(""), FORM_OTHER);
    assert_int_equal(form_kind_of("text/plain"), FORM_OTHER);
    assert_int_equal(form_kind_of("application/x-www-form-urlencoded"), FORM_URLENCODED);
    assert_int_equal(form_kind_of(" Application/X-WWW-Form-URLEncoded ; charset=x"),
                     FORM_URLENCODED);
    assert_int_equal(form_kind_of("application/x-www-form-urlencoded2"), FORM_OTHER);
    assert_int_equal(form_kind_of("Multipart/Form-Data;boundary=x"), FORM_MULTIPART);
    assert_int_equal(form_kind_of("multipart/mixed; boundary=x"), FORM_OTHER);
}

static void finds_a_parameter(void **state)
{
    static const char text[] = "form-data; name=\"x;y\"; flag; filename=z ; empty=";
    form_text header = {text, sizeof(text) - 1}, absent = {NULL, 0}, value = {NULL, 0};

    assert_int_equal(form_parameter(*state, header, "name", &value), 1);
    assert_int_equal(value.length, 3);
    assert_memory_equal(value.bytes, "x;y", 3);
    assert_int_equal(form_parameter(*state, header, "FileName", &value), 1);
    assert_int_equal(value.length, 1);
    assert_int_equal(form_parameter(*state, header, "empty", &value), 1);
    assert_int_equal(value.length, 0);
    assert_int_equal(form_parameter(*state, header, "flag", &value), 0);
    assert_int_equal(form_parameter(*state, header, "y\"", &value), 0);
    assert_int_equal(form_parameter(*state, absent, "name", &value), 0);
}

static void has_words_for_every_error(void **state)
{
    int e;

    (void)state;
    for (e = FORM_OK; e <= FORM_NO_MEMORY; e++)
        assert_true(strlen(form_error_text(e)) > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT_TEST(reads_pairs_in_order),
        UNIT_TEST(decodes_plus_and_percent),
        UNIT_TEST(tells_an_empty_value_from_none),
        UNIT_TEST(skips_empty_pairs),
        UNIT_TEST(splits_at_the_first_equals_only),
        UNIT_TEST(leaves_malformed_escapes_as_they_are),
        UNIT_TEST(refuses_malformed_escapes_when_strict),
        UNIT_TEST(holds_the_limits),
        UNIT_TEST(limits_the_fields_without_being_asked),
        UNIT_TEST(stops_when_the_callback_says_so),
        UNIT_TEST(reads_parts_in_order),
        UNIT_TEST(reads_an_empty_form),
        UNIT_TEST(keeps_an_empty_field_in_the_first_place),
        UNIT_TEST(reads_a_file),
        UNIT_TEST(keeps_binary_values_exactly),
        UNIT_TEST(takes_the_boundary_however_it_is_written),
        UNIT_TEST(refuses_a_missing_boundary),
        UNIT_TEST(survives_what_once_broke_a_server),
        UNIT_TEST(ignores_what_is_before_and_after),
        UNIT_TEST(takes_bare_line_feeds_and_blanks_after_a_boundary),
        UNIT_TEST(takes_a_boundary_only_as_a_whole_line),
        UNIT_TEST(says_when_a_form_was_cut),
        UNIT_TEST(refuses_a_part_without_a_name),
        UNIT_TEST(reads_folded_headers),
        UNIT_TEST(unescapes_quotes_and_leaves_other_backslashes),
        UNIT_TEST(holds_the_limits_of_parts),
        UNIT_TEST(shows_the_headers_of_a_part),
        UNIT_TEST(knows_the_kinds_of_form),
        UNIT_TEST(finds_a_parameter),
        UNIT_TEST(has_words_for_every_error),
    };
    int failed;

    apr_initialize();
    failed = cmocka_run_group_tests_name("form", tests, NULL, NULL);
    apr_terminate();
    return failed;
}
