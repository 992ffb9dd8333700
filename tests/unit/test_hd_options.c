/* SPDX-License-Identifier: Apache-2.0
 * The driver's command line and URLs. */
#include "bench/httpdrive/options.h"
#include "bench/httpdrive/url.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#define MAX_ARGUMENTS 40

static char error[300];

/* Parses words separated by blanks. */
static bool parse(struct options *o, const char *line)
{
    static char copy[300];
    const char *arguments[MAX_ARGUMENTS];
    int count = 0;

    strcpy(copy, line);
    for (char *word = strtok(copy, " "); word && count < MAX_ARGUMENTS; word = strtok(NULL, " "))
        arguments[count++] = word;
    options_init(o);
    error[0] = '\0';
    return options_parse(o, count, arguments, error, sizeof(error));
}

static void refuses(const char *line, const char *part_of_message)
{
    static struct options o;

    assert_false(parse(&o, line));
    if (!strstr(error, part_of_message))
        print_error("'%s' says: %s\n", line, error);
    assert_non_null(strstr(error, part_of_message));
}

static void takes_abs_options(void **state)
{
    static struct options o;

    (void)state;
    assert_true(
        parse(&o, "-n 1000 -c10 -t 5 -s 2 -k -q -d -r -l -H A:b -HC:d -C x=1 -C y=2 -v 2 -A u:p "
                  "http://h/"));
    assert_int_equal(o.requests, 1000);
    assert_int_equal(o.connections, 10);
    assert_int_equal(o.duration, 5 * NSEC_PER_SEC);
    assert_int_equal(o.timeout, 2 * NSEC_PER_SEC);
    assert_int_equal(o.headers.count, 2);
    assert_string_equal(o.headers.items[1], "C:d");
    assert_int_equal(o.cookies.count, 2);
    assert_true(o.keepalive && o.keepalive_asked && o.quiet && o.no_percentiles);
    assert_int_equal(o.verbosity, 2);
    assert_string_equal(o.url, "http://h/");
}

static void takes_letters_in_a_row(void **state)
{
    static struct options o;

    (void)state;
    assert_true(parse(&o, "http://h/ -kqn100"));
    assert_true(o.keepalive_asked && o.quiet);
    assert_int_equal(o.requests, 100);
}

static void takes_long_options_both_ways(void **state)
{
    static struct options o;

    (void)state;
    assert_true(
        parse(&o, "--rate=100.5 --timeout 250ms --no-keepalive --requests=2M -- http://h/"));
    assert_true(o.rate == 100.5);
    assert_int_equal(o.timeout, 250 * NSEC_PER_MSEC);
    assert_int_equal(o.requests, 2000000);
    assert_false(o.keepalive);
}

static void has_abs_defaults_where_ab_has_them(void **state)
{
    static struct options o;

    (void)state;
    assert_true(parse(&o, "http://h/"));
    assert_int_equal(o.requests, 1);
    assert_int_equal(o.connections, 1);
    assert_true(o.keepalive);
    assert_true(parse(&o, "-t 3 http://h/"));
    assert_int_equal(o.requests, 0);
    assert_true(parse(&o, "--ab -n 5 http://h/"));
    assert_false(o.keepalive);
    assert_true(parse(&o, "--ab -k http://h/"));
    assert_true(o.keepalive);
    assert_true(parse(&o, "-n 5 -c 10 -j 20 http://h/"));
    assert_int_equal(o.connections, 5);
    assert_int_equal(o.threads, 5);
}

static void says_what_is_wrong(void **state)
{
    (void)state;
    refuses("", "the URL is missing");
    refuses("-n", "-n needs N");
    refuses("-n 0 http://h/", "-n: '0' is not a count");
    refuses("-n 1x http://h/", "-n: '1x' is not a count");
    refuses("-n 99999999999999999999 http://h/", "is not a count");
    refuses("-c -5 http://h/", "-c: '-5'");
    refuses("-t 5days http://h/", "-t: '5days' is not a time");
    refuses("-t nan http://h/", "is not a time");
    refuses("--rate 0 http://h/", "--rate: '0' is not a number above 0");
    refuses("--rate 0x10 http://h/", "--rate");
    refuses("--ratee 5 http://h/", "--ratee is not an option");
    refuses("-J http://h/", "-J is not an option");
    refuses("--poisson http://h/", "--poisson needs --rate");
    refuses("--poisson=1 http://h/", "--poisson takes no value");
    refuses("-i -p file http://h/", "-i cannot be combined");
    refuses("-p a -u b http://h/", "only one of");
    refuses("http://a/ http://b/", "is a second one");
    refuses("--segment 4/4 http://h/", "--segment: '4/4'");
    refuses("--warmup soon http://h/", "--warmup: 'soon'");
}

static void reads_warmup_in_three_ways(void **state)
{
    static struct options o;

    (void)state;
    assert_true(parse(&o, "--warmup 1.5s http://h/"));
    assert_int_equal(o.warmup_time, 1500 * NSEC_PER_MSEC);
    assert_true(parse(&o, "--warmup 1000r http://h/"));
    assert_int_equal(o.warmup_requests, 1000);
    assert_true(parse(&o, "--warmup auto http://h/"));
    assert_true(o.warmup_auto);
}

static void reads_times_and_counts(void **state)
{
    nsec t;
    uint64_t n;

    (void)state;
    assert_true(options_time("10", &t) && t == 10 * NSEC_PER_SEC);
    assert_true(options_time("1.5m", &t) && t == 90 * NSEC_PER_SEC);
    assert_true(options_time("3us", &t) && t == 3000);
    assert_false(options_time("", &t));
    assert_false(options_time("-1", &t));
    assert_false(options_time("1e30h", &t));
    assert_true(options_count("18446744073709551615", &n) && n == UINT64_MAX);
    assert_true(options_count("1.5k", &n) && n == 1500);
    assert_false(options_count("18446744073709551616", &n));
    assert_false(options_count("1.5", &n));
    assert_false(options_count("", &n));
}

struct url_case {
    const char *text, *host, *path, *authority;
    unsigned port;
    bool tls;
};

static void takes_urls_apart(void **state)
{
    static const struct url_case cases[] = {
        {"http://localhost/a?b#c", "localhost", "/a?b", "localhost", 80, false},
        {"HTTPS://Example.com", "Example.com", "", "Example.com", 443, true},
        {"http://h:8080", "h", "", "h:8080", 8080, false},
        {"http://h:/x", "h", "/x", "h", 80, false},
        {"https://h:80/", "h", "/", "h:80", 80, true},
        {"http://h?q=/x@y:1", "h", "?q=/x@y:1", "h", 80, false},
        {"http://[::1]:81/x", "::1", "/x", "[::1]:81", 81, false},
        {"http://[fe80::1%25lo]/", "fe80::1%lo", "/", "[fe80::1]", 80, false},
        {"http://u:p%40ss@h/", "h", "/", "h", 80, false},
        {"h:81/path", "h", "/path", "h:81", 81, false},
        {"h/?to=http://i/", "h", "/?to=http://i/", "h", 80, false},
    };
    char authority[100];
    struct url u;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct url_case *c = &cases[i];
        if (!url_parse(&u, c->text, error, sizeof(error)))
            print_error("%s: %s\n", c->text, error);
        assert_true(url_parse(&u, c->text, error, sizeof(error)));
        assert_string_equal(u.host, c->host);
        assert_int_equal(u.path_length, strlen(c->path));
        assert_memory_equal(u.path, c->path, u.path_length);
        assert_int_equal(u.port, c->port);
        assert_int_equal(u.tls, c->tls);
        url_authority(&u, authority, sizeof(authority));
        assert_string_equal(authority, c->authority);
    }
    assert_true(url_parse(&u, "http://u:p%40ss@h/", error, sizeof(error)));
    assert_string_equal(u.userinfo, "u:p@ss");
    assert_true(url_parse(&u, "unix:/run/x:http://h/y", error, sizeof(error)));
    assert_string_equal(u.unix_path, "/run/x");
    assert_string_equal(u.host, "h");
}

static void says_what_is_wrong_with_a_url(void **state)
{
    static const char *const cases[][2] = {
        {"ftp://h/", "only http:// and https://"},
        {"http://", "host name is missing"},
        {"http://:80/", "host name is missing"},
        {"http://h:99999/", "is no port"},
        {"http://h:0/", "port 0"},
        {"http://h:8a/", "is no port"},
        {"http://[::1/", "not closed"},
        {"http://[::1]x/", "follows the IPv6 address"},
        {"http://[%0d%0aX:%20y]/", "is no IPv6 address"},
        {"http://h/a b", "%20"},
        {"http://h/\r\nX: y", "%0D"},
        {"unix:/run/x", "a UNIX socket is written"},
        {"unix::http://h/", "missing after 'unix:'"},
    };
    char long_host[400];
    struct url u;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        assert_false(url_parse(&u, cases[i][0], error, sizeof(error)));
        if (!strstr(error, cases[i][1]))
            print_error("%s: %s\n", cases[i][0], error);
        assert_non_null(strstr(error, cases[i][1]));
    }
    memset(long_host, 'h', sizeof(long_host) - 1);
    long_host[sizeof(long_host) - 1] = '\0';
    assert_false(url_parse(&u, long_host, error, sizeof(error)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_abs_options),
        cmocka_unit_test(takes_letters_in_a_row),
        cmocka_unit_test(takes_long_options_both_ways),
        cmocka_unit_test(has_abs_defaults_where_ab_has_them),
        cmocka_unit_test(says_what_is_wrong),
        cmocka_unit_test(reads_warmup_in_three_ways),
        cmocka_unit_test(reads_times_and_counts),
        cmocka_unit_test(takes_urls_apart),
        cmocka_unit_test(says_what_is_wrong_with_a_url),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
