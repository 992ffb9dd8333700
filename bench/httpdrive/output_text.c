/* SPDX-License-Identifier: Apache-2.0
 * The report for people: ab's line names for the same quantities, units that fit the values.
 *
 * The order is that of reading: what was run, what to beware of, how much, how it ended, how long
 * it took, over which connections, and at last whether the driver itself was up to it. A line that
 * would say nothing is left out; a number that would mislead is printed as "-". */
#include "output.h"

#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define NAME_WIDTH 24

/* The name of a quantity, as wide as ab prints it: scripts cut there. */
static void line(FILE *out, const char *name)
{
    fprintf(out, "%-*s", NAME_WIDTH, name);
}

/* A time with three significant digits or more, in a unit that suits it. */
static const char *time_text(double ns, char *out, size_t size)
{
    if (ns < 1e3) {
        snprintf(out, size, "%.0f ns", ns);
    } else if (ns < 1e6) {
        snprintf(out, size, "%.*f us", ns < 1e4 ? 2 : ns < 1e5 ? 1 : 0, ns / 1e3);
    } else if (ns < 1e9) {
        snprintf(out, size, "%.*f ms", ns < 1e7 ? 2 : ns < 1e8 ? 1 : 0, ns / 1e6);
    } else {
        snprintf(out, size, "%.*f s", ns < 1e10 ? 2 : 1, ns / 1e9);
    }
    return out;
}

/* What was run, so that a report can be understood without its command. */
static void print_setting(const struct result *r, FILE *out)
{
    const struct plan *p = r->plan;
    const struct options *o = &p->options;

    fprintf(out, "httpdrive " HTTPDRIVE_VERSION "%s%s\n\n", o->label ? ": " : "",
            o->label ? o->label : "");
    line(out, "Server Software:");
    fprintf(out, "%s\n", r->server);
    line(out, "Server Hostname:");
    fprintf(out, "%s (%s%s)\n", p->url.host, o->proxy ? "through the proxy " : "", p->address_text);
    line(out, "Server Port:");
    fprintf(out, "%u\n", p->url.port);
    if (*r->tls) {
        line(out, "SSL/TLS Protocol:");
        fprintf(out, "%s\n", r->tls);
    }
    line(out, "Document Path:");
    fprintf(out, "%s%s\n", p->targets[0].path, p->target_count > 1 ? " and others" : "");
    line(out, "Document Length:");
    fprintf(out, "%llu bytes\n", (unsigned long long)r->first_length);
    line(out, "Load:");
    if (p->rate > 0) {
        fprintf(out, "open loop, %g requests/s%s, at most %llu connections", p->rate,
                o->poisson ? " (Poisson)" : "", (unsigned long long)o->connections);
    } else {
        fprintf(out, "closed loop, c=%llu", (unsigned long long)o->connections);
    }
    fprintf(out, ", %llu thread%s, %s\n", (unsigned long long)o->threads,
            o->threads == 1 ? "" : "s",
            o->keepalive ? "connections kept alive" : "a new connection for each request");
    /* Only what was left to chance can be repeated by it. */
    if (o->poisson || p->target_count > 1) {
        line(out, "Seed:");
        fprintf(out, "%llu\n", (unsigned long long)o->seed);
    }
    if (r->warmup.started) {
        line(out, "Warm-up:");
        fprintf(out, "%llu requests in %.2f s, %llu failed, not part of what follows\n",
                (unsigned long long)r->warmup.started, r->warmup_seconds,
                (unsigned long long)stats_failed(&r->warmup));
    }
}

/* Before the numbers, not after: they say how far to trust them. */
static void print_warnings(const struct result *r, FILE *out)
{
    if (r->client_bound || r->warning_count)
        putc('\n', out);
    for (unsigned i = 0; i < r->bound_reason_count; i++)
        fprintf(out, "CLIENT-BOUND: %s\n", r->bound_reasons[i]);
    for (unsigned i = 0; i < r->warning_count; i++)
        fprintf(out, "WARNING: %s\n", r->warnings[i]);
}

/* ab's block. The first "Time per request" is the measured mean, not concurrency x time / n. */
static void print_throughput(const struct result *r, FILE *out)
{
    const struct stats *s = &r->stats;
    double completed = (double)s->completed_in_time;
    double each = completed > 0 ? r->seconds * 1e3 / completed : 0;

    putc('\n', out);
    line(out, "Concurrency Level:");
    fprintf(out, "%llu\n", (unsigned long long)r->plan->options.connections);
    line(out, "Time taken for tests:");
    fprintf(out, "%.3f seconds\n", r->seconds);
    line(out, "Complete requests:");
    fprintf(out, "%llu\n", (unsigned long long)stats_completed(s));
    line(out, "Failed requests:");
    fprintf(out, "%llu\n", (unsigned long long)stats_failed(s));
    if (r->plan->options.keepalive) {
        line(out, "Keep-Alive requests:");
        fprintf(out, "%llu\n", (unsigned long long)s->kept_alive);
    }
    line(out, "Total transferred:");
    fprintf(out, "%llu bytes\n", (unsigned long long)s->bytes_received);
    line(out, "HTML transferred:");
    fprintf(out, "%llu bytes\n", (unsigned long long)s->bytes_body);
    line(out, "Requests per second:");
    fprintf(out, "%.2f [#/sec] (mean)\n", r->requests_per_second);
    line(out, "Time per request:");
    fprintf(out, "%.3f [ms] (mean)\n", hist_mean(s->times[TIME_RESPONSE]) / 1e6);
    line(out, "Time per request:");
    fprintf(out, "%.3f [ms] (mean, across all concurrent requests)\n", each);
    line(out, "Transfer rate:");
    fprintf(out, "%.2f [Kbytes/sec] received\n",
            r->seconds > 0 ? (double)s->bytes_received / 1024 / r->seconds : 0);
}

/* The reasons behind the outcomes, where there is more to say than the name. */
static void print_errors(const struct stats *s, FILE *out)
{
    for (unsigned i = 0; i < s->error_kinds; i++) {
        const struct error_count *e = &s->errors[i];
        if (!e->number && !e->reason)
            continue;
        fprintf(out, "  %s: %s%s%s, %llu times\n", outcome_name(e->outcome),
                e->number ? output_errno_name(e->number) : "", e->number ? " " : "",
                e->number ? strerror(e->number) : e->reason, (unsigned long long)e->count);
    }
}

/* The conservation law as a sum that everyone can check. */
static void print_outcomes(const struct result *r, FILE *out)
{
    const struct stats *s = &r->stats;

    fprintf(out, "\nOutcomes: started %llu =", (unsigned long long)s->started);
    for (int i = 0; i < OUTCOMES; i++) {
        if (s->outcomes[i] || i == OUTCOME_OK)
            fprintf(out, "%s%s %llu", i == OUTCOME_OK ? " " : " + ", outcome_name(i),
                    (unsigned long long)s->outcomes[i]);
    }
    fprintf(out, " + in flight %llu\n", (unsigned long long)s->in_flight);
    fputs("Statuses:", out);
    for (int i = 0; i < STATUS_CODES; i++) {
        if (s->status[i])
            fprintf(out, " %d: %llu", i, (unsigned long long)s->status[i]);
    }
    putc('\n', out);
    print_errors(s, out);
    if (s->resent)
        fprintf(out, "Sent again since the server had closed a reused connection: %llu\n",
                (unsigned long long)s->resent);
    if (s->interim)
        fprintf(out, "Interim (1xx) answers skipped: %llu\n", (unsigned long long)s->interim);
    if (r->plan->rate > 0)
        fprintf(out, "Schedule: scheduled %llu, sent %llu, late (> 1 ms) %llu, unsent %llu\n",
                (unsigned long long)s->scheduled, (unsigned long long)s->started,
                (unsigned long long)s->late, (unsigned long long)s->unsent);
}

/* One line of the table. No line for what never happened, such as TLS without TLS. */
static void print_phase(const struct hist *h, const char *name, FILE *out)
{
    char min[32], mean[32], sd[32], median[32], max[32];

    if (h->count == 0)
        return;
    fprintf(out, "%-11s %10s %10s %10s %10s %10s\n", name,
            time_text((double)h->min, min, sizeof(min)),
            time_text(hist_mean(h), mean, sizeof(mean)), time_text(hist_sd(h), sd, sizeof(sd)),
            time_text((double)hist_percentile(h, 50), median, sizeof(median)),
            time_text((double)h->max, max, sizeof(max)));
}

/* In an open loop the main time counts from when requests were due, and has another name. */
static void print_latency(const struct result *r, FILE *out)
{
    const struct stats *s = &r->stats;
    const struct hist *main_time = s->times[TIME_RESPONSE];
    bool open = r->plan->rate > 0;
    char text[32];

    if (main_time->count == 0)
        return;
    fprintf(out, "\n%-11s %10s %10s %10s %10s %10s\n", "Times", "min", "mean", "+/-sd", "median",
            "max");
    print_phase(s->times[TIME_CONNECT], "Connect:", out);
    print_phase(s->times[TIME_TLS], "TLS:", out);
    print_phase(s->times[TIME_TTFB], "Waiting:", out);
    print_phase(s->times[TIME_SERVICE], "Service:", out);
    print_phase(main_time, open ? "Response:" : "Total:", out);
    if (r->plan->options.no_percentiles)
        return;
    fprintf(out, "\nPercentage of the requests served within a certain time (%s)\n",
            open ? "from the time they were due" : "connecting included");
    for (const double *p = output_percentiles; *p > 0; p++) {
        bool known = hist_percentile_known(main_time, *p);
        time_text((double)hist_percentile(main_time, *p), text, sizeof(text));
        fprintf(out, " %5g%% %10s\n", *p, known ? text : "-");
    }
    time_text((double)main_time->max, text, sizeof(text));
    fprintf(out, "   100%% %10s (longest request)\n", text);
}

/* How many connections there were, and how many it would have taken. */
static void print_connections(const struct result *r, FILE *out)
{
    const struct stats *s = &r->stats;
    const struct hist *per = s->per_connection;

    fprintf(out, "\nConnections: carried %llu + opened %llu = closed %llu + alive %llu",
            (unsigned long long)s->connections_carried, (unsigned long long)s->connections_opened,
            (unsigned long long)s->connections_closed, (unsigned long long)s->connections_alive);
    if (r->plan->options.keepalive && r->plan->rate == 0)
        fprintf(out, " (%llu would be perfect keep-alive)",
                (unsigned long long)r->plan->options.connections);
    if (per->count)
        fprintf(out, "\n  requests on each: min %lld, median %lld, max %lld\n", (long long)per->min,
                (long long)hist_percentile(per, 50), (long long)per->max);
    else
        putc('\n', out);
    if (r->plan->options.tls_resume)
        fprintf(out, "  TLS sessions resumed: %llu\n", (unsigned long long)s->tls_resumed);
}

/* Sixty-four lines at most: with more values it is no tally of workers any more. */
static void print_tally(const struct result *r, FILE *out)
{
    const struct tally *t = &r->stats.tally;

    if (!r->plan->options.tally)
        return;
    fprintf(out, "%s: %zu values\n", r->plan->options.tally, t->used);
    for (size_t i = 0; i < t->size && t->used <= 64; i++) {
        if (t->entries[i].count)
            fprintf(out, "  %-30s %llu\n", t->entries[i].value,
                    (unsigned long long)t->entries[i].count);
    }
}

/* One line for each of several URLs. */
static void print_targets(const struct result *r, FILE *out)
{
    char median[32], high[32];

    if (r->stats.target_count)
        fprintf(out, "\n%-40s %10s %10s %10s %10s\n", "URL", "started", "ok", "median", "p99");
    for (unsigned i = 0; i < r->stats.target_count; i++) {
        const struct target_stats *t = &r->stats.targets[i];
        fprintf(out, "%-40.40s %10llu %10llu %10s %10s\n", r->plan->targets[i].path,
                (unsigned long long)t->started, (unsigned long long)t->ok,
                time_text((double)hist_percentile(t->response, 50), median, sizeof(median)),
                hist_percentile_known(t->response, 99)
                    ? time_text((double)hist_percentile(t->response, 99), high, sizeof(high))
                    : "-");
    }
}

/* The machine that drove; of a merged result there are several. */
static void print_machine(const struct result *r, FILE *out)
{
    struct utsname u;

    if (r->machine_idle < 0)
        return;
    fputs("Machine: ", out);
    if (r->part_count == 0 && uname(&u) == 0)
        fprintf(out, "%ld CPUs, %s %s, ", sysconf(_SC_NPROCESSORS_ONLN), u.sysname, u.release);
    fprintf(out, "idle %.0f %%, stolen %.0f %%%s\n", r->machine_idle * 100, r->machine_steal * 100,
            r->plan->local ? " (driver and server share its processors)" : "");
}

/* Whether the driver, the machine or the server was busy. */
static void print_health(const struct result *r, FILE *out)
{
    char own[32];
    const struct hist *late = r->stats.times[TIME_LATENESS];

    fprintf(out, "Driver: %.2f us CPU/request, busiest thread %.0f %%, own delay p99 %s",
            r->cpu_us_per_request, r->busy * 100,
            time_text((double)hist_percentile(late, 99), own, sizeof(own)));
    if (r->delay >= 0)
        fprintf(out, ", waited for a CPU %.1f %%", r->delay * 100);
    fprintf(out, "%s\n", r->client_bound ? "  CLIENT-BOUND" : "");
    print_machine(r, out);
    if (r->have_tree && r->tree_after.known)
        fprintf(out, "Server: %.2f us CPU/request, %u processes, %.1f MiB (PSS)\n",
                r->tree_cpu_us_per_request, r->tree_after.processes,
                (double)r->tree_after.pss_bytes / 1048576);
    if (r->steady >= 0)
        fprintf(out, "Steady: %s (last third at %.0f %% of the first)\n", r->steady ? "yes" : "no",
                r->steady_change * 100);
    if (r->concurrency > 0)
        fprintf(out,
                "Little's law: throughput x mean response = %.2f requests at a time (c=%llu)\n",
                r->concurrency, (unsigned long long)r->plan->options.connections);
}

/* The machines of a merged result: a sum hides a bad one. */
static void print_parts(const struct result *r, FILE *out)
{
    char median[32], high[32];

    if (r->part_count)
        fprintf(out, "\n%-24s %8s %12s %8s %10s %10s\n", "Machine", "part", "requests/s", "failed",
                "median", "p99");
    for (size_t i = 0; i < r->part_count; i++) {
        const struct part_report *p = &r->parts[i];
        fprintf(out, "%-24.24s %8llu %12.2f %8llu %10s %10s%s\n", p->host,
                (unsigned long long)p->segment, p->requests_per_second,
                (unsigned long long)p->failed, time_text((double)p->p50, median, sizeof(median)),
                p->p99_known ? time_text((double)p->p99, high, sizeof(high)) : "-",
                p->client_bound ? "  CLIENT-BOUND" : "");
    }
}

void output_text(const struct result *r, FILE *out)
{
    print_setting(r, out);
    print_warnings(r, out);
    print_throughput(r, out);
    print_outcomes(r, out);
    print_latency(r, out);
    print_targets(r, out);
    print_parts(r, out);
    print_connections(r, out);
    print_tally(r, out);
    print_health(r, out);
}
