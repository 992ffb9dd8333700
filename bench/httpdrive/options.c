/* SPDX-License-Identifier: Apache-2.0
 * Reads a command line by the table of options; see options.h.
 *
 * A row says what an option's value has to be and where it goes: the parser knows kinds of values,
 * never a single option. It is written anew rather than taken from getopt_long() because ab's
 * letters may stand in one word ("-kn100"), because a message has to name the option and the range
 * it wants, and because a pure function can be tested and fuzzed: getopt keeps its place in global
 * variables.
 *
 * Values are not copied: they point into argv. What depends on several options is settled at the
 * end, in complete() and check_whole(), so that the order of the options does not matter (in ab, -t
 * before and after -n mean different things). */
#include "options.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How long each side of a comparison is measured in a round, unless -n or -t say so. */
#define COMPARE_TIME (2 * NSEC_PER_SEC)

/* The command line and how far it has been read. */
struct parser {
    struct options *options;
    int count, at;
    const char *const *arguments;
    char *error;
    size_t error_size;
};

/* What holds where nothing is said. Fields that are not named are 0: none, no bound, off. */
void options_init(struct options *o)
{
    memset(o, 0, sizeof(*o));
    o->keepalive = true;
    o->connections = 1;
    o->threads = 1;
    o->timeout = 30 * NSEC_PER_SEC;
    o->drain = NSEC_PER_SEC;
    o->segments = 1;
    o->rounds = 12;
}

/* What is wrong, for the caller to print. Always false. */
static bool __attribute__((format(printf, 2, 3)))
complain(struct parser *p, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(p->error, p->error_size, format, arguments);
    va_end(arguments);
    return false;
}

/* A number and the position after it; refuses what strtod would also take (nan, hex, blanks). */
static bool plain_number(const char *text, double *out, const char **rest)
{
    char *end;

    /* strtod() alone would also take "nan", "0x10", " 5" and "-5". */
    if (!strchr("0123456789.", *text) || !*text || text[strspn(text, "0")] == 'x')
        return false;
    errno = 0;
    *out = strtod(text, &end);
    *rest = end;
    return end != text && errno == 0 && isfinite(*out);
}

bool options_time(const char *text, nsec *out)
{
    static const struct {
        const char *unit;
        double seconds;
    } units[] = {{"", 1},      {"s", 1},  {"ms", 1e-3}, {"us", 1e-6},
                 {"ns", 1e-9}, {"m", 60}, {"h", 3600},  {"min", 60}};
    const char *unit;
    double number;

    if (!plain_number(text, &number, &unit))
        return false;
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
        if (strcmp(unit, units[i].unit) == 0 && number * units[i].seconds < 9e9) {
            *out = (nsec)llround(number * units[i].seconds * 1e9);
            return true;
        }
    }
    return false;
}

bool options_count(const char *text, uint64_t *out)
{
    const char *unit;
    char *end;
    double number, scale = 1;

    /* Whole numbers exactly: a double holds 53 bits only. */
    if (text[strspn(text, "0123456789")] == '\0' && *text) {
        errno = 0;
        *out = strtoull(text, &end, 10);
        return errno == 0;
    }
    if (!plain_number(text, &number, &unit) || !*unit || unit[1])
        return false;
    switch (*unit | 0x20) {
    case 'k':
        scale = 1e3;
        break;
    case 'm':
        scale = 1e6;
        break;
    case 'g':
        scale = 1e9;
        break;
    default:
        return false;
    }
    if (number * scale > 9e18)
        return false;
    *out = (uint64_t)llround(number * scale);
    return true;
}

/* "2s", "1000r" or "auto". */
static bool read_warmup(struct options *o, const char *text)
{
    size_t digits = strspn(text, "0123456789");

    o->warmup_auto = strcmp(text, "auto") == 0;
    if (o->warmup_auto)
        return true;
    if (digits && strcmp(text + digits, "r") == 0) {
        errno = 0;
        o->warmup_requests = strtoull(text, NULL, 10);
        return errno == 0;
    }
    return options_time(text, &o->warmup_time);
}

/* "0/4", or "auto" for what a launcher says. */
static bool read_segment(struct options *o, const char *text)
{
    unsigned long long part, parts;
    char rest;

    if (strcmp(text, "auto") == 0) {
        o->segments = 0; /* the environment tells, when the run is planned */
        return true;
    }
    if (text[strspn(text, "0123456789/")] || sscanf(text, "%llu/%llu%c", &part, &parts, &rest) != 2)
        return false;
    o->segment = part;
    o->segments = parts;
    return parts >= 1 && parts <= 100000 && part < parts;
}

/* A value that is kept as it was written. It is not copied: argv lives as long as the process. */
static bool store_text(struct parser *p, const struct option_row *row, const char *option,
                       const char *value)
{
    char *field = (char *)p->options + row->offset;

    if (row->kind == OPTION_LIST) {
        struct text_list *list = (struct text_list *)(void *)field;
        if (list->count == OPTIONS_LIST_MAX)
            return complain(p, "%s: given more than %d times", option, OPTIONS_LIST_MAX);
        list->items[list->count++] = value;
        return true;
    }
    if (!*value)
        return complain(p, "%s: %s is missing", option, row->argument);
    memcpy(field, &value, sizeof(value));
    return true;
}

/* A value with a range. memcpy: the field's type is known by the row alone. */
static bool store_number(struct parser *p, const struct option_row *row, const char *option,
                         const char *value)
{
    char *field = (char *)p->options + row->offset;
    const char *rest;
    uint64_t count;
    double number;
    nsec time;

    if (row->kind == OPTION_COUNT) {
        if (!options_count(value, &count) || count < row->low || count > row->high)
            return complain(p, "%s: '%s' is not a count from %llu to %llu", option, value,
                            (unsigned long long)row->low, (unsigned long long)row->high);
        memcpy(field, &count, sizeof(count));
    } else if (row->kind == OPTION_TIME) {
        if (!options_time(value, &time) || (uint64_t)time < row->low || (uint64_t)time > row->high)
            return complain(p, "%s: '%s' is not a time (like 10, 1.5s, 500ms, 2m)", option, value);
        memcpy(field, &time, sizeof(time));
    } else {
        if (!plain_number(value, &number, &rest) || *rest || number <= 0 || number > 1e15)
            return complain(p, "%s: '%s' is not a number above 0", option, value);
        memcpy(field, &number, sizeof(number));
    }
    return true;
}

/* Puts a value where its row says. */
static bool store(struct parser *p, const struct option_row *row, const char *option,
                  const char *value)
{
    char *field = (char *)p->options + row->offset;
    bool on = row->kind == OPTION_FLAG;

    switch (row->kind) {
    case OPTION_FLAG:
    case OPTION_OFF:
        memcpy(field, &on, sizeof(on));
        return true;
    case OPTION_COUNT:
    case OPTION_NUMBER:
    case OPTION_TIME:
        return store_number(p, row, option, value);
    case OPTION_TEXT:
    case OPTION_LIST:
        return store_text(p, row, option, value);
    case OPTION_WARMUP:
        return read_warmup(p->options, value) ||
               complain(p, "%s: '%s' is neither a time, nor a number of requests (1000r), nor auto",
                        option, value);
    case OPTION_SEGMENT:
        return read_segment(p->options, value) ||
               complain(p, "%s: '%s' is not I/N with I from 0 to N-1, nor auto", option, value);
    case OPTION_REFUSED:
        return complain(p, "%s: %s", option, row->help);
    case OPTION_IGNORED:
        break;
    }
    return true;
}

/* The value of an option stands in the next word. */
static bool next_argument(struct parser *p, const struct option_row *row, const char *option,
                          const char **value)
{
    if (p->at + 1 >= p->count)
        return complain(p, "%s needs %s", option, row->argument);
    *value = p->arguments[++p->at];
    return true;
}

/* "--rate=5" or "--rate 5". */
static bool long_option(struct parser *p, const char *text)
{
    const char *equals = strchr(text, '='), *value = NULL;
    size_t length = equals ? (size_t)(equals - text) : strlen(text);
    char option[64];

    snprintf(option, sizeof(option), "--%.*s", (int)(length < 48 ? length : 48), text);
    for (const struct option_row *row = option_table; row->help; row++) {
        if (!row->name || strlen(row->name) != length || strncmp(row->name, text, length) != 0)
            continue;
        if (!row->argument && equals)
            return complain(p, "%s takes no value", option);
        if (row->argument && equals) {
            value = equals + 1;
        } else if (row->argument && !next_argument(p, row, option, &value)) {
            return false;
        }
        return store(p, row, option, value);
    }
    return complain(p, "%s is not an option; --help lists all", option);
}

/* NULL when no option has that letter. */
static const struct option_row *row_of_letter(char letter)
{
    for (const struct option_row *row = option_table; row->help; row++) {
        if (row->letter == letter && letter)
            return row;
    }
    return NULL;
}

/* "-k", "-kn100", "-n 100" */
static bool short_options(struct parser *p, const char *letters)
{
    for (; *letters; letters++) {
        const struct option_row *row = row_of_letter(*letters);
        char option[3] = {'-', *letters, '\0'};
        const char *value = letters + 1;
        if (!row)
            return complain(p, "%s is not an option; --help lists all", option);
        if (!row->argument) {
            if (!store(p, row, option, NULL))
                return false;
            continue;
        }
        if (!*value && !next_argument(p, row, option, &value))
            return false;
        return store(p, row, option, value);
    }
    return true;
}

static bool check_compare(struct parser *p)
{
    const struct options *o = p->options;

    if (o->operands.count < 2)
        return complain(p, "compare needs two or more of NAME=URL or NAME=FILES");
    if (o->csv || o->html || o->hgrm || o->hlog || o->ab_csv || o->gnuplot || o->ab_html || o->ab)
        return complain(p, "compare has one report: its text, or --json");
    if (o->urls_file)
        return complain(p, "compare cannot be combined with --urls");
    return true;
}

/* Which and how many operands a command wants. */
static bool check_operands(struct parser *p)
{
    struct options *o = p->options;
    size_t n = o->operands.count;

    switch (o->command) {
    case COMMAND_RUN:
        if (n == 0 && !o->urls_file)
            return complain(p, "the URL is missing; --help lists all options");
        if (n > 1)
            return complain(p, "one URL is enough: '%s' is a second one (see --urls)",
                            o->operands.items[1]);
        o->url = n ? o->operands.items[0] : NULL;
        return true;
    case COMMAND_COMPARE:
        return check_compare(p);
    case COMMAND_MERGE:
        return n ? true : complain(p, "merge needs the JSON files of the parts");
    }
    return true;
}

/* Options that contradict each other. */
static bool check_whole(struct parser *p)
{
    const struct options *o = p->options;
    int bodies = !!o->post_file + !!o->put_file + !!o->body;

    if (bodies > 1)
        return complain(p, "only one of -p, -u and --body can be given");
    if (o->head && (bodies || o->method))
        return complain(p, "-i cannot be combined with -m, -p, -u or --body");
    if (o->poisson && o->rate == 0)
        return complain(p, "--poisson needs --rate");
    if (o->unix_path && o->proxy)
        return complain(p, "--unix and --proxy exclude each other");
    return true;
}

/* Defaults that depend on other options. */
static void complete(struct options *o)
{
    if (o->ab && !o->keepalive_asked)
        o->keepalive = false;
    if (o->requests == 0 && o->duration == 0 && o->command == COMMAND_COMPARE)
        o->duration = COMPARE_TIME;
    if (o->requests == 0 && o->duration == 0)
        o->requests = 1;
    /* A connection that never gets a request would only hold a descriptor, a thread an idle loop.
     */
    if (o->requests && o->rate == 0 && o->connections > o->requests)
        o->connections = o->requests;
    if (o->threads > o->connections)
        o->threads = o->connections;
}

/* A command's own letter: what -r means to a run (nothing) is the number of rounds here. */
static const char *command_option(const struct options *o, const char *text)
{
    return o->command == COMMAND_COMPARE && strcmp(text, "-r") == 0 ? "--rounds" : text;
}

/* A command is a first word without a dash; a URL is never one of them. */
static void take_command(struct parser *p)
{
    const char *word = p->count ? p->arguments[0] : "";

    if (strcmp(word, "compare") == 0) {
        p->options->command = COMMAND_COMPARE;
        p->at++;
    } else if (strcmp(word, "merge") == 0) {
        p->options->command = COMMAND_MERGE;
        p->at++;
    }
}

/* A URL, a file, or NAME=..., as the command will say. */
static bool take_operand(struct parser *p, const char *text)
{
    struct text_list *list = &p->options->operands;

    if (list->count == OPTIONS_LIST_MAX)
        return complain(p, "more than %d URLs or files", OPTIONS_LIST_MAX);
    list->items[list->count++] = text;
    return true;
}

bool options_parse(struct options *o, int count, const char *const *arguments, char *error,
                   size_t error_size)
{
    struct parser p = {o, count, 0, arguments, error, error_size};
    bool only_operands = false;

    for (take_command(&p); p.at < count; p.at++) {
        const char *text = command_option(o, arguments[p.at]);
        bool fine = true;
        if (only_operands || text[0] != '-' || !text[1]) {
            fine = take_operand(&p, text);
        } else if (text[1] != '-') {
            fine = short_options(&p, text + 1);
        } else if (text[2]) {
            fine = long_option(&p, text + 2);
        } else {
            only_operands = true;
        }
        if (!fine)
            return false;
    }
    if (o->help || o->version)
        return true;
    complete(o);
    return check_operands(&p) && check_whole(&p);
}
