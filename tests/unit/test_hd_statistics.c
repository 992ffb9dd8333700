/* SPDX-License-Identifier: Apache-2.0
 * The driver's statistics against values worked out elsewhere, and its JSON reader and writer. */
#include "bench/httpdrive/json_read.h"
#include "bench/httpdrive/json_write.h"
#include "bench/httpdrive/pace.h"
#include "bench/httpdrive/statistics.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define NEAR(value, expected, tolerance) assert_true(fabs((value) - (expected)) <= (tolerance))

static void finds_medians(void **state)
{
    static const double odd[] = {300, 10, 20}, even[] = {4, 1, 3, 2};

    (void)state;
    assert_true(statistics_median(odd, 3) == 20);
    assert_true(statistics_median(even, 4) == 2.5);
    assert_true(isnan(statistics_median(odd, 0)));
}

static void has_exact_p_of_signed_ranks(void **state)
{
    static const double six[] = {1, 2, 3, 4, 5, 6}, mixed[] = {1, -2, 3, 4, 5, 6, 7, 8};
    static const double tied[] = {1, 1, 1, -1, 2, 2}, zeros[] = {0, 0, 1, 2, 3, 4, 5, 6};

    (void)state;
    NEAR(statistics_wilcoxon(six, 6), 2.0 / 64, 1e-12);
    NEAR(statistics_wilcoxon(six, 5), 2.0 / 32, 1e-12);
    NEAR(statistics_wilcoxon(mixed, 8), 6.0 / 256, 1e-12); /* sums of 0, 1 and 2, at both ends */
    NEAR(statistics_wilcoxon(tied, 6), 10.0 / 64, 1e-12);
    NEAR(statistics_wilcoxon(zeros, 8), 2.0 / 64, 1e-12);
    NEAR(statistics_wilcoxon(six, 0), 1, 1e-12);
}

static void has_exact_p_of_two_sets(void **state)
{
    static const double low[] = {1, 2, 3, 4}, high[] = {5, 6, 7, 8}, same[] = {2, 2, 2, 2};

    (void)state;
    NEAR(statistics_mann_whitney(low, 4, high, 4), 2.0 / 70, 1e-12);
    NEAR(statistics_mann_whitney(low, 3, high, 3), 2.0 / 20, 1e-12);
    NEAR(statistics_mann_whitney(same, 4, same, 4), 1, 1e-12);
}

static void agrees_with_the_normal_distribution_for_many(void **state)
{
    double a[200], b[200], differences[200];
    uint64_t random = 3;

    (void)state;
    for (int i = 0; i < 200; i++) {
        a[i] = random_unit(&random);
        b[i] = random_unit(&random) + 0.05;
        differences[i] = b[i] - a[i];
    }
    /* The exact and the normal p of the same 60 numbers lie close together. */
    double exact = statistics_wilcoxon(differences, 60),
           normal = statistics_wilcoxon(differences, 61);
    NEAR(exact, normal, 0.15);
    assert_true(statistics_mann_whitney(a, 200, b, 200) < 0.2);
    assert_true(statistics_mann_whitney(a, 200, a, 200) > 0.99);
}

static double noise(uint64_t *random)
{
    return 1 + 0.1 * (random_unit(random) - 0.5);
}

static void seldom_sees_a_difference_where_none_is(void **state)
{
    uint64_t random = 11;
    int seen = 0;

    (void)state;
    for (int t = 0; t < 100; t++) {
        double a[12], b[12];
        for (int i = 0; i < 12; i++) {
            double common = noise(&random);
            a[i] = 1000 * common * noise(&random);
            b[i] = 1000 * common * noise(&random);
        }
        seen += statistics_paired(a, b, 12, (uint64_t)t).different;
    }
    assert_true(seen <= 10);
}

static void sees_a_difference_that_is_there(void **state)
{
    uint64_t random = 12;
    int paired = 0, unpaired = 0;

    (void)state;
    for (int t = 0; t < 100; t++) {
        double a[12], b[12];
        struct comparison c;
        for (int i = 0; i < 12; i++) {
            a[i] = 1000 * noise(&random);
            b[i] = 900 * noise(&random);
        }
        c = statistics_paired(a, b, 12, (uint64_t)t);
        paired += c.different && c.ratio > 0.85 && c.ratio < 0.95 && c.low <= c.ratio &&
                  c.ratio <= c.high && c.detectable > 0.01 && c.detectable < 0.15;
        unpaired += statistics_unpaired(a, 12, b, 12, (uint64_t)t).different;
    }
    assert_true(paired >= 97);
    assert_true(unpaired >= 97);
}

static void corrects_for_several_comparisons(void **state)
{
    struct comparison all[3] = {{.p = 0.04, .low = 1.1, .high = 1.2},
                                {.p = 0.01, .low = 1.1, .high = 1.2},
                                {.p = 0.03, .low = 1.1, .high = 1.2}};

    (void)state;
    statistics_correct(all, 3);
    NEAR(all[1].p_adjusted, 0.03, 1e-12);
    NEAR(all[2].p_adjusted, 0.06, 1e-12);
    NEAR(all[0].p_adjusted, 0.06, 1e-12);
    assert_true(all[1].different && !all[0].different && !all[2].different);
}

static char problem[200];

static bool reads(const char *text)
{
    struct json_document d;
    size_t n = strlen(text);
    char *exact = malloc(n ? n : 1);
    bool fine;

    memcpy(exact, text, n);
    fine = json_parse(&d, exact, n, problem, sizeof(problem));
    free(exact);
    if (fine)
        json_free(&d);
    return fine;
}

static void reads_json(void **state)
{
    static const char text[] =
        " {\"a\": [1, -2.5e1, true, null, []], \"b\\n\\u00e9\\ud83d\\ude00\": "
        "\"x\\\"y\", \"c\": 18446744073709551615, \"a\": 2} ";
    struct json_document d;

    (void)state;
    assert_true(json_parse(&d, text, strlen(text), problem, sizeof(problem)));
    const struct json_node *first = json_member(d.root, "a")->first;
    assert_true(first->count == 1 && first->next->number == -25);
    assert_string_equal(json_get_text(d.root, "b\n\xc3\xa9\xf0\x9f\x98\x80"), "x\"y");
    assert_true(json_get_count(d.root, "c") == UINT64_MAX);
    assert_true(json_get_number(d.root, "none", 7) == 7);
    assert_null(json_member(NULL, "a"));
    json_free(&d);
}

static void refuses_what_is_no_json(void **state)
{
    static const char *const bad[] = {
        "",      "[",   "[1,]",    "{\"a\"}",   "{\"a\":}", "[1 2]", "nul",         "01x",
        "+1",    "\"a", "\"\\x\"", "\"\\u12\"", "1 2",      "[1}",   "\"\\ud800\"", "\"\\u0000\"",
        "{1:2}", "-",   "1e999"};
    char deep[300];

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        if (reads(bad[i]))
            print_error("taken: %s\n", bad[i]);
        assert_false(reads(bad[i]));
    }
    memset(deep, '[', sizeof(deep) - 1);
    deep[sizeof(deep) - 1] = '\0';
    assert_false(reads(deep));
    deep[60] = '\0';
    assert_false(reads(deep));
}

static void writes_what_it_can_read(void **state)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    struct json_writer j = {.out = out};
    struct json_document d;

    (void)state;
    json_open(&j, NULL, '{');
    json_text(&j, "text", "quote \" back \\ line \n </script> \xc3\xa9 \xff");
    json_number(&j, "number", 1.5);
    json_number(&j, "none", NAN);
    json_open_flat(&j, "list", '[');
    json_count(&j, NULL, 1);
    json_integer(&j, NULL, -2);
    json_close(&j, ']');
    json_bool(&j, "yes", true);
    json_open(&j, "empty", '{');
    json_close(&j, '}');
    json_close(&j, '}');
    fclose(out);
    assert_null(strstr(text, "</script>"));
    assert_true(json_parse(&d, text, size, problem, sizeof(problem)));
    assert_string_equal(json_get_text(d.root, "text"),
                        "quote \" back \\ line \n </script> \xc3\xa9 \xc3\xbf");
    assert_true(json_get_number(d.root, "number", 0) == 1.5 && json_get_bool(d.root, "yes"));
    assert_true(json_member(d.root, "list")->first->next->number == -2);
    json_free(&d);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_medians),
        cmocka_unit_test(has_exact_p_of_signed_ranks),
        cmocka_unit_test(has_exact_p_of_two_sets),
        cmocka_unit_test(agrees_with_the_normal_distribution_for_many),
        cmocka_unit_test(seldom_sees_a_difference_where_none_is),
        cmocka_unit_test(sees_a_difference_that_is_there),
        cmocka_unit_test(corrects_for_several_comparisons),
        cmocka_unit_test(reads_json),
        cmocka_unit_test(refuses_what_is_no_json),
        cmocka_unit_test(writes_what_it_can_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
