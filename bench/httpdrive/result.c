/* SPDX-License-Identifier: Apache-2.0
 * What follows from the counters of a run; see result.h. */
#include "result.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Beyond these the result is called the driver's own, with the reason. A thread that is busy 85 %
 * of the time meets every burst late; others report that 80 % already shows. */
#define BUSY_LIMIT     0.85
#define DELAY_LIMIT    0.05
#define LATENESS_LIMIT 0.10
/* A p99 has ten samples above it from 1,000 on. */
#define FEW_SAMPLES 1000
/* Seconds. Schedulers, caches and collectors of garbage have periods of about a second: of a few
 * of them no mean can be told. */
#define SHORT_RUN 5.0
/* Between the first and the last third of a run. */
#define STEADY_LIMIT 0.10

/* More than there is room for are dropped: the first are the worst. */
static void __attribute__((format(printf, 2, 3))) warn(struct result *r, const char *format, ...)
{
    va_list arguments;

    if (r->warning_count == WARNINGS_MAX)
        return;
    va_start(arguments, format);
    vsnprintf(r->warnings[r->warning_count++], WARNING_TEXT, format, arguments);
    va_end(arguments);
}

/* A reason why the result may be the driver's, not the server's */
static void __attribute__((format(printf, 2, 3))) bound(struct result *r, const char *format, ...)
{
    va_list arguments;

    r->client_bound = true;
    if (r->bound_reason_count == BOUND_REASONS)
        return;
    va_start(arguments, format);
    vsnprintf(r->bound_reasons[r->bound_reason_count++], WARNING_TEXT, format, arguments);
    va_end(arguments);
}

/* Three signs that the result is the driver's: no time left, no CPU given, answers that waited. */
static void judge_client(struct result *r)
{
    double typical = (double)hist_percentile(r->stats.times[TIME_RESPONSE], 50);
    double own = (double)hist_percentile(r->stats.times[TIME_LATENESS], 99);

    if (r->stats.started == 0)
        return;
    if (r->busy > BUSY_LIMIT)
        bound(r, "a thread of the driver was busy %.0f %% of the time (limit %.0f %%)",
              r->busy * 100, BUSY_LIMIT * 100);
    if (r->delay > DELAY_LIMIT)
        bound(r, "a thread of the driver waited for a CPU %.0f %% of the time (limit %.0f %%)",
              r->delay * 100, DELAY_LIMIT * 100);
    if (typical > 0 && own > LATENESS_LIMIT * typical)
        bound(r, "answers waited up to %.0f us (p99) in the driver, %.0f %% of the median response",
              own / 1e3, own * 100 / typical);
}

/* The completions of whole seconds, first against last third. */
static void judge_steadiness(struct result *r)
{
    const struct series *s = &r->stats.series;
    size_t whole = (size_t)floor(r->seconds), third;
    double first = 0, last = 0;

    /* Whole seconds only: the last one is cut where the run ends, not by the server. */
    r->steady = -1;
    if (whole > s->count)
        whole = s->count;
    third = whole / 3;
    if (third == 0)
        return;
    for (size_t i = 0; i < third; i++) {
        first += (double)s->seconds[i].completed;
        last += (double)s->seconds[whole - 1 - i].completed;
    }
    r->steady_change = first > 0 ? last / first : 0;
    r->steady = fabs(r->steady_change - 1) <= STEADY_LIMIT;
}

/* Too little to trust. */
static void warn_of_size(struct result *r)
{
    const struct options *o = &r->plan->options;
    uint64_t answered = r->stats.times[TIME_RESPONSE]->count;

    if (answered < FEW_SAMPLES)
        warn(r, "only %llu samples: percentiles above the median say little",
             (unsigned long long)answered);
    if (r->seconds < SHORT_RUN)
        warn(r, "a run of %.2f s is short: repeat it, or use -t 5 or more", r->seconds);
    if (r->steady == 0)
        warn(r, "not steady: the last third made %.0f %% of the first third's throughput%s",
             r->steady_change * 100,
             o->warmup_time || o->warmup_auto || o->warmup_requests ? "" : " (try --warmup)");
}

/* Options that did nothing: who gave them expects something of them. */
static void warn_of_options(struct result *r)
{
    const struct plan *p = r->plan;
    const struct options *o = &p->options;
    bool about_tls = o->tls_protocol || o->tls_ciphers || o->tls_certificate || o->tls_ca ||
                     o->tls_name || o->tls_verify || o->tls_resume;

    if (o->proxy_auth && !o->proxy)
        warn(r, "-P has no effect without -X");
    if (about_tls && !p->url.tls)
        warn(r, "options about TLS have no effect on http://");
    if (o->spin && p->rate == 0)
        warn(r, "--spin has no effect without --rate");
#ifndef __OPTIMIZE__
    warn(r, "this httpdrive was built without optimization");
#endif
}

/* What went wrong, worst first. */
static void warn_of_trouble(struct result *r)
{
    const struct stats *s = &r->stats;

    if (*r->ended_by)
        warn(r, "cut short: %s", r->ended_by);
    if (stats_failed(s))
        warn(r, "%llu of %llu requests failed", (unsigned long long)stats_failed(s),
             (unsigned long long)s->started);
    if (s->in_flight)
        warn(r, "%llu requests had no answer at the end, the oldest after %.1f s",
             (unsigned long long)s->in_flight, (double)s->oldest_in_flight / 1e9);
    if (s->unsent)
        warn(r, "%llu of %llu scheduled requests were never sent: no connection was free",
             (unsigned long long)s->unsent, (unsigned long long)s->scheduled);
    if (s->connections_unanswered)
        warn(r, "%llu connections never got an answer",
             (unsigned long long)s->connections_unanswered);
    if (s->connect_retransmits)
        warn(r, "%llu connections had to repeat packets to connect: a listen queue was full",
             (unsigned long long)s->connect_retransmits);
    if (!stats_conserved(s))
        warn(r, "DEFECT: the outcomes do not add up to the requests started");
}

/* Over all that completed, whatever the outcome: each has cost its share. */
static double per_request_us(double cpu, const struct stats *s)
{
    uint64_t completed = stats_completed(s);

    return completed ? cpu * 1e6 / (double)completed : 0;
}

/* Order matters: warnings read what is computed before them. */
void result_conclude(struct result *r)
{
    const struct stats *s = &r->stats;

    r->requests_per_second = r->seconds > 0 ? (double)s->completed_in_time / r->seconds : 0;
    r->cpu_us_per_request = per_request_us(r->cpu_seconds, s);
    if (r->have_tree && r->tree_before.known && r->tree_after.known) {
        r->tree_cpu_seconds = (double)(r->tree_after.cpu - r->tree_before.cpu) / 1e9;
        r->tree_cpu_us_per_request = per_request_us(r->tree_cpu_seconds, s);
    }
    /* L = X R. In a closed loop it should be near the number of connections; if it is not, time was
     * spent outside of requests. An open loop has no such number to compare with. */
    if (r->plan->rate == 0)
        r->concurrency = r->requests_per_second * hist_mean(s->times[TIME_RESPONSE]) / 1e9;
    judge_client(r);
    judge_steadiness(r);
    warn_of_trouble(r);
    warn_of_size(r);
    warn_of_options(r);
}

void result_free(struct result *r)
{
    stats_free(&r->stats);
    stats_free(&r->warmup);
    free(r->threads);
    free(r->parts);
    r->parts = NULL;
    r->threads = NULL;
}

/* The most serious reason wins. */
int result_exit_code(const struct result *r)
{
    const struct options *o = &r->plan->options;
    nsec p99 = hist_percentile(r->stats.times[TIME_RESPONSE], 99);

    if (r->interrupted)
        return EXIT_INTERRUPTED;
    if (r->nothing_connected)
        return EXIT_UNCONNECTED;
    if (stats_failed(&r->stats) + r->stats.in_flight > o->max_fail)
        return EXIT_FAILURES;
    if (o->p99_max && p99 > o->p99_max)
        return EXIT_THRESHOLD;
    if (o->strict && r->client_bound)
        return EXIT_CLIENT_BOUND;
    return EXIT_GOOD;
}

void result_unconnected(const struct result *r, char *out, size_t size)
{
    /* It may have been given up in the warm-up. */
    const struct stats *s = r->stats.error_kinds ? &r->stats : &r->warmup;
    const struct error_count *e = &s->errors[0];
    const char *reason = "no attempt ended in time";
    char peer[300];

    plan_peer(r->plan, peer, sizeof(peer));
    if (s->error_kinds)
        reason = e->number ? strerror(e->number) : outcome_name(e->outcome);
    snprintf(out, size, "HD051: nothing could connect to %s: %s", peer, reason);
}
