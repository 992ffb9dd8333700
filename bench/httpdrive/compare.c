/* SPDX-License-Identifier: Apache-2.0
 * Measures servers in turns and compares them; see compare.h. Rounds go ABC, CBA, ABC..., so that
 * a machine that gets slower or faster meanwhile does so for all sides alike.
 *
 * Each turn is a whole run with threads and connections of its own and a short warm-up, so that the
 * sides share nothing but the machine. The figures of a round belong together: what is compared is
 * the ratio within each round, which a slow minute of the machine leaves alone. Stored results are
 * not paired; they are compared as two sets.
 *
 * The ratio's interval and a rank test have to agree before a difference is claimed, and with
 * several metrics and sides the test is corrected for their number. The run is the unit: a million
 * requests within one run are one sample of what the server does on this machine at this time. */
#include "compare.h"
#include "run.h"
#include "stored.h"

#include <glob.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Before each measurement, unless --warmup says so: connections and caches of the other side's
 * turn have to be forgotten. */
#define WARMUP (200 * NSEC_PER_MSEC)

const char *metric_name(enum metric m)
{
    static const char *const names[METRICS] = {
        [METRIC_RATE] = "requests/s",
        [METRIC_MEDIAN] = "median response",
        [METRIC_SERVER_CPU] = "server CPU/request",
    };
    return names[m];
}

/* A side is measured if it is a URL, else read from files. */
static bool is_url(const char *text)
{
    return strstr(text, "://") || strncmp(text, "unix:", 5) == 0;
}

/* "A=http://...": the names are short, for the table. */
static bool name_sides(struct compare_report *r, const struct options *o, char *error, size_t size)
{
    size_t urls = 0;

    for (size_t i = 0; i < o->operands.count; i++) {
        struct compare_side *side = &r->sides[r->side_count++];
        const char *text = o->operands.items[i], *equals = strchr(text, '=');
        size_t n = equals ? (size_t)(equals - text) : 0;
        if (n == 0 || n >= sizeof(side->name) || memchr(text, '/', n)) {
            snprintf(error, size, "HD070: '%s' is not NAME=URL or NAME=FILES", text);
            return false;
        }
        memcpy(side->name, text, n);
        side->what = equals + 1;
        urls += is_url(side->what);
    }
    if (urls && urls != r->side_count) {
        snprintf(error, size, "HD070: either all sides are URLs or none is");
        return false;
    }
    r->paired = urls > 0;
    return true;
}

/* Space for one more run of a side. */
static bool make_room(struct compare_side *side, size_t runs)
{
    for (int m = 0; m < METRICS; m++) {
        double *grown = realloc(side->values[m], (runs + 1) * sizeof(*grown));
        if (!grown)
            return false;
        side->values[m] = grown;
    }
    return true;
}

/* Adds a run to its side. */
static bool take_result(struct compare_side *side, const struct result *r)
{
    if (!make_room(side, side->runs + 1))
        return false;
    side->values[METRIC_RATE][side->runs] = r->requests_per_second;
    side->values[METRIC_MEDIAN][side->runs] =
        (double)hist_percentile(r->stats.times[TIME_RESPONSE], 50);
    side->values[METRIC_SERVER_CPU][side->runs] =
        r->have_tree && r->tree_after.known ? r->tree_cpu_us_per_request : 0;
    side->runs++;
    side->failed += stats_failed(&r->stats) + r->stats.in_flight;
    side->client_bound = side->client_bound || r->client_bound;
    return true;
}

/* The k-th of the comma-separated parts, in `out`; NULL when there are fewer. */
static const char *part_of(const char *list, size_t k, char *out, size_t size)
{
    while (list && k--) {
        list = strchr(list, ',');
        list = list ? list + 1 : NULL;
    }
    if (!list)
        return NULL;
    snprintf(out, size, "%.*s", (int)strcspn(list, ","), list);
    return out;
}

/* One turn of one side: a whole run with its own threads and connections, so that the sides
 * share nothing but the machine. */
static bool measure(struct compare_report *r, size_t k, const struct options *common, char *error,
                    size_t size)
{
    static struct options o;
    struct result *result = calloc(1, sizeof(*result));
    struct plan plan;
    char pid[300];
    bool fine;

    if (!result) {
        snprintf(error, size, "HD001: out of memory");
        return false;
    }
    /* A copy for each turn: plan_make() settles defaults that depend on the URL. */
    o = *common;
    o.url = r->sides[k].what;
    o.server_pid = part_of(common->server_pid, k, pid, sizeof(pid));
    if (!o.warmup_time && !o.warmup_auto && !o.warmup_requests)
        o.warmup_time = WARMUP;
    fine = plan_make(&plan, &o, error, size);
    if (fine) {
        fine = run_execute(result, &plan, NULL, error, size);
        r->interrupted = result->interrupted;
        if (fine && result->nothing_connected && !result->interrupted) {
            result_unconnected(result, error, size);
            fine = false;
        }
        if (fine && !result->interrupted && !take_result(&r->sides[k], result)) {
            snprintf(error, size, "HD001: out of memory");
            fine = false;
        }
        result_free(result);
        plan_free(&plan);
    }
    free(result);
    return fine;
}

/* So that a long comparison can be seen to proceed. */
static void show_round(const struct compare_report *r, uint64_t round, FILE *progress)
{
    fprintf(progress, "round %llu of %llu:", (unsigned long long)round + 1,
            (unsigned long long)r->rounds);
    for (size_t k = 0; k < r->side_count; k++)
        fprintf(progress, "  %s %.0f/s", r->sides[k].name,
                r->sides[k].values[METRIC_RATE][r->sides[k].runs - 1]);
    fputc('\n', progress);
}

/* The order is turned round in every second round. */
static bool measure_rounds(struct compare_report *r, const struct options *o, FILE *progress,
                           char *error, size_t size)
{
    for (uint64_t round = 0; round < r->rounds; round++) {
        for (size_t i = 0; i < r->side_count; i++) {
            size_t k = round % 2 ? r->side_count - 1 - i : i;
            if (!measure(r, k, o, error, size))
                return false;
            if (r->interrupted)
                return true;
        }
        if (progress)
            show_round(r, round, progress);
    }
    return true;
}

/* All files that the pattern names; a pattern without a match is reported as a file that is
 * missing. */
static bool read_side(struct compare_report *r, struct compare_side *side, char *error, size_t size)
{
    bool fine = true;
    glob_t found;

    if (glob(side->what, GLOB_NOCHECK | GLOB_BRACE, NULL, &found)) {
        snprintf(error, size, "HD060: %s: cannot be read", side->what);
        return false;
    }
    for (size_t i = 0; i < found.gl_pathc && fine; i++) {
        struct stored *s = calloc(1, sizeof(*s));
        fine = s && stored_read(s, found.gl_pathv[i], error, size);
        if (fine) {
            s->result.bound_reason_count = 0; /* they are found again */
            result_conclude(&s->result);
            r->open_loop = r->open_loop || s->plan.rate > 0;
            fine = take_result(side, &s->result);
            stored_free(s);
        }
        free(s);
    }
    globfree(&found);
    return fine;
}

/* Has every run of a side this figure? Server CPU is there only with --server-pid. */
static bool measured(const struct compare_side *side, enum metric m)
{
    for (size_t i = 0; i < side->runs; i++) {
        if (!(side->values[m][i] > 0))
            return false;
    }
    return side->runs > 0;
}

/* All sides against the first one, in all that was measured, corrected for their number. */
static void conclude(struct compare_report *r)
{
    const struct compare_side *a = &r->sides[0];
    struct comparison all[COMPARE_SIDES * METRICS];
    size_t n = 0;

    for (size_t k = 1; k < r->side_count; k++) {
        const struct compare_side *b = &r->sides[k];
        size_t pairs = a->runs < b->runs ? a->runs : b->runs;
        for (int m = 0; m < METRICS; m++) {
            /* At a given rate both make that rate, and the response time tells them apart. */
            if ((m == METRIC_RATE && r->open_loop) || !measured(a, m) || !measured(b, m))
                continue;
            r->results[k][m] =
                r->paired
                    ? statistics_paired(a->values[m], b->values[m], pairs, r->seed)
                    : statistics_unpaired(a->values[m], a->runs, b->values[m], b->runs, r->seed);
            all[n++] = r->results[k][m];
        }
    }
    statistics_correct(all, n);
    n = 0;
    for (size_t k = 1; k < r->side_count; k++) {
        for (int m = 0; m < METRICS; m++) {
            if (r->results[k][m].pairs)
                r->results[k][m] = all[n++];
        }
    }
}

bool compare_execute(struct compare_report *r, const struct options *o, FILE *progress, char *error,
                     size_t error_size)
{
    bool fine;

    memset(r, 0, sizeof(*r));
    r->rounds = o->rounds;
    r->seed = o->seed;
    r->open_loop = o->rate > 0;
    fine = name_sides(r, o, error, error_size);
    if (fine && r->paired)
        fine = measure_rounds(r, o, progress, error, error_size);
    for (size_t k = 0; fine && !r->paired && k < r->side_count; k++)
        fine = read_side(r, &r->sides[k], error, error_size);
    if (fine)
        conclude(r);
    return fine;
}

void compare_free(struct compare_report *r)
{
    for (size_t k = 0; k < r->side_count; k++) {
        for (int m = 0; m < METRICS; m++)
            free(r->sides[k].values[m]);
    }
}
