/* SPDX-License-Identifier: Apache-2.0
 * Gives the driver's option parser anything. An input is a command line, one argument a line. */
#include "bench/httpdrive/options.h"
#include "tests/fuzz/fuzz.h"

#include <math.h>
#include <string.h>

#define MOST_ARGUMENTS 200

/* A command line that was accepted makes sense, whatever it says. */
static void check(const struct options *o)
{
    if (o->help || o->version)
        return;
    MUST(o->connections >= 1 && o->connections <= 1000000);
    MUST(o->threads >= 1 && o->threads <= o->connections);
    MUST(o->requests || o->duration);
    MUST(o->duration >= 0 && o->timeout > 0 && o->warmup_time >= 0 && o->drain >= 0);
    MUST(isfinite(o->rate) && o->rate >= 0 && isfinite(o->start_at) && o->start_at >= 0);
    MUST(o->segments == 0 || o->segment < o->segments);
    MUST(o->headers.count <= OPTIONS_LIST_MAX && o->sources.count <= OPTIONS_LIST_MAX);
    MUST(!(o->poisson && o->rate == 0));
}

static void try_values(const char *text)
{
    uint64_t count;
    nsec time;

    if (options_time(text, &time))
        MUST(time >= 0 && *text);
    if (options_count(text, &count))
        MUST(*text >= '.' && *text <= '9');
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    char *text = malloc(size + 1), error[512] = "", again[512] = "";
    const char *arguments[MOST_ARGUMENTS];
    static struct options first, second;
    int count = 0;
    bool fine;

    MUST(text);
    memcpy(text, data, size);
    text[size] = '\0';
    for (char *at = text; at && count < MOST_ARGUMENTS;) {
        char *newline = strchr(at, '\n');
        arguments[count++] = at;
        if (newline)
            *newline++ = '\0';
        at = newline;
    }
    for (int i = 0; i < count; i++)
        try_values(arguments[i]);
    options_init(&first);
    options_init(&second);
    fine = options_parse(&first, count, arguments, error, sizeof(error));
    MUST(fine == options_parse(&second, count, arguments, again, sizeof(again)));
    MUST(strcmp(error, again) == 0 && fine == !*error);
    if (fine) {
        check(&first);
        MUST(memcmp(&first, &second, sizeof(first)) == 0);
    }
    free(text);
    return 0;
}
