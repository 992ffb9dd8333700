/* SPDX-License-Identifier: Apache-2.0
 * Adds the results of several machines that sent parts of one load; see stored.h. Counters and
 * buckets are added, never percentiles. What did not run at the same time, against the same server
 * with the same options, is refused; a part that is missing is named. */
#include "stored.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* At least this share of the measurement has to be common to all parts. */
#define OVERLAP 0.95
/* Seconds between the first and the last start, at most: second n of one part is added to second n
 * of the others, which has to be the same one. */
#define START_SPREAD 0.5
/* How far a wall clock may be off, in seconds, by the kernel's own account. */
#define CLOCK_ERROR 1

struct refusal {
    char *text;
    size_t size;
};

/* Always false, so that a check can return it. */
static bool __attribute__((format(printf, 2, 3)))
refuse(const struct refusal *e, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(e->text, e->size, format, arguments);
    va_end(arguments);
    return false;
}

/* Options that are each machine's own: its share of the load, and the part of the schedule. */
static bool is_own(const char *option)
{
    static const char *const own[] = {"connections", "threads", "segment", "seed"};

    for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++) {
        if (strcmp(option, own[i]) == 0)
            return true;
    }
    return false;
}

/* Lists too, member by member. Both were written by the same version, so that equal options are
 * equal digits. */
static bool same_value(const struct json_node *a, const struct json_node *b)
{
    if (!a || !b || a->kind != b->kind || a->number != b->number)
        return !a && !b;
    if (a->kind == JSON_TEXT)
        return strcmp(a->text, b->text) == 0;
    a = a->first;
    for (b = b->first; a && b; a = a->next, b = b->next) {
        if (!same_value(a, b))
            return false;
    }
    return !a && !b;
}

/* The name of the first member of a's object that b has otherwise; NULL when there is none. */
static const char *differing(const struct json_node *a, const struct json_node *b)
{
    for (const struct json_node *n = a ? a->first : NULL; n; n = n->next) {
        if (n->key && !is_own(n->key) && !same_value(n, json_member(b, n->key)))
            return n->key;
    }
    return NULL;
}

/* With --urls: the same paths in the same order with the same weights. */
static bool same_targets(const struct plan *a, const struct plan *b)
{
    for (unsigned i = 0; a->target_count == b->target_count && i < a->target_count; i++) {
        if (strcmp(a->targets[i].path, b->targets[i].path) ||
            a->targets[i].weight != b->targets[i].weight)
            return false;
    }
    return a->target_count == b->target_count;
}

/* Names what differs between two parts of one load; true when they belong together. All options
 * that the file has are compared, so that a new one need not be thought of here. */
static bool belong_together(const struct stored *a, const struct stored *b, const struct refusal *e)
{
    const struct json_node *x = a->document.root, *y = b->document.root;
    const char *section = "options.", *name;

    name = differing(json_member(x, "options"), json_member(y, "options"));
    if (!same_value(json_member(x, "httpdrive"), json_member(y, "httpdrive"))) {
        section = "the version of ";
        name = "httpdrive";
    } else if (strcmp(a->plan.url.host, b->plan.url.host) || a->plan.url.port != b->plan.url.port ||
               a->plan.url.tls != b->plan.url.tls) {
        section = "target";
        name = "";
    } else if (!name && !same_targets(&a->plan, &b->plan)) {
        section = "targets";
        name = "";
    }
    return !name || refuse(e, "HD062: %s and %s do not belong together: %s%s differs", a->file,
                           b->file, section, name);
}

/* All parts against the first, and no part twice. */
static bool check_parts(const struct stored *parts, size_t count, const struct refusal *e)
{
    for (size_t i = 0; i < count; i++) {
        const struct options *o = &parts[i].plan.options;
        if (!belong_together(&parts[0], &parts[i], e))
            return false;
        /* Loads that were not shared out may be added, each whole: then all are part 0 of 1. */
        for (size_t k = 0; k < i && o->segments > 1; k++) {
            if (parts[k].plan.options.segment == o->segment)
                return refuse(e, "HD063: %s and %s are both part %llu of %llu", parts[k].file,
                              parts[i].file, (unsigned long long)o->segment,
                              (unsigned long long)o->segments);
        }
    }
    return true;
}

/* The common window of all; the wall clocks of different machines have to be synchronised. */
static bool check_window(const struct stored *parts, size_t count, double *begin, double *end,
                         const struct refusal *e)
{
    double longest = 0, first = parts[0].result.started_epoch;

    *begin = 0;
    *end = 1e18;
    for (size_t i = 0; i < count; i++) {
        const struct result *r = &parts[i].result;
        *begin = fmax(*begin, r->started_epoch);
        *end = fmin(*end, r->started_epoch + r->seconds);
        first = fmin(first, r->started_epoch);
        longest = fmax(longest, r->seconds);
        if (strcmp(parts[i].host, parts[0].host) &&
            (r->clock_error < 0 || r->clock_error > CLOCK_ERROR))
            return refuse(e,
                          "HD064: the clock of %s (%s) was not synchronised: its seconds cannot "
                          "be laid beside those of %s",
                          parts[i].host, parts[i].file, parts[0].host);
    }
    if (*end - *begin < OVERLAP * longest)
        return refuse(e,
                      "HD065: only %.0f %% of the measurement is common to all parts (at least "
                      "%.0f %% are needed): start them with --start-at",
                      longest > 0 ? fmax(0, *end - *begin) * 100 / longest : 0, OVERLAP * 100);
    if (*begin - first > START_SPREAD)
        return refuse(e,
                      "HD066: the parts began %.1f s apart, so that their seconds cannot be laid "
                      "beside each other: start them with --start-at",
                      *begin - first);
    return true;
}

/* The worst of all: one machine at its limit makes the sum doubtful. */
static void add_health(struct result *sum, const struct result *r)
{
    sum->cpu_seconds += r->cpu_seconds;
    sum->busy = fmax(sum->busy, r->busy);
    sum->delay = fmax(sum->delay, r->delay);
    sum->wall_seconds = fmax(sum->wall_seconds, r->wall_seconds);
    sum->warmup.started += r->warmup.started;
    sum->warmup_seconds = fmax(sum->warmup_seconds, r->warmup_seconds);
    /* The first reason will do: the others mostly ended because of it. */
    if (*r->ended_by && !*sum->ended_by)
        memcpy(sum->ended_by, r->ended_by, sizeof(sum->ended_by));
}

/* Every machine stays visible beside the sum. */
static void describe_part(struct part_report *p, const struct stored *s)
{
    const struct result *r = &s->result;
    const struct hist *h = r->stats.times[TIME_RESPONSE];

    snprintf(p->host, sizeof(p->host), "%s", s->host);
    p->segment = s->plan.options.segment;
    /* Within its own window, which is at least 95 % the common one. */
    p->requests_per_second = r->seconds > 0 ? (double)r->stats.completed_in_time / r->seconds : 0;
    p->failed = stats_failed(&r->stats);
    p->p50 = hist_percentile(h, 50);
    p->p99 = hist_percentile(h, 99);
    p->p99_known = hist_percentile_known(h, 99);
    p->client_bound = r->client_bound;
}

/* The plan of the whole load, as if one machine had sent it. */
static void whole_plan(struct plan *whole, const struct stored *parts, size_t count)
{
    /* The rate and the number of requests are those of the whole load in every part. */
    *whole = parts[0].plan;
    whole->options.connections = whole->options.threads = 0;
    for (size_t i = 0; i < count; i++) {
        whole->options.connections += parts[i].plan.options.connections;
        whole->options.threads += parts[i].plan.options.threads;
    }
    whole->options.segment = 0;
    whole->options.segments = 1;
}

/* Counters and buckets; the texts are those of the first part that has an answer. */
static bool add_parts(struct result *sum, const struct stored *parts, size_t count)
{
    sum->parts = calloc(count, sizeof(*sum->parts));
    if (!sum->parts || !stats_init(&sum->stats, parts[0].plan.target_count) ||
        !stats_init(&sum->warmup, 1))
        return false;
    sum->part_count = count;
    for (size_t i = 0; i < count; i++) {
        const struct result *r = &parts[i].result;
        if (!stats_merge(&sum->stats, &r->stats))
            return false;
        add_health(sum, r);
        describe_part(&sum->parts[i], &parts[i]);
        /* All parts asked the same server; one of them may have got no answer. */
        if (!sum->have_first && r->have_first) {
            sum->have_first = true;
            memcpy(sum->server, r->server, sizeof(sum->server));
            memcpy(sum->tls, r->tls, sizeof(sum->tls));
            sum->first_length = r->first_length;
            sum->first_status = r->first_status;
        }
    }
    return true;
}

bool stored_merge(struct result *sum, struct plan *whole, const struct stored *parts, size_t count,
                  char *error, size_t error_size)
{
    const struct refusal e = {error, error_size};
    uint64_t segments = parts[0].plan.options.segments;
    double begin, end;

    memset(sum, 0, sizeof(*sum));
    /* What several machines do not have in common is "not known" in the sum; each part tells its
     * own. */
    sum->plan = whole;
    sum->machine_idle = sum->machine_steal = sum->delay = sum->clock_error = -1;
    if (!check_parts(parts, count, &e) || !check_window(parts, count, &begin, &end, &e))
        return false;
    whole_plan(whole, parts, count);
    if (!add_parts(sum, parts, count))
        return refuse(&e, "HD001: out of memory");
    sum->started_epoch = begin;
    sum->seconds = end - begin;
    /* A part that is missing is said in the first warning; without it the sum would look like less
     * load well served. */
    if (segments > count)
        snprintf(sum->ended_by, sizeof(sum->ended_by), "partial: %zu of %llu parts are here", count,
                 (unsigned long long)segments);
    result_conclude(sum);
    /* Each part's own rate over its own time: the windows may differ by some milliseconds. */
    sum->requests_per_second = 0;
    for (size_t i = 0; i < count; i++) {
        sum->requests_per_second += sum->parts[i].requests_per_second;
        sum->client_bound = sum->client_bound || sum->parts[i].client_bound;
    }
    if (whole->rate == 0)
        sum->concurrency =
            sum->requests_per_second * hist_mean(sum->stats.times[TIME_RESPONSE]) / 1e9;
    return true;
}
