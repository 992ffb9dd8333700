/* SPDX-License-Identifier: Apache-2.0
 * header_check: which bytes a script may put in a header. */
#include "tests/unit/unit.h"
#include "modules/common/header_check.h"

#include <string.h>

static void takes_ordinary_names(void **state)
{
    (void)state;
    assert_null(header_check_name("X-Answer", 8));
    assert_null(header_check_name("a", 1));
    assert_null(header_check_name("!#$%&'*+-.^_`|~09azAZ", 21));
}

static void refuses_names_that_would_split_a_message(void **state)
{
    (void)state;
    assert_non_null(strstr(header_check_name("A\nB", 3), "line feed"));
    assert_non_null(strstr(header_check_name("A\rB", 3), "carriage return"));
    assert_non_null(strstr(header_check_name("A\0B", 3), "NUL"));
}

static void refuses_names_that_are_no_token(void **state)
{
    static const char bad[] = " \"(),/:;<=>?@[\\]{}\t\x1f\x7f\x80\xff";
    size_t i;

    (void)state;
    assert_non_null(header_check_name("", 0));
    for (i = 0; i < sizeof(bad) - 1; i++)
        assert_non_null(header_check_name(&bad[i], 1));
}

static void takes_ordinary_values(void **state)
{
    (void)state;
    assert_null(header_check_value("", 0));
    assert_null(header_check_value("text/html; charset=utf-8", 24));
    assert_null(header_check_value("tab\tand \xc3\xa9\xff", 11));
}

static void refuses_values_that_would_split_a_message(void **state)
{
    (void)state;
    assert_non_null(strstr(header_check_value("a\r\nSet-Cookie: x", 16), "carriage return"));
    assert_non_null(strstr(header_check_value("a\nb", 3), "line feed"));
    assert_non_null(strstr(header_check_value("a\0b", 3), "NUL"));
    assert_non_null(strstr(header_check_value("\n", 1), "line feed"));
}

/* Each byte at each place: values are looked at by words, and the rest byte by byte. */
static void refuses_control_characters_in_values(void **state)
{
    int c, place;

    (void)state;
    for (c = 0; c < 256; c++) {
        for (place = 0; place < 18; place++) {
            char value[] = "abc ~\x80\xff \t@abcdefgh";

            value[place] = (char)c;
            assert_int_equal(header_check_value(value, 18) == NULL,
                             c == '\t' || (c >= 0x20 && c != 0x7f));
        }
    }
}

static void looks_no_further_than_the_length(void **state)
{
    (void)state;
    assert_null(header_check_value("ab\n", 2));
    assert_null(header_check_name("ab:", 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_ordinary_names),
        cmocka_unit_test(refuses_names_that_would_split_a_message),
        cmocka_unit_test(refuses_names_that_are_no_token),
        cmocka_unit_test(takes_ordinary_values),
        cmocka_unit_test(refuses_values_that_would_split_a_message),
        cmocka_unit_test(refuses_control_characters_in_values),
        cmocka_unit_test(looks_no_further_than_the_length),
    };

    return cmocka_run_group_tests_name("header_check", tests, NULL, NULL);
}
