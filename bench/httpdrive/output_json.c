/* SPDX-License-Identifier: Apache-2.0
 * Everything a run found, as JSON; docs/httpdrive-json.md is its contract.
 *
 * Names stay within a format, and new ones may come. What is needed to add this result to others,
 * or to compute a statistic that nobody thought of, is there too: the buckets of every histogram
 * and the counts of every second. Each function writes one member of the object, in the order of
 * the document; stored.c reads them back. */
#include "json_write.h"
#include "output.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define FORMAT 1

const double output_percentiles[] = {50, 66, 75, 80, 90, 95, 98, 99, 99.9, 99.99, -1};

/* Texts that were given several times, in their order. */
static void write_list(struct json_writer *j, const char *key, const struct text_list *list)
{
    json_open_flat(j, key, '[');
    for (size_t i = 0; i < list->count; i++)
        json_text(j, NULL, list->items[i]);
    json_close(j, ']');
}

/* 0 means "no bound". */
static void write_bound(struct json_writer *j, const char *key, uint64_t value)
{
    if (value) {
        json_count(j, key, value);
    } else {
        json_null(j, key);
    }
}

/* The driver keeps nanoseconds; people who read the file expect seconds. */
static void write_seconds(struct json_writer *j, const char *key, nsec value)
{
    json_number(j, key, (double)value / 1e9);
}

/* What was asked for, as it was understood: defaults and machine's share included. */
static void write_options(struct json_writer *j, const struct plan *p)
{
    const struct options *o = &p->options;

    json_open(j, "options", '{');
    json_text(j, "url", o->url);
    json_text(j, "method", plan_method(p));
    json_text(j, "mode", p->rate > 0 ? "open" : "closed");
    json_bool(j, "keepalive", o->keepalive);
    json_bool(j, "http10", o->http10);
    json_count(j, "connections", o->connections);
    json_count(j, "threads", o->threads);
    write_bound(j, "requests", o->requests);
    if (o->duration) {
        write_seconds(j, "seconds", o->duration);
    } else {
        json_null(j, "seconds");
    }
    write_bound(j, "per_connection", o->per_connection);
    if (p->rate > 0) {
        json_number(j, "rate", p->rate);
    } else {
        json_null(j, "rate");
    }
    json_bool(j, "poisson", o->poisson);
    json_count(j, "seed", o->seed);
    write_seconds(j, "timeout_seconds", o->timeout);
    write_seconds(j, "drain_seconds", o->drain);
    write_seconds(j, "ramp_seconds", o->ramp);
    write_seconds(j, "warmup_seconds", o->warmup_time);
    json_count(j, "warmup_requests", o->warmup_requests);
    json_bool(j, "warmup_auto", o->warmup_auto);
    json_count(j, "segment", o->segment);
    json_count(j, "segments", o->segments);
    json_text(j, "proxy", o->proxy);
    json_text(j, "verify", o->verify);
    write_list(j, "expect", &o->expect);
    write_list(j, "headers", &o->headers);
    json_count(j, "request_bytes", p->target_count ? p->targets[0].length : 0);
    json_close(j, '}');
}

/* Where the requests went, and what the first answer told of the server. */
static void write_target(struct json_writer *j, const struct result *r)
{
    const struct plan *p = r->plan;

    json_open(j, "target", '{');
    json_text(j, "scheme", p->url.tls ? "https" : "http");
    json_text(j, "host", p->url.host);
    json_count(j, "port", p->url.port);
    json_text(j, "path", p->target_count ? p->targets[0].path : NULL);
    json_text(j, "address", p->address_text);
    json_bool(j, "local", p->local);
    json_text(j, "server", r->have_first ? r->server : NULL);
    json_text(j, "tls", *r->tls ? r->tls : NULL);
    if (r->have_first) {
        json_count(j, "status", r->first_status);
        json_count(j, "document_length", r->first_length);
    } else {
        json_null(j, "status");
        json_null(j, "document_length");
    }
    json_close(j, '}');
}

/* Of the machine that drove. Shares are of all its processors over the measurement. */
static void write_machine(struct json_writer *j, const struct result *r)
{
    struct utsname u;

    json_open(j, "machine", '{');
    if (uname(&u) == 0) {
        json_text(j, "host", u.nodename);
        json_text(j, "kernel", u.release);
    }
    json_integer(j, "cpus", sysconf(_SC_NPROCESSORS_ONLN));
    json_number(j, "idle", r->machine_idle);
    json_number(j, "steal", r->machine_steal);
    if (r->clock_error < 0) {
        json_null(j, "clock_error_seconds");
    } else {
        json_number(j, "clock_error_seconds", r->clock_error);
    }
    json_close(j, '}');
}

/* Every outcome is named even if it is 0, so that a reader need not know which there are. */
static void write_requests(struct json_writer *j, const struct result *r)
{
    const struct stats *s = &r->stats;

    json_open(j, "requests", '{');
    json_count(j, "started", s->started);
    json_count(j, "completed", stats_completed(s));
    json_count(j, "completed_in_time", s->completed_in_time);
    json_count(j, "ok", s->outcomes[OUTCOME_OK]);
    json_count(j, "failed", stats_failed(s));
    json_count(j, "in_flight", s->in_flight);
    write_seconds(j, "oldest_in_flight_seconds", s->oldest_in_flight);
    json_count(j, "resent", s->resent);
    json_count(j, "interim_answers", s->interim);
    json_bool(j, "conserved", stats_conserved(s));
    json_close(j, '}');

    json_open(j, "outcomes", '{');
    for (int i = 0; i < OUTCOMES; i++)
        json_count(j, outcome_name(i), s->outcomes[i]);
    json_close(j, '}');

    json_open_flat(j, "status", '{');
    for (int i = 0; i < STATUS_CODES; i++) {
        char code[16];
        snprintf(code, sizeof(code), "%d", i);
        if (s->status[i])
            json_count(j, code, s->status[i]);
    }
    json_close(j, '}');
}

/* The reasons behind the outcomes. errno by name: its numbers differ between systems. */
static void write_errors(struct json_writer *j, const struct stats *s)
{
    json_open(j, "errors", '[');
    for (unsigned i = 0; i < s->error_kinds; i++) {
        const struct error_count *e = &s->errors[i];
        json_open_flat(j, NULL, '{');
        json_text(j, "outcome", outcome_name(e->outcome));
        json_text(j, "errno", e->number ? output_errno_name(e->number) : NULL);
        json_text(j, "reason", e->number ? strerror(e->number) : e->reason);
        json_count(j, "count", e->count);
        json_close(j, '}');
    }
    json_close(j, ']');
    json_count(j, "errors_unlisted", s->errors_unlisted);
}

/* null in a closed loop, where nothing was scheduled. */
static void write_open_loop(struct json_writer *j, const struct result *r)
{
    if (r->plan->rate == 0) {
        json_null(j, "open_loop");
        return;
    }
    json_open(j, "open_loop", '{');
    json_count(j, "scheduled", r->stats.scheduled);
    json_count(j, "sent", r->stats.started);
    json_count(j, "late", r->stats.late);
    json_count(j, "unsent", r->stats.unsent);
    json_close(j, '}');
}

/* carried + opened = closed + alive. */
static void write_connections(struct json_writer *j, const struct result *r)
{
    const struct stats *s = &r->stats;
    const struct hist *per = s->per_connection;

    json_open(j, "connections", '{');
    json_count(j, "wanted", r->plan->options.connections);
    json_count(j, "attempts", s->connect_attempts);
    json_count(j, "carried", s->connections_carried);
    json_count(j, "opened", s->connections_opened);
    json_count(j, "closed", s->connections_closed);
    json_count(j, "alive", s->connections_alive);
    json_count(j, "unanswered", s->connections_unanswered);
    json_count(j, "kept_alive_requests", s->kept_alive);
    json_count(j, "retransmits", s->connect_retransmits);
    json_count(j, "tls_resumed", s->tls_resumed);
    json_open_flat(j, "requests_each", '{');
    json_integer(j, "min", per->count ? per->min : 0);
    json_integer(j, "median", hist_percentile(per, 50));
    json_integer(j, "max", per->max);
    json_close(j, '}');
    json_close(j, '}');

    json_open(j, "bytes", '{');
    json_count(j, "received", s->bytes_received);
    json_count(j, "body", s->bytes_body);
    json_count(j, "sent", s->bytes_sent);
    json_close(j, '}');
}

/* What a reader mostly wants of a histogram, in ns. */
static void write_summary(struct json_writer *j, const char *key, const struct hist *h)
{
    char name[32];

    json_open(j, key, '{');
    json_count(j, "count", h->count);
    json_integer(j, "min", h->count ? h->min : 0);
    json_number(j, "mean", hist_mean(h));
    json_number(j, "sd", hist_sd(h));
    for (const double *p = output_percentiles; *p > 0; p++) {
        snprintf(name, sizeof(name), "p%g", *p);
        json_integer(j, name, hist_percentile(h, *p));
    }
    json_integer(j, "max", h->max);
    json_close(j, '}');
}

/* All of it: [index, count] of the buckets that are not empty. The sums are written with all
 * their digits, since deviations are computed from them. */
static void write_histogram(struct json_writer *j, const char *key, const struct hist *h)
{
    json_open_flat(j, key, '{');
    json_count(j, "count", h->count);
    json_integer(j, "min", h->count ? h->min : 0);
    json_integer(j, "max", h->max);
    json_exact(j, "sum", h->sum);
    json_exact(j, "sum_squares", h->sum_squares);
    json_open(j, "buckets", '[');
    for (unsigned i = 0; i < HIST_BUCKETS; i++) {
        if (h->buckets[i] == 0)
            continue;
        json_open(j, NULL, '[');
        json_count(j, NULL, i);
        json_count(j, NULL, h->buckets[i]);
        json_close(j, ']');
    }
    json_close(j, ']');
    json_close(j, '}');
}

/* Summaries first: they stand where people look, the buckets may be long. */
static void write_times(struct json_writer *j, const struct stats *s)
{
    json_open(j, "latency_ns", '{');
    for (int i = 0; i < TIMES; i++)
        write_summary(j, phase_time_name(i), s->times[i]);
    json_close(j, '}');
    json_open(j, "histograms", '{');
    json_count(j, "sub_buckets", HIST_SUB);
    for (int i = 0; i < TIMES; i++)
        write_histogram(j, phase_time_name(i), s->times[i]);
    write_histogram(j, "requests_per_connection", s->per_connection);
    json_close(j, '}');
}

/* One second with its own, coarser, histogram. */
static void write_second(struct json_writer *j, const struct second *s)
{
    json_open_flat(j, NULL, '{');
    json_count(j, "completed", s->completed);
    json_count(j, "failed", s->failed);
    json_count(j, "bytes", s->bytes);
    json_count(j, "opened", s->opened);
    json_count(j, "connections", s->connections);
    json_integer(j, "p50_ns", second_percentile(s, 50));
    json_integer(j, "p99_ns", second_percentile(s, 99));
    json_integer(j, "max_ns", s->max);
    json_open(j, "buckets", '[');
    for (size_t i = 0; i < s->bucket_count; i++) {
        json_open(j, NULL, '[');
        json_count(j, NULL, s->buckets[i].index);
        json_count(j, NULL, s->buckets[i].count);
        json_close(j, ']');
    }
    json_close(j, ']');
    json_close(j, '}');
}

/* The last second is cut off where the run ended; `seconds` of the run tells where. */
static void write_series(struct json_writer *j, const struct result *r)
{
    json_open(j, "series", '{');
    json_count(j, "interval_seconds", 1);
    json_number(j, "start_epoch", r->started_epoch);
    json_open(j, "seconds", '[');
    for (size_t i = 0; i < r->stats.series.count; i++)
        write_second(j, &r->stats.series.seconds[i]);
    json_close(j, ']');
    json_close(j, '}');
}

/* Was the driver the limit? The judgement and what it was made of. */
static void write_client(struct json_writer *j, const struct result *r)
{
    json_open(j, "client", '{');
    json_bool(j, "bound", r->client_bound);
    json_open(j, "reasons", '[');
    for (unsigned i = 0; i < r->bound_reason_count; i++)
        json_text(j, NULL, r->bound_reasons[i]);
    json_close(j, ']');
    json_number(j, "cpu_seconds", r->cpu_seconds);
    json_number(j, "cpu_us_per_request", r->cpu_us_per_request);
    json_number(j, "busy", r->busy);
    json_number(j, "run_queue_delay", r->delay);
    json_integer(j, "lateness_p99_ns", hist_percentile(r->stats.times[TIME_LATENESS], 99));
    json_number(j, "waits_per_request", r->waits_per_request);
    json_open(j, "threads", '[');
    for (unsigned i = 0; i < r->thread_count; i++) {
        json_open_flat(j, NULL, '{');
        json_number(j, "busy", r->threads[i].busy);
        json_number(j, "run_queue_delay", r->threads[i].delay);
        json_close(j, '}');
    }
    json_close(j, ']');
    json_close(j, '}');
}

/* null without --server-pid, or when the process had gone. */
static void write_tree(struct json_writer *j, const struct result *r)
{
    if (!r->have_tree || !r->tree_after.known) {
        json_null(j, "server");
        return;
    }
    json_open(j, "server", '{');
    json_integer(j, "pid", r->tree_pid);
    json_count(j, "processes", r->tree_after.processes);
    json_number(j, "cpu_seconds", r->tree_cpu_seconds);
    json_number(j, "cpu_us_per_request", r->tree_cpu_us_per_request);
    json_count(j, "pss_bytes", r->tree_after.pss_bytes);
    json_close(j, '}');
}

/* In no particular order: it is a count of values, not a list. */
static void write_tally(struct json_writer *j, const struct result *r)
{
    const struct tally *t = &r->stats.tally;

    if (!r->plan->options.tally) {
        json_null(j, "tally");
        return;
    }
    json_open(j, "tally", '{');
    json_text(j, "header", r->plan->options.tally);
    json_open(j, "values", '{');
    for (size_t i = 0; i < t->size; i++) {
        if (t->entries[i].count)
            json_count(j, t->entries[i].value, t->entries[i].count);
    }
    json_close(j, '}');
    json_close(j, '}');
}

/* Empty with one URL: there the totals say it all. */
static void write_targets(struct json_writer *j, const struct result *r)
{
    json_open(j, "targets", '[');
    for (unsigned i = 0; i < r->stats.target_count; i++) {
        const struct target_stats *t = &r->stats.targets[i];
        json_open_flat(j, NULL, '{');
        json_text(j, "path", r->plan->targets[i].path);
        json_number(j, "weight", r->plan->targets[i].weight);
        json_count(j, "started", t->started);
        json_count(j, "ok", t->ok);
        json_number(j, "mean_ns", hist_mean(t->response));
        json_integer(j, "p50_ns", hist_percentile(t->response, 50));
        json_integer(j, "p99_ns", hist_percentile(t->response, 99));
        json_integer(j, "max_ns", t->response->max);
        json_close(j, '}');
    }
    json_close(j, ']');
}

/* What is not part of anything else here. */
static void write_warmup(struct json_writer *j, const struct result *r)
{
    json_open(j, "warmup", '{');
    json_number(j, "seconds", r->warmup_seconds);
    json_count(j, "started", r->warmup.started);
    json_count(j, "failed", stats_failed(&r->warmup));
    json_count(j, "in_flight", r->warmup.in_flight);
    json_close(j, '}');
}

/* What the report warns of. steady is null when the run was too short to have thirds. */
static void write_judgement(struct json_writer *j, const struct result *r)
{
    if (r->steady < 0) {
        json_null(j, "steady");
    } else {
        json_bool(j, "steady", r->steady);
    }
    json_number(j, "steady_change", r->steady < 0 ? 1 : r->steady_change);
    if (r->concurrency > 0) {
        json_number(j, "littles_law_connections", r->concurrency);
    } else {
        json_null(j, "littles_law_connections");
    }
    json_open(j, "parts", '[');
    for (size_t i = 0; i < r->part_count; i++) {
        const struct part_report *p = &r->parts[i];
        json_open_flat(j, NULL, '{');
        json_text(j, "host", p->host);
        json_count(j, "segment", p->segment);
        json_number(j, "requests_per_second", p->requests_per_second);
        json_count(j, "failed", p->failed);
        json_integer(j, "p50_ns", p->p50);
        json_integer(j, "p99_ns", p->p99);
        json_bool(j, "client_bound", p->client_bound);
        json_close(j, '}');
    }
    json_close(j, ']');
    json_open(j, "warnings", '[');
    for (unsigned i = 0; i < r->warning_count; i++)
        json_text(j, NULL, r->warnings[i]);
    json_close(j, ']');
}

void output_json(const struct result *r, FILE *out)
{
    struct json_writer j = {.out = out};

    json_open(&j, NULL, '{');
    json_text(&j, "httpdrive", HTTPDRIVE_VERSION);
    json_count(&j, "format", FORMAT);
    json_text(&j, "label", r->plan->options.label);
    json_number(&j, "started_epoch", r->started_epoch);
    json_number(&j, "seconds", r->seconds);
    json_number(&j, "wall_seconds", r->wall_seconds);
    json_number(&j, "requests_per_second", r->requests_per_second);
    json_text(&j, "ended_by", *r->ended_by ? r->ended_by : NULL);
    write_options(&j, r->plan);
    write_target(&j, r);
    write_machine(&j, r);
    write_requests(&j, r);
    write_errors(&j, &r->stats);
    write_open_loop(&j, r);
    write_connections(&j, r);
    write_client(&j, r);
    write_tree(&j, r);
    write_tally(&j, r);
    write_targets(&j, r);
    write_warmup(&j, r);
    write_judgement(&j, r);
    write_times(&j, &r->stats);
    write_series(&j, r);
    json_close(&j, '}');
}
