/* SPDX-License-Identifier: Apache-2.0
 * A comparison in words and as JSON. */
#include "compare.h"
#include "json_write.h"

#include <math.h>

/* Two-sided, at 5 %: with fewer runs no result whatever could pass the test. */
#define FEWEST_PAIRED   6
#define FEWEST_UNPAIRED 4

/* Times in microseconds; everything else as it is. */
static double shown(enum metric m, double value)
{
    return m == METRIC_MEDIAN ? value / 1e3 : value;
}

/* Rates have their unit in their name. */
static const char *unit(enum metric m)
{
    return m == METRIC_RATE ? "" : " us";
}

/* "faster": what more of it, or less of it, is. */
static const char *direction(enum metric m, bool more)
{
    if (m == METRIC_RATE)
        return more ? "more" : "less";
    return more ? "longer" : "shorter";
}

/* In words first; the numbers behind them in brackets. */
static void print_verdict(const struct compare_report *r, size_t k, enum metric m, FILE *out)
{
    const struct comparison *c = &r->results[k][m];
    const char *b = r->sides[k].name, *a = r->sides[0].name;
    double low = (c->low - 1) * 100, high = (c->high - 1) * 100;
    bool more = c->ratio > 1;

    fprintf(out, "  %-19s ", metric_name(m));
    if (c->different) {
        double least = more ? low : -high, most = more ? high : -low;
        fprintf(out, "%s: %.1f %% to %.1f %% %s than %s (95 %%)", b, least, most,
                m == METRIC_SERVER_CPU ? (more ? "more" : "less") : direction(m, more), a);
    } else {
        fprintf(out, "no difference seen; would have seen %.1f %%", c->detectable * 100);
    }
    fprintf(out, "   [ratio %.4f, 95 %% interval %.4f to %.4f, p %.4f]\n", c->ratio, c->low,
            c->high, c->p_adjusted);
}

/* The medians of a side, and what it was. */
static void print_side(const struct compare_report *r, const struct compare_side *side, FILE *out)
{
    fprintf(out, "%-12s %3zu runs", side->name, side->runs);
    for (int m = 0; m < METRICS; m++) {
        double median = statistics_median(side->values[m], side->runs);
        if (side->runs && median > 0)
            fprintf(out, "   %s %.1f%s", metric_name(m), shown(m, median), unit(m));
    }
    fprintf(out, "   failed %llu%s\n     %s\n", (unsigned long long)side->failed,
            side->client_bound ? "   CLIENT-BOUND" : "", side->what);
    (void)r;
}

/* Sides first, then each against the first one, then how it was judged. */
void compare_print(const struct compare_report *r, FILE *out)
{
    /* 6 pairs: 2 / 2^6 = 0.031. 4 + 4 runs: 2 / 70 = 0.029. */
    size_t fewest = r->paired ? FEWEST_PAIRED : FEWEST_UNPAIRED;
    bool bound = false;

    fprintf(out, "%s; medians of the runs:\n",
            r->paired ? "Measured in turns" : "Stored results, not measured in turns");
    for (size_t k = 0; k < r->side_count; k++) {
        print_side(r, &r->sides[k], out);
        bound = bound || r->sides[k].client_bound;
    }
    for (size_t k = 1; k < r->side_count; k++) {
        fprintf(out, "\n%s against %s:\n", r->sides[k].name, r->sides[0].name);
        for (int m = 0; m < METRICS; m++) {
            if (r->results[k][m].pairs)
                print_verdict(r, k, m, out);
        }
    }
    fprintf(out, "\n%s, bootstrap of medians (10,000 resamples, seed %llu)%s\n",
            r->paired ? "Wilcoxon's signed-rank test" : "Mann-Whitney's test",
            (unsigned long long)r->seed,
            r->side_count > 2 || METRICS > 1 ? ", Holm's correction" : "");
    for (size_t k = 0; k < r->side_count; k++) {
        if (r->sides[k].runs < fewest) {
            fprintf(out,
                    "WARNING: with fewer than %zu runs no difference can be told from chance\n",
                    fewest);
            break;
        }
    }
    if (bound)
        fputs("WARNING: the driver was a limit (CLIENT-BOUND): differences may be hidden\n", out);
    if (r->interrupted)
        fputs("WARNING: interrupted\n", out);
}

/* A metric that was not measured on both sides has no member. */
static void write_comparison(struct json_writer *j, const struct compare_report *r, size_t k)
{
    json_open(j, NULL, '{');
    json_text(j, "name", r->sides[k].name);
    json_text(j, "against", r->sides[0].name);
    for (int m = 0; m < METRICS; m++) {
        const struct comparison *c = &r->results[k][m];
        if (!c->pairs)
            continue;
        json_open_flat(j, metric_name(m), '{');
        json_number(j, "ratio", c->ratio);
        json_number(j, "low", c->low);
        json_number(j, "high", c->high);
        json_number(j, "p", c->p);
        json_number(j, "p_adjusted", c->p_adjusted);
        json_number(j, "detectable", c->detectable);
        json_bool(j, "different", c->different);
        json_close(j, '}');
    }
    json_close(j, '}');
}

/* With the value of every run, so that all of it can be computed anew. */
void compare_json(const struct compare_report *r, FILE *out)
{
    struct json_writer j = {.out = out};

    json_open(&j, NULL, '{');
    json_text(&j, "httpdrive_compare", HTTPDRIVE_VERSION);
    json_bool(&j, "paired", r->paired);
    json_count(&j, "seed", r->seed);
    json_open(&j, "sides", '[');
    for (size_t k = 0; k < r->side_count; k++) {
        const struct compare_side *side = &r->sides[k];
        json_open(&j, NULL, '{');
        json_text(&j, "name", side->name);
        json_text(&j, "what", side->what);
        json_count(&j, "failed", side->failed);
        json_bool(&j, "client_bound", side->client_bound);
        for (int m = 0; m < METRICS; m++) {
            json_open_flat(&j, metric_name(m), '[');
            for (size_t i = 0; i < side->runs; i++)
                json_number(&j, NULL, side->values[m][i]);
            json_close(&j, ']');
        }
        json_close(&j, '}');
    }
    json_close(&j, ']');
    json_open(&j, "comparisons", '[');
    for (size_t k = 1; k < r->side_count; k++)
        write_comparison(&j, r, k);
    json_close(&j, ']');
    json_close(&j, '}');
}
