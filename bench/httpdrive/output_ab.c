/* SPDX-License-Identifier: Apache-2.0
 * ab's forms of a report, line for line, with right numbers in them: medians and percentiles by
 * nearest rank, a measured mean, and each request in one class of failure. */
#include "output_ab.h"
#include "output.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A row from a histogram; all 0 when it is empty. */
static struct ab_row row_of(const char *name, const char *what, const struct hist *h)
{
    return (struct ab_row){name,          what,       h->count ? (double)h->min : 0,
                           hist_mean(h),  hist_sd(h), (double)hist_percentile(h, 50),
                           (double)h->max};
}

/* Requests on connections that were open needed no time to connect, and count as 0. */
static bool setup_row(const struct result *r, struct ab_row *row)
{
    struct hist *all = hist_make();
    uint64_t answers = r->stats.times[TIME_SERVICE]->count;

    if (!all)
        return false;
    hist_merge(all, r->stats.times[TIME_SETUP]);
    if (answers > all->count) {
        all->min = 0;
        all->buckets[0] += answers - all->count;
        all->count = answers;
    }
    *row = row_of("Connect:", "the initial connection time", all);
    hist_free(all);
    return true;
}

/* ab's four rows in terms of ours: its connect is our setup, its processing our service. */
void ab_rows(const struct result *r, struct ab_row rows[AB_ROWS])
{
    const struct stats *s = &r->stats;

    if (!setup_row(r, &rows[ROW_CONNECT]))
        rows[ROW_CONNECT] = row_of("Connect:", "the initial connection time", s->times[TIME_SETUP]);
    rows[ROW_PROCESSING] = row_of("Processing:", "the processing time", s->times[TIME_SERVICE]);
    rows[ROW_WAITING] = row_of("Waiting:", "the waiting time", s->times[TIME_TTFB]);
    rows[ROW_TOTAL] = row_of("Total:", "the total time", s->times[TIME_RESPONSE]);
}

/* Rounded once, here, not before computing with them. */
long ab_whole_ms(double ns)
{
    return lround(ns / 1e6);
}

/* In ab they may overlap and add up to more than all. */
void ab_failure_classes(const struct stats *s, uint64_t classes[4])
{
    memset(classes, 0, 4 * sizeof(*classes));
    for (int i = 0; i < OUTCOMES; i++) {
        int class = outcome_ab_class(i);
        if (class >= 0)
            classes[class] += s->outcomes[i];
    }
}

uint64_t ab_failed(const struct stats *s)
{
    return stats_failed(s) - s->outcomes[OUTCOME_STATUS];
}

/* Redirections too, as in ab. */
uint64_t ab_not_2xx(const struct stats *s)
{
    uint64_t sum = 0;

    for (int i = 0; i < STATUS_CODES; i++)
        sum += i / 100 != 2 ? s->status[i] : 0;
    return sum;
}

bool ab_sends_body(const struct plan *p)
{
    return p->options.post_file || p->options.put_file || p->options.body;
}

/* Of one target: ab has no other. */
uint64_t ab_body_sent(const struct result *r)
{
    const struct target *t = &r->plan->targets[0];

    return (t->length - t->head_length) * stats_completed(&r->stats);
}

static double per_second(const struct result *r, uint64_t bytes)
{
    return r->seconds > 0 ? (double)bytes / 1024 / r->seconds : 0;
}

double ab_received_rate(const struct result *r)
{
    return per_second(r, r->stats.bytes_received);
}

double ab_sent_rate(const struct result *r)
{
    return per_second(r, r->stats.bytes_sent);
}

/* Up to the document's length. */
static void print_server(const struct result *r, FILE *out)
{
    const struct plan *p = r->plan;

    /* The first word only */
    fprintf(out, "\n\nServer Software:        %.*s\n", (int)strcspn(r->server, " "), r->server);
    fprintf(out, "Server Hostname:        %s\n", p->url.host);
    fprintf(out, "Server Port:            %u\n", p->url.port);
    if (*r->tls)
        fprintf(out, "SSL/TLS Protocol:       %s\n", r->tls);
    if (*r->tls_key)
        fprintf(out, "Server Temp Key:        %s\n", r->tls_key);
    if (plan_server_name(p))
        fprintf(out, "TLS Server Name:        %s\n", plan_server_name(p));
    fprintf(out, "\nDocument Path:          %s\n", p->targets[0].path);
    if (p->options.variable_length) {
        fprintf(out, "Document Length:        Variable\n\n");
    } else {
        fprintf(out, "Document Length:        %llu bytes\n\n", (unsigned long long)r->first_length);
    }
}

/* Up to the bytes transferred. */
static void print_counts(const struct result *r, FILE *out)
{
    const struct stats *s = &r->stats;
    uint64_t classes[4];

    ab_failure_classes(s, classes);
    fprintf(out, "Concurrency Level:      %llu\n",
            (unsigned long long)r->plan->options.connections);
    fprintf(out, "Time taken for tests:   %.3f seconds\n", r->seconds);
    fprintf(out, "Complete requests:      %llu\n", (unsigned long long)stats_completed(s));
    fprintf(out, "Failed requests:        %llu\n", (unsigned long long)ab_failed(s));
    if (ab_failed(s))
        fprintf(out, "   (Connect: %llu, Receive: %llu, Length: %llu, Exceptions: %llu)\n",
                (unsigned long long)classes[0], (unsigned long long)classes[1],
                (unsigned long long)classes[2], (unsigned long long)classes[3]);
    if (ab_not_2xx(s))
        fprintf(out, "Non-2xx responses:      %llu\n", (unsigned long long)ab_not_2xx(s));
    if (r->plan->options.keepalive)
        fprintf(out, "Keep-Alive requests:    %llu\n", (unsigned long long)s->kept_alive);
    fprintf(out, "Total transferred:      %llu bytes\n", (unsigned long long)s->bytes_received);
    if (ab_sends_body(r->plan))
        fprintf(out, "Total body sent:        %llu\n", (unsigned long long)ab_body_sent(r));
    fprintf(out, "HTML transferred:       %llu bytes\n", (unsigned long long)s->bytes_body);
}

/* Throughput and mean times. */
static void print_rates(const struct result *r, FILE *out)
{
    const struct stats *s = &r->stats;
    double received = ab_received_rate(r), sent = ab_sent_rate(r);
    double each = s->completed_in_time ? r->seconds * 1e3 / (double)s->completed_in_time : 0;

    fprintf(out, "Requests per second:    %.2f [#/sec] (mean)\n", r->requests_per_second);
    fprintf(out, "Time per request:       %.3f [ms] (mean)\n",
            hist_mean(s->times[TIME_RESPONSE]) / 1e6);
    fprintf(out, "Time per request:       %.3f [ms] (mean, across all concurrent requests)\n",
            each);
    fprintf(out, "Transfer rate:          %.2f [Kbytes/sec] received\n", received);
    if (ab_sends_body(r->plan)) {
        fprintf(out, "                        %.2f kb/s sent\n", sent);
        fprintf(out, "                        %.2f kb/s total\n", received + sent);
    }
}

/* ab's judgement, of the unrounded values. */
static void print_confidence(const struct ab_row *row, FILE *out)
{
    double apart = fabs(row->mean - row->median);

    if (apart > 2 * row->sd) {
        fprintf(out,
                "ERROR: The median and mean for %s are more than twice the standard\n"
                "       deviation apart. These results are NOT reliable.\n",
                row->what);
    } else if (apart > row->sd) {
        fprintf(out,
                "WARNING: The median and mean for %s are not within a normal deviation\n"
                "        These results are probably not that reliable.\n",
                row->what);
    }
}

/* With -S neither deviation nor median, as in ab. */
static void print_table(const struct result *r, FILE *out)
{
    bool confidence = !r->plan->options.no_confidence;
    struct ab_row rows[AB_ROWS];

    ab_rows(r, rows);
    fputs("\nConnection Times (ms)\n", out);
    fputs(confidence ? "              min  mean[+/-sd] median   max\n"
                     : "              min   avg   max\n",
          out);
    for (int i = 0; i < AB_ROWS; i++) {
        const struct ab_row *row = &rows[i];
        fprintf(out, "%-11s", row->name);
        if (confidence) {
            fprintf(out, " %5ld %4ld %5.1f %6ld %7ld\n", ab_whole_ms(row->min),
                    ab_whole_ms(row->mean), row->sd / 1e6, ab_whole_ms(row->median),
                    ab_whole_ms(row->max));
        } else {
            fprintf(out, " %5ld %5ld%5ld\n", ab_whole_ms(row->min), ab_whole_ms(row->mean),
                    ab_whole_ms(row->max));
        }
    }
    for (int i = 0; i < AB_ROWS && confidence; i++)
        print_confidence(&rows[i], out);
}

/* By nearest rank: of 99 fast answers and a slow one, the 99th is fast. */
static void print_percentages(const struct hist *h, FILE *out)
{
    static const int percents[] = {50, 66, 75, 80, 90, 95, 98, 99};

    fputs("\nPercentage of the requests served within a certain time (ms)\n", out);
    for (size_t i = 0; i < sizeof(percents) / sizeof(*percents); i++)
        fprintf(out, "  %d%%  %5ld\n", percents[i],
                ab_whole_ms((double)hist_percentile(h, percents[i])));
    fprintf(out, " 100%%  %5ld (longest request)\n", ab_whole_ms((double)h->max));
}

/* Three lines of banner, so that scripts that skip three lines skip three lines. */
void output_ab(const struct result *r, FILE *out)
{
    const struct options *o = &r->plan->options;
    const struct hist *total = r->stats.times[TIME_RESPONSE];

    fputs("This is httpdrive, Version " HTTPDRIVE_VERSION "\n"
          "Its report has the lines of ApacheBench 2.3;\n"
          "what they say is computed as in httpdrive(1)\n\n",
          out);
    fprintf(out, "Benchmarking %s ", r->plan->url.host);
    if (o->proxy)
        fprintf(out, "[through %s] ", o->proxy);
    fprintf(out, "(be patient)%s\n", o->quiet || r->stats.started <= 150 ? ".....done" : "");
    print_server(r, out);
    print_counts(r, out);
    print_rates(r, out);
    if (total->count) {
        print_table(r, out);
        if (!o->no_percentiles && total->count > 1)
            print_percentages(total, out);
    }
}

/* 101 rows; the only place where ab shows fractions of a millisecond. */
void output_ab_csv(const struct result *r, FILE *out)
{
    const struct hist *h = r->stats.times[TIME_RESPONSE];

    fputs("Percentage served,Time in ms\n", out);
    for (int i = 0; i <= 100; i++)
        fprintf(out, "%d,%.3f\n", i, (double)hist_percentile(h, i) / 1e6);
}

/* ab sorts by duration, which looks like a trend when plotted. */
static int by_begin(const void *a, const void *b)
{
    nsec x = ((const struct logged *)a)->begun, y = ((const struct logged *)b)->begun;
    return (x > y) - (x < y);
}

/* -g: a line for each request. The first two columns have whole seconds; times are ms with three
 * decimals, where ab has whole ms, which gnuplot reads as well. */
void output_gnuplot(const struct result *r, FILE *out)
{
    size_t count = r->stats.log.count;
    struct logged *sorted = malloc((count + 1) * sizeof(*sorted));

    if (!sorted) {
        fputs("httpdrive: HD001: out of memory\n", stderr);
        return;
    }
    if (count)
        memcpy(sorted, r->stats.log.entries, count * sizeof(*sorted));
    qsort(sorted, count, sizeof(*sorted), by_begin);
    fputs("starttime\tseconds\tctime\tdtime\tttime\twait\n", out);
    for (size_t i = 0; i < count; i++) {
        const struct logged *e = &sorted[i];
        time_t second = (time_t)(r->started_epoch + (double)(e->begun - r->started) / 1e9);
        char date[64] = "";
        struct tm parts;
        if (localtime_r(&second, &parts))
            strftime(date, sizeof(date), "%a %b %d %H:%M:%S %Y", &parts);
        fprintf(out, "%s\t%lld\t%.3f\t%.3f\t%.3f\t%.3f\n", date, (long long)second,
                (double)e->setup / 1e6, (double)(e->total - e->setup) / 1e6, (double)e->total / 1e6,
                (double)e->wait / 1e6);
    }
    free(sorted);
}
