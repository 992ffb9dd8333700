/* SPDX-License-Identifier: Apache-2.0
 * The per-second series; see series.h. */
#include "series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Buckets in each power of two; the layout is that of hist.c with fewer bits. */
#define SUB (1u << SERIES_BITS)

uint32_t series_bucket_index(int64_t value)
{
    uint64_t v = value < 0 ? 0 : (uint64_t)value;
    unsigned shift;
    uint32_t index;

    if (v < 2 * SUB)
        return (uint32_t)v;
    shift = 63u - (unsigned)__builtin_clzll(v) - SERIES_BITS;
    index = shift * SUB + (uint32_t)(v >> shift);
    return index < SERIES_BUCKETS ? index : SERIES_BUCKETS - 1;
}

int64_t series_bucket_mid(uint32_t index)
{
    unsigned shift;

    if (index < 2 * SUB)
        return index;
    shift = index / SUB - 1;
    return ((int64_t)(index - shift * SUB) << shift) + ((INT64_C(1) << shift) >> 1);
}

/* One array of open buckets serves all seconds: only the last one is being filled, and what is
 * kept of the others is sparse. */
bool series_init(struct series *s)
{
    memset(s, 0, sizeof(*s));
    s->open = calloc(SERIES_BUCKETS, sizeof(*s->open));
    return s->open != NULL;
}

void series_free(struct series *s)
{
    for (size_t i = 0; i < s->count; i++)
        free(s->seconds[i].buckets);
    free(s->seconds);
    free(s->open);
    memset(s, 0, sizeof(*s));
}

/* Two passes over the open buckets: the first finds out how much memory the second needs. It runs
 * once a second, for a few microseconds. */
void series_close(struct series *s)
{
    struct second *last = s->count ? &s->seconds[s->count - 1] : NULL;
    size_t used = 0;

    /* Closed before, or nothing was begun */
    if (!last || last->buckets)
        return;
    for (uint32_t i = 0; i < SERIES_BUCKETS; i++)
        used += s->open[i] != 0;
    if (!used)
        return;
    last->buckets = malloc(used * sizeof(*last->buckets));
    if (!last->buckets)
        s->lost = true;
    for (uint32_t i = 0; i < SERIES_BUCKETS; i++) {
        if (s->open[i] && last->buckets)
            last->buckets[last->bucket_count++] = (struct bucket){i, s->open[i]};
        s->open[i] = 0;
    }
}

struct second *series_second(struct series *s, size_t index)
{
    if (index >= s->room) {
        /* Seconds in which nothing happened exist too: index is time, not a number of entries. */
        size_t room = index + 64 + s->room / 2;
        struct second *seconds = realloc(s->seconds, room * sizeof(*seconds));
        if (!seconds) {
            s->lost = true;
            return NULL;
        }
        s->seconds = seconds;
        s->room = room;
    }
    if (index >= s->count) {
        /* What was recorded until now belongs to the second before. */
        series_close(s);
        memset(s->seconds + s->count, 0, (index + 1 - s->count) * sizeof(*s->seconds));
        s->count = index + 1;
    }
    return &s->seconds[index];
}

void series_record(struct series *s, struct second *now, int64_t response)
{
    if (response > now->max)
        now->max = response;
    /* 32 bits: four billion responses of one length within a second */
    s->open[series_bucket_index(response)]++;
}

/* Adds two ascending lists of buckets. */
static bool merge_buckets(struct second *into, const struct second *from)
{
    size_t a = 0, b = 0, n = 0;
    struct bucket *all;

    if (from->bucket_count == 0)
        return true;
    all = malloc((into->bucket_count + from->bucket_count) * sizeof(*all));
    if (!all)
        return false;
    while (a < into->bucket_count || b < from->bucket_count) {
        /* The smaller index of the two heads goes next; equal ones follow each other and become
         * one. */
        bool left = b == from->bucket_count ||
                    (a < into->bucket_count && into->buckets[a].index <= from->buckets[b].index);
        struct bucket next = left ? into->buckets[a++] : from->buckets[b++];
        if (n && all[n - 1].index == next.index) {
            all[n - 1].count += next.count;
        } else {
            all[n++] = next;
        }
    }
    free(into->buckets);
    into->buckets = all;
    into->bucket_count = n;
    return true;
}

bool series_merge(struct series *into, const struct series *from)
{
    bool whole = true;

    for (size_t i = 0; i < from->count; i++) {
        const struct second *b = &from->seconds[i];
        struct second *a = series_second(into, i);
        if (!a)
            return false;
        a->completed += b->completed;
        a->failed += b->failed;
        a->bytes += b->bytes;
        a->opened += b->opened;
        /* Gauges of threads add up too: each counts its own connections. */
        a->connections += b->connections;
        if (b->max > a->max)
            a->max = b->max;
        whole = merge_buckets(a, b) && whole;
    }
    into->lost = into->lost || from->lost;
    return whole;
}

/* As hist_percentile(), over sparse buckets: a few dozen of them, so there is no need to be quick.
 */
int64_t second_percentile(const struct second *s, double percent)
{
    uint64_t total = 0, seen = 0, rank;

    for (size_t i = 0; i < s->bucket_count; i++)
        total += s->buckets[i].count;
    if (total == 0)
        return 0;
    rank = (uint64_t)ceil((double)total * percent / 100 - 1e-9);
    for (size_t i = 0; i < s->bucket_count; i++) {
        seen += s->buckets[i].count;
        if (seen >= rank) {
            int64_t value = series_bucket_mid(s->buckets[i].index);
            return value > s->max ? s->max : value;
        }
    }
    return s->max;
}
