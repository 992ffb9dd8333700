/* SPDX-License-Identifier: Apache-2.0
 * Counters of a run and how those of several threads are added; see stats.h. */
#include "stats.h"

#include <stdlib.h>
#include <string.h>

static const char *const time_names[TIMES] = {
    [TIME_RESPONSE] = "response", [TIME_SERVICE] = "service", [TIME_TTFB] = "ttfb",
    [TIME_SETUP] = "setup",       [TIME_CONNECT] = "connect", [TIME_TLS] = "tls",
    [TIME_LATENESS] = "lateness",
};

const char *phase_time_name(enum phase_time t)
{
    return time_names[t];
}

/* Goes on after a failure and frees all at the end, so that there is one way out. */
bool stats_init(struct stats *s, unsigned targets)
{
    bool whole;

    memset(s, 0, sizeof(*s));
    whole = series_init(&s->series);
    /* Each histogram reserves half a megabyte of addresses, not of memory. */
    s->per_connection = hist_make();
    whole = whole && s->per_connection;
    for (int i = 0; i < TIMES; i++)
        whole = (s->times[i] = hist_make()) && whole;
    if (targets > 1) {
        s->targets = calloc(targets, sizeof(*s->targets));
        s->target_count = s->targets ? targets : 0;
        whole = whole && s->targets;
        for (unsigned i = 0; i < s->target_count; i++)
            whole = (s->targets[i].response = hist_make()) && whole;
    }
    if (!whole)
        stats_free(s);
    return whole;
}

void stats_free(struct stats *s)
{
    series_free(&s->series);
    hist_free(s->per_connection);
    for (int i = 0; i < TIMES; i++)
        hist_free(s->times[i]);
    for (unsigned i = 0; i < s->target_count; i++)
        hist_free(s->targets[i].response);
    free(s->targets);
    free(s->tally.entries);
    free(s->log.entries);
    memset(s, 0, sizeof(*s));
}

/* Sums, but for what is the oldest or the last of all. */
static void add_counters(struct stats *into, const struct stats *from)
{
    into->started += from->started;
    for (int i = 0; i < OUTCOMES; i++)
        into->outcomes[i] += from->outcomes[i];
    for (int i = 0; i < STATUS_CODES; i++)
        into->status[i] += from->status[i];
    into->in_flight += from->in_flight;
    if (from->oldest_in_flight > into->oldest_in_flight)
        into->oldest_in_flight = from->oldest_in_flight;
    into->completed_in_time += from->completed_in_time;
    into->resent += from->resent;
    into->interim += from->interim;
    into->kept_alive += from->kept_alive;
    into->bytes_received += from->bytes_received;
    into->bytes_body += from->bytes_body;
    into->bytes_sent += from->bytes_sent;
    into->bytes_body_sent += from->bytes_body_sent;
    if (from->last_completion > into->last_completion)
        into->last_completion = from->last_completion;
    into->connect_attempts += from->connect_attempts;
    into->connections_opened += from->connections_opened;
    into->connections_carried += from->connections_carried;
    into->connections_closed += from->connections_closed;
    into->connections_alive += from->connections_alive;
    into->connections_unanswered += from->connections_unanswered;
    into->tls_resumed += from->tls_resumed;
    into->connect_retransmits += from->connect_retransmits;
    into->scheduled += from->scheduled;
    into->late += from->late;
    into->unsent += from->unsent;
}

bool stats_merge(struct stats *into, const struct stats *from)
{
    bool whole = true;

    add_counters(into, from);
    hist_merge(into->per_connection, from->per_connection);
    for (int i = 0; i < TIMES; i++)
        hist_merge(into->times[i], from->times[i]);
    /* Kinds are found again by content: each thread met them in its own order. */
    for (unsigned i = 0; i < from->error_kinds; i++) {
        const struct error_count *e = &from->errors[i];
        stats_error(into, e->outcome, e->number, e->reason, e->count);
    }
    for (size_t i = 0; i < from->log.count; i++)
        stats_log(into, &from->log.entries[i]);
    into->log.lost = into->log.lost || from->log.lost;
    into->errors_unlisted += from->errors_unlisted;
    for (size_t i = 0; i < from->tally.size; i++) {
        const struct tally_entry *e = &from->tally.entries[i];
        if (e->count)
            whole = tally_add(&into->tally, e->value, strlen(e->value), e->count) && whole;
    }
    for (unsigned i = 0; i < from->target_count && i < into->target_count; i++) {
        into->targets[i].started += from->targets[i].started;
        into->targets[i].ok += from->targets[i].ok;
        hist_merge(into->targets[i].response, from->targets[i].response);
    }
    return series_merge(&into->series, &from->series) && whole;
}

/* A short list, searched from the front: failures come in few kinds, and the first is the one that
 * goes on. Reasons are compared as texts, since those read from a file are other pointers. */
void stats_error(struct stats *s, enum outcome o, int number, const char *reason, uint64_t count)
{
    for (unsigned i = 0; i < s->error_kinds; i++) {
        struct error_count *e = &s->errors[i];
        bool same = e->reason == reason || (e->reason && reason && !strcmp(e->reason, reason));
        if (e->outcome == o && e->number == number && same) {
            e->count += count;
            return;
        }
    }
    if (s->error_kinds < ERROR_KINDS) {
        s->errors[s->error_kinds++] = (struct error_count){o, number, reason, count};
    } else {
        s->errors_unlisted += count;
    }
}

/* A request is dropped rather than the run when memory ends; `lost` makes the report say so. */
void stats_log(struct stats *s, const struct logged *entry)
{
    struct request_log *log = &s->log;

    if (log->count == log->room) {
        size_t room = log->room ? log->room * 2 : 4096;
        struct logged *grown = realloc(log->entries, room * sizeof(*grown));
        if (!grown) {
            log->lost = true;
            return;
        }
        log->entries = grown;
        log->room = room;
    }
    log->entries[log->count++] = *entry;
}

/* The entry of this value, or the free one where it belongs (its count is 0). FNV-1a and linear
 * probing; there is always a free one, since the table is at most half full. */
static struct tally_entry *tally_slot(struct tally *t, const char *value, size_t length)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    size_t i;

    for (size_t k = 0; k < length; k++)
        hash = (hash ^ (unsigned char)value[k]) * UINT64_C(0x100000001b3);
    for (i = hash & (t->size - 1); t->entries[i].count; i = (i + 1) & (t->size - 1)) {
        if (strlen(t->entries[i].value) == length && !memcmp(t->entries[i].value, value, length))
            break;
    }
    return &t->entries[i];
}

/* Leaves the table as it was when there is no memory. */
static bool tally_grow(struct tally *t)
{
    struct tally old = *t;

    t->size = old.size ? old.size * 2 : 64;
    t->entries = calloc(t->size, sizeof(*t->entries));
    if (!t->entries) {
        *t = old;
        return false;
    }
    for (size_t i = 0; i < old.size; i++) {
        const struct tally_entry *e = &old.entries[i];
        if (e->count)
            *tally_slot(t, e->value, strlen(e->value)) = *e;
    }
    free(old.entries);
    return true;
}

bool tally_add(struct tally *t, const char *value, size_t length, uint64_t count)
{
    const char *nul = memchr(value, '\0', length);
    struct tally_entry *e;

    /* What the server sends may be anything; entries are texts that end with NUL and that have a
     * largest length, so that longer values with the same beginning are counted as one. */
    if (nul)
        length = (size_t)(nul - value);
    if (length >= TALLY_VALUE)
        length = TALLY_VALUE - 1;
    if (t->used * 2 >= t->size && !tally_grow(t))
        return false;
    e = tally_slot(t, value, length);
    if (!e->count) {
        memcpy(e->value, value, length);
        e->value[length] = '\0';
        t->used++;
    }
    e->count += count;
    return true;
}

/* The three sums of the conservation law. It is checked, not constructed: `started` is counted when
 * a request is given to a connection, outcomes when it ends, on other paths of the program. */
uint64_t stats_completed(const struct stats *s)
{
    uint64_t sum = 0;

    for (int i = 0; i < OUTCOMES; i++)
        sum += s->outcomes[i];
    return sum;
}

uint64_t stats_failed(const struct stats *s)
{
    return stats_completed(s) - s->outcomes[OUTCOME_OK];
}

bool stats_conserved(const struct stats *s)
{
    return s->started == stats_completed(s) + s->in_flight;
}
