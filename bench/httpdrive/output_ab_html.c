/* SPDX-License-Identifier: Apache-2.0
 * ab's -w: the report as one HTML table, with the attributes of -x, -y and -z. */
#include "output.h"

#include <stdarg.h>

/* Text of the server's and the user's, made harmless in HTML. */
static void escaped(const char *text, FILE *out)
{
    for (; *text; text++) {
        switch (*text) {
        case '<':
            fputs("&lt;", out);
            break;
        case '&':
            fputs("&amp;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        default:
            putc(*text, out);
        }
    }
}

/* Attributes are the user's own and go into the tags as they are. */
static const char *given(const char *attributes)
{
    return attributes ? attributes : "";
}

/* One line of the table: a name and a value. */
static void __attribute__((format(printf, 4, 5)))
row(const struct result *r, FILE *out, const char *name, const char *format, ...)
{
    const struct options *o = &r->plan->options;
    char value[512];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(value, sizeof(value), format, arguments);
    va_end(arguments);
    fprintf(out, "<tr %s><th colspan=2 %s>%s:</th><td colspan=2 %s>", given(o->html_row),
            given(o->html_cell), name, given(o->html_cell));
    escaped(value, out);
    fputs("</td></tr>\n", out);
}

/* A row of the table of times, in ms. */
static void times(const struct result *r, FILE *out, const char *name, const struct hist *h)
{
    const struct options *o = &r->plan->options;
    const char *cell = given(o->html_cell);

    fprintf(out, "<tr %s><th %s>%s:</th><td %s>%.3f</td><td %s>%.3f</td><td %s>%.3f</td></tr>\n",
            given(o->html_row), cell, name, cell, h->count ? (double)h->min / 1e6 : 0, cell,
            hist_mean(h) / 1e6, cell, (double)h->max / 1e6);
}

/* The rows between the document and its times. */
static void counts(const struct result *r, FILE *out)
{
    const struct stats *s = &r->stats;

    row(r, out, "Concurrency Level", "%llu", (unsigned long long)r->plan->options.connections);
    row(r, out, "Time taken for tests", "%.3f seconds", r->seconds);
    row(r, out, "Complete requests", "%llu", (unsigned long long)stats_completed(s));
    row(r, out, "Failed requests", "%llu", (unsigned long long)stats_failed(s));
    if (r->plan->options.keepalive)
        row(r, out, "Keep-Alive requests", "%llu", (unsigned long long)s->kept_alive);
    row(r, out, "Total transferred", "%llu bytes", (unsigned long long)s->bytes_received);
    row(r, out, "HTML transferred", "%llu bytes", (unsigned long long)s->bytes_body);
    row(r, out, "Requests per second", "%.2f", r->requests_per_second);
    row(r, out, "Transfer rate", "%.2f kb/s received",
        r->seconds > 0 ? (double)s->bytes_received / 1024 / r->seconds : 0);
}

void output_ab_html(const struct result *r, FILE *out)
{
    const struct plan *p = r->plan;
    const struct options *o = &p->options;
    const char *cell = given(o->html_cell);

    fprintf(out, "\n\n<table %s>\n", given(o->html_table));
    row(r, out, "Server Software", "%s", r->server);
    row(r, out, "Server Hostname", "%s", p->url.host);
    row(r, out, "Server Port", "%u", p->url.port);
    row(r, out, "Document Path", "%s", p->targets[0].path);
    row(r, out, "Document Length", "%llu bytes", (unsigned long long)r->first_length);
    counts(r, out);
    fprintf(out, "<tr %s><th %s colspan=4>Connection Times (ms)</th></tr>\n", given(o->html_row),
            cell);
    fprintf(out,
            "<tr %s><th %s>&nbsp;</th> <th %s>min</th>   <th %s>avg</th>   <th %s>max</th></tr>\n",
            given(o->html_row), cell, cell, cell, cell);
    times(r, out, "Connect", r->stats.times[TIME_SETUP]);
    times(r, out, "Processing", r->stats.times[TIME_SERVICE]);
    times(r, out, "Total", r->stats.times[TIME_RESPONSE]);
    fputs("</table>\n", out);
}
