/* SPDX-License-Identifier: Apache-2.0
 * ab's -w: the report as one HTML table, with the attributes of -x, -y and -z. */
#include "output_ab.h"
#include "output.h"

#include <stdarg.h>
#include <string.h>

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

/* Attributes of a cell, ab's own unless -z names others. */
static const char *of_cell(const struct options *o)
{
    return o->html_cell ? o->html_cell : "bgcolor=white";
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
            of_cell(o), name, of_cell(o));
    escaped(value, out);
    fputs("</td></tr>\n", out);
}

/* A row without a name of its own. */
static void further_row(const struct result *r, FILE *out, double rate, const char *what)
{
    const struct options *o = &r->plan->options;

    fprintf(out, "<tr %s><td colspan=2 %s>&nbsp;</td><td colspan=2 %s>%.2f kb/s %s</td></tr>\n",
            given(o->html_row), of_cell(o), of_cell(o), rate, what);
}

/* A row of the table of times, in whole ms. */
static void times(const struct result *r, FILE *out, const struct ab_row *t)
{
    const struct options *o = &r->plan->options;
    const char *cell = of_cell(o);

    fprintf(out, "<tr %s><th %s>%s</th><td %s>%5ld</td><td %s>%5ld</td><td %s>%5ld</td></tr>\n",
            given(o->html_row), cell, t->name, cell, ab_whole_ms(t->min), cell,
            ab_whole_ms(t->mean), cell, ab_whole_ms(t->max));
}

/* How many requests failed, and why. */
static void failures(const struct result *r, FILE *out)
{
    const struct options *o = &r->plan->options;
    const struct stats *s = &r->stats;
    uint64_t classes[4];

    ab_failure_classes(s, classes);
    row(r, out, "Failed requests", "%llu", (unsigned long long)ab_failed(s));
    if (ab_failed(s))
        fprintf(out,
                "<tr %s><td colspan=4 %s>   (Connect: %llu, Receive: %llu, Length: %llu, "
                "Exceptions: %llu)</td></tr>\n",
                given(o->html_row), of_cell(o), (unsigned long long)classes[0],
                (unsigned long long)classes[1], (unsigned long long)classes[2],
                (unsigned long long)classes[3]);
    if (ab_not_2xx(s))
        row(r, out, "Non-2xx responses", "%llu", (unsigned long long)ab_not_2xx(s));
}

/* The rows between the document and its times. */
static void counts(const struct result *r, FILE *out)
{
    const struct stats *s = &r->stats;
    double received = ab_received_rate(r), sent = ab_sent_rate(r);

    row(r, out, "Concurrency Level", "%llu", (unsigned long long)r->plan->options.connections);
    row(r, out, "Time taken for tests", "%.3f seconds", r->seconds);
    row(r, out, "Complete requests", "%llu", (unsigned long long)stats_completed(s));
    failures(r, out);
    if (r->plan->options.keepalive)
        row(r, out, "Keep-Alive requests", "%llu", (unsigned long long)s->kept_alive);
    row(r, out, "Total transferred", "%llu bytes", (unsigned long long)s->bytes_received);
    if (ab_sends_body(r->plan))
        row(r, out, "Total body sent", "%llu", (unsigned long long)ab_body_sent(r));
    row(r, out, "HTML transferred", "%llu bytes", (unsigned long long)s->bytes_body);
    row(r, out, "Requests per second", "%.2f", r->requests_per_second);
    row(r, out, "Transfer rate", "%.2f kb/s received", received);
    if (ab_sends_body(r->plan)) {
        further_row(r, out, sent, "sent");
        further_row(r, out, received + sent, "total");
    }
}

void output_ab_html(const struct result *r, FILE *out)
{
    const struct plan *p = r->plan;
    const struct options *o = &p->options;
    const char *cell = of_cell(o);
    struct ab_row rows[AB_ROWS];

    ab_rows(r, rows);
    fprintf(out, "\n\n<table %s>\n", given(o->html_table));
    row(r, out, "Server Software", "%.*s", (int)strcspn(r->server, " "), r->server);
    row(r, out, "Server Hostname", "%s", p->url.host);
    row(r, out, "Server Port", "%u", p->url.port);
    row(r, out, "Document Path", "%s", p->targets[0].path);
    if (o->variable_length) {
        row(r, out, "Document Length", "Variable");
    } else {
        row(r, out, "Document Length", "%llu bytes", (unsigned long long)r->first_length);
    }
    counts(r, out);
    fprintf(out, "<tr %s><th %s colspan=4>Connection Times (ms)</th></tr>\n", given(o->html_row),
            cell);
    fprintf(out,
            "<tr %s><th %s>&nbsp;</th> <th %s>min</th>   <th %s>avg</th>   <th %s>max</th></tr>\n",
            given(o->html_row), cell, cell, cell, cell);
    times(r, out, &rows[ROW_CONNECT]);
    times(r, out, &rows[ROW_PROCESSING]);
    times(r, out, &rows[ROW_TOTAL]);
    fputs("</table>\n", out);
}
