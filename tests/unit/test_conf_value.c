/* SPDX-License-Identifier: Apache-2.0
 * conf_value: what a directive's setter takes, what it says about the rest. */
#include "tests/unit/unit.h"
#include "modules/common/conf_value.h"

#include <string.h>

#define SECOND ((apr_int64_t)APR_USEC_PER_SEC)

typedef struct conf {
    int count;
    apr_int64_t size;
    apr_int64_t duration;
    int word;
    int flag;
} conf;

static const char *const modes[] = {"pool", "fresh", "lock", NULL};

static void *count_slot = CONF_SLOT(conf, count, 1, 100);
static void *size_slot = CONF_SLOT(conf, size, 1024, 64 * 1024);
static void *duration_slot = CONF_SLOT(conf, duration, 0, 3600 * SECOND);
static void *word_slot = CONF_WORD_SLOT(conf, word, modes);
static void *flag_slot = CONF_SLOT(conf, flag, 0, 1);

typedef const char *(*setter)(cmd_parms *cmd, void *dir, const char *text);

/* Calls a setter as httpd does, for directive "Thing" in a <Directory>. */
static const char *set(void **state, setter f, void *slot, conf *c, const char *text)
{
    command_rec command = {.name = "Thing"};
    cmd_parms cmd = {.cmd = &command, .info = slot, .pool = *state};

    return f(&cmd, c, text);
}

static void assert_says(const char *message, const char *part)
{
    assert_non_null(message);
    if (!strstr(message, part))
        fail_msg("\"%s\" does not say \"%s\"", message, part);
}

static void takes_counts_in_their_range(void **state)
{
    conf c = {0};

    assert_null(set(state, conf_set_count, count_slot, &c, "1"));
    assert_int_equal(c.count, 1);
    assert_null(set(state, conf_set_count, count_slot, &c, "100"));
    assert_int_equal(c.count, 100);
}

static void says_what_is_wrong_with_a_count(void **state)
{
    conf c = {.count = 7};

    assert_string_equal(set(state, conf_set_count, count_slot, &c, "0"),
                        "Thing: \"0\" is out of range, which is 1 to 100");
    assert_string_equal(set(state, conf_set_count, count_slot, &c, "many"),
                        "Thing: \"many\" is not a whole number");
    assert_says(set(state, conf_set_count, count_slot, &c, "101"), "out of range");
    assert_says(set(state, conf_set_count, count_slot, &c, "99999999999999999999"), "out of range");
    assert_says(set(state, conf_set_count, count_slot, &c, "-1"), "not a whole number");
    assert_says(set(state, conf_set_count, count_slot, &c, "1.5"), "not a whole number");
    assert_says(set(state, conf_set_count, count_slot, &c, ""), "not a whole number");
    assert_says(set(state, conf_set_count, count_slot, &c, " 1"), "not a whole number");
    assert_int_equal(c.count, 7);
}

static void takes_sizes_with_their_units(void **state)
{
    static const struct {
        const char *text;
        apr_int64_t value;
    } good[] = {{"1024", 1024}, {"1024B", 1024}, {"2K", 2048},         {"2k", 2048},
                {"2kb", 2048},  {"1M", 1048576}, {"1MB", 1048576},     {"3G", 3221225472LL},
                {"0", 0},       {"0064", 64},    {"4GB", 4294967296LL}};
    apr_int64_t value;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_int_equal(conf_parse_size(good[i].text, &value), APR_SUCCESS);
        assert_int_equal(value, good[i].value);
    }
}

static void refuses_what_is_no_size(void **state)
{
    static const char *const bad[] = {"",     "K",  "1T", "1 K", "1KK",
                                      "0x10", "-1", "+1", "1K ", "1.5M"};
    apr_int64_t value;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(conf_parse_size(bad[i], &value), APR_EINVAL);
    assert_int_equal(conf_parse_size("9223372036854775807", &value), APR_SUCCESS);
    assert_int_equal(conf_parse_size("9223372036854775808", &value), APR_ERANGE);
    assert_int_equal(conf_parse_size("9223372036854775807K", &value), APR_ERANGE);
}

static void says_the_range_of_a_size_in_its_units(void **state)
{
    conf c = {0};

    assert_null(set(state, conf_set_size, size_slot, &c, "64K"));
    assert_int_equal(c.size, 65536);
    assert_string_equal(set(state, conf_set_size, size_slot, &c, "65K"),
                        "Thing: \"65K\" is out of range, which is 1K to 64K");
    assert_says(set(state, conf_set_size, size_slot, &c, "big"), "is not a size");
}

static void takes_durations_with_their_units(void **state)
{
    static const struct {
        const char *text;
        apr_int64_t value;
    } good[] = {{"5", 5 * SECOND}, {"10s", 10 * SECOND},   {"500ms", SECOND / 2},
                {"7us", 7},        {"2min", 120 * SECOND}, {"1h", 3600 * SECOND},
                {"0", 0},          {"3S", 3 * SECOND}};
    apr_int64_t value;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_int_equal(conf_parse_duration(good[i].text, &value), APR_SUCCESS);
        assert_int_equal(value, good[i].value);
    }
    assert_int_equal(conf_parse_duration("1 s", &value), APR_EINVAL);
    assert_int_equal(conf_parse_duration("1m", &value), APR_EINVAL);
    assert_int_equal(conf_parse_duration("9999999999999999h", &value), APR_ERANGE);
}

static void says_the_range_of_a_duration_in_its_units(void **state)
{
    conf c = {0};

    assert_null(set(state, conf_set_duration, duration_slot, &c, "1500ms"));
    assert_int_equal(c.duration, 1500000);
    assert_string_equal(set(state, conf_set_duration, duration_slot, &c, "2h"),
                        "Thing: \"2h\" is out of range, which is 0 to 1h");
    assert_says(set(state, conf_set_duration, duration_slot, &c, "soon"), "is not a duration");
}

static void takes_one_of_its_words(void **state)
{
    conf c = {0};

    assert_null(set(state, conf_set_word, word_slot, &c, "lock"));
    assert_int_equal(c.word, 2);
    assert_null(set(state, conf_set_word, word_slot, &c, "Pool"));
    assert_int_equal(c.word, 0);
    assert_string_equal(set(state, conf_set_word, word_slot, &c, "poo"),
                        "Thing: \"poo\" is not one of: pool, fresh, lock");
}

static void sets_a_flag(void **state)
{
    conf c = {.flag = CONF_UNSET};
    cmd_parms cmd = {.info = flag_slot, .pool = *state};

    assert_null(conf_set_flag(&cmd, &c, 1));
    assert_int_equal(c.flag, 1);
    assert_null(conf_set_flag(&cmd, &c, 0));
    assert_int_equal(c.flag, 0);
}

static module fake_module = {.module_index = 1};
static void *server_slot = CONF_SERVER_SLOT(fake_module, conf, count, 1, 100);

static void sets_the_servers_configuration_when_a_module_owns_it(void **state)
{
    conf of_server = {0}, of_directory = {0};
    void *vector[] = {NULL, &of_server};
    server_rec server = {.module_config = (ap_conf_vector_t *)vector};
    command_rec command = {.name = "Thing"};
    cmd_parms cmd = {.cmd = &command, .info = server_slot, .pool = *state, .server = &server};

    assert_null(conf_set_count(&cmd, &of_directory, "9"));
    assert_int_equal(of_server.count, 9);
    assert_int_equal(of_directory.count, 0);
}

static void picks_the_inner_value_where_there_is_one(void **state)
{
    conf base = {.count = 1, .flag = 1}, add = {.count = CONF_UNSET, .flag = 0};
    conf *b = &base, *a = &add;

    (void)state;
    assert_int_equal(PICK(a, b, count), 1);
    assert_int_equal(PICK(a, b, flag), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT_TEST(takes_counts_in_their_range),
        UNIT_TEST(says_what_is_wrong_with_a_count),
        UNIT_TEST(takes_sizes_with_their_units),
        UNIT_TEST(refuses_what_is_no_size),
        UNIT_TEST(says_the_range_of_a_size_in_its_units),
        UNIT_TEST(takes_durations_with_their_units),
        UNIT_TEST(says_the_range_of_a_duration_in_its_units),
        UNIT_TEST(takes_one_of_its_words),
        UNIT_TEST(sets_a_flag),
        UNIT_TEST(sets_the_servers_configuration_when_a_module_owns_it),
        UNIT_TEST(picks_the_inner_value_where_there_is_one),
    };
    int failed;

    apr_initialize();
    failed = cmocka_run_group_tests_name("conf_value", tests, NULL, NULL);
    apr_terminate();
    return failed;
}
