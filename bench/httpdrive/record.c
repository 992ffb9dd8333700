/* SPDX-License-Identifier: Apache-2.0
 * Writes down what happened to requests and connections, in the counters of the thread that saw it.
 *
 * Requests are counted in the phase in which they began (c->stats), so that for each phase started
 * = outcomes + in flight. Connections outlive requests and are counted in the phase their thread is
 * in; those that were open when the measurement began are carried over. What other threads may look
 * at while the run goes on (struct live) is written with relaxed atomics; all else is read after
 * the thread has been joined. */
#include "engine.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>

#define LATE NSEC_PER_MSEC

static void live_add(_Atomic uint64_t *counter, uint64_t n)
{
    /* One writer: a plain addition, visible to the reader sooner or later. */
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n,
                          memory_order_relaxed);
}

/* Counts a request as begun and chooses what it asks for. */
void record_start(struct worker *w, struct conn *c)
{
    const struct plan *p = w->plan;

    c->stats = w->phase == PHASE_WARMUP ? &w->warmup : &w->measured;
    c->stats->started++;
    c->target = p->targets;
    if (p->target_count > 1) {
        /* The first target whose share of the weights, added up, exceeds a random number. */
        double chance = random_unit(&w->random);
        unsigned low = 0, high = p->target_count - 1;
        while (low < high) {
            unsigned middle = (low + high) / 2;
            if (chance < p->targets[middle].up_to) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        c->target = &p->targets[low];
        c->stats->targets[low].started++;
    }
}

/* Connections outlive requests: they are counted in the phase the worker is in. */
static struct stats *phase_stats(struct worker *w)
{
    return w->phase == PHASE_WARMUP ? &w->warmup : &w->measured;
}

/* A TCP connection stands. */
void record_opened(struct worker *w)
{
    struct run *run = w->run;

    phase_stats(w)->connections_opened++;
    live_add(&w->live.connections, 1);
    if (w->second && w->phase != PHASE_WARMUP)
        w->second->opened++;
    if (!atomic_load_explicit(&run->ever_connected, memory_order_relaxed))
        atomic_store(&run->ever_connected, true);
}

/* What is known of a connection only when it is over. */
static void connection_ends(struct stats *s, const struct conn *c)
{
    hist_record(s->per_connection, c->served);
    s->connections_unanswered += c->served == 0;
}

/* Whoever closed it. */
void record_closed(struct worker *w, struct conn *c)
{
    phase_stats(w)->connections_closed++;
    live_add(&w->live.connections, (uint64_t)-1); /* wraps round to one less */
    connection_ends(phase_stats(w), c);
}

void record_alive(struct worker *w, struct conn *c)
{
    w->measured.connections_alive++;
    connection_ends(&w->measured, c);
}

void record_second(struct worker *w)
{
    struct series *s = &w->measured.series;
    nsec elapsed = w->now - w->start;
    size_t index = (size_t)(elapsed / NSEC_PER_SEC), before = s->count;
    uint64_t connections = atomic_load_explicit(&w->live.connections, memory_order_relaxed);

    w->second = series_second(s, index);
    w->second_end = w->start + ((nsec)index + 1) * NSEC_PER_SEC;
    /* The second that has ended, and those in which nothing happened. */
    for (size_t i = before ? before - 1 : 0; w->second && i <= index; i++)
        s->seconds[i].connections = connections;
}

/* The response time, in all the places that keep it. One look-up each: a histogram costs 4 ns. */
static void record_time(struct worker *w, struct conn *c, nsec response)
{
    struct stats *s = c->stats;

    hist_record(s->times[TIME_RESPONSE], response);
    if (w->second && s == &w->measured)
        series_record(&s->series, w->second, response);
    if (s->targets)
        hist_record(s->targets[c->target - w->plan->targets].response, response);
    if (response > atomic_load_explicit(&w->live.slowest, memory_order_relaxed))
        atomic_store_explicit(&w->live.slowest, response, memory_order_relaxed);
}

/* A whole answer, whatever it says. */
static void record_answer(struct worker *w, struct conn *c, enum outcome o)
{
    struct stats *s = c->stats;

    s->status[c->response.status]++;
    s->bytes_body += c->response.body;
    s->interim += c->response.interim;
    hist_record(s->times[TIME_SERVICE], w->now - c->sent);
    hist_record(s->times[TIME_TTFB], c->first - c->sent);
    if (c->sent != c->begun)
        hist_record(s->times[TIME_SETUP], c->sent - c->begun);
    if (s->log.wanted) {
        struct logged entry = {c->begun, c->sent - c->begun, c->first - c->sent, w->now - c->begun};
        stats_log(s, &entry);
    }
    if (s->targets && o == OUTCOME_OK)
        s->targets[c->target - w->plan->targets].ok++;
    if (!c->ever_used) {
        c->ever_used = true;
        w->conns_used++;
    }
    atomic_store_explicit(&w->run->last_answer, w->now, memory_order_relaxed);
}

/* The claimed first answer is over. If it broke off, the next one to come will be the first. */
static void settle_first(struct worker *w, struct conn *c, bool answered)
{
    struct first_answer *first = &w->run->first;

    if (answered) {
        first->length = c->response.body;
        first->status = c->response.status;
        first->minor = c->response.minor;
        atomic_store(&first->ready, true);
    } else {
        first->server[0] = first->head[0] = '\0';
        atomic_store(&first->claimed, false);
    }
    w->first = NULL;
}

/* What others see while it runs, and what the series keeps. */
static void record_progress(struct worker *w, struct conn *c, enum outcome o)
{
    if (w->now >= w->second_end && w->phase != PHASE_WARMUP)
        record_second(w);
    if (w->second && c->stats == &w->measured) {
        w->second->completed++;
        w->second->failed += o != OUTCOME_OK;
        w->second->bytes += c->response.body;
    }
    live_add(&w->live.completed, 1);
    live_add(&w->live.failed, o != OUTCOME_OK);
    live_add(&w->live.bytes, c->response.body);
    if (c->stats == &w->warmup && w->plan->options.warmup_requests)
        atomic_fetch_add(&w->run->warmed, 1);
}

/* The one place where requests end: every path through conn.c comes here once for each request. */
void record_end(struct worker *w, struct conn *c, enum outcome o, int number, const char *reason)
{
    struct stats *s = c->stats;

    s->outcomes[o]++;
    s->last_completion = w->now;
    s->completed_in_time += w->now <= w->stop;
    record_progress(w, c, o);
    if (c->has_due && c->sent && c->sent - c->due > LATE)
        s->late++;
    if (outcome_answered(o))
        record_answer(w, c, o);
    /* The age of a request that timed out is the least its response time would have been. */
    if (outcome_answered(o) || outcome_timed_out(o))
        record_time(w, c, w->now - (c->has_due ? c->due : c->begun));
    if (o != OUTCOME_OK && o != OUTCOME_STATUS)
        stats_error(s, o, number, reason, 1);
    if (w->first == c)
        settle_first(w, c, outcome_answered(o));
}

/* The run is over and this request has no outcome. */
void record_in_flight(struct worker *w, struct conn *c)
{
    nsec age = w->now - c->begun;

    c->stats->in_flight++;
    if (age > c->stats->oldest_in_flight)
        c->stats->oldest_in_flight = age;
}

void record_first_byte(struct worker *w, struct conn *c)
{
    struct first_answer *first = &w->run->first;

    /* Looked at before it is claimed: an exchange for every answer would make threads wait. */
    if (!atomic_load_explicit(&first->claimed, memory_order_relaxed) &&
        !atomic_exchange(&first->claimed, true))
        w->first = c;
    /* Header lines are looked at only as long as somebody wants to see them. */
    w->hooks.header = w->first == c || w->plan->options.tally ? record_header : NULL;
    hist_record(c->stats->times[TIME_LATENESS], w->now - w->woken);
}

/* For -v 2. What does not fit is left out line by line. */
static void keep_head(struct first_answer *first, const char *name, size_t name_length,
                      const char *value, size_t value_length)
{
    size_t used = strlen(first->head), room = sizeof(first->head) - used;

    if (name_length + value_length + 4 < room)
        snprintf(first->head + used, room, "%.*s: %.*s\n", (int)name_length, name,
                 (int)value_length, value);
}

void record_header(void *baton, const char *name, size_t name_length, const char *value,
                   size_t value_length)
{
    struct worker *w = baton;
    struct conn *c = w->reading;
    const char *tally = w->plan->options.tally;
    char *server = w->run->first.server;

    if (tally && strlen(tally) == name_length && !strncasecmp(tally, name, name_length))
        tally_add(&c->stats->tally, value, value_length, 1);
    if (w->first == c)
        keep_head(&w->run->first, name, name_length, value, value_length);
    if (w->first == c && name_length == 6 && !strncasecmp(name, "Server", 6)) {
        size_t n = value_length < sizeof(w->run->first.server) - 1
                       ? value_length
                       : sizeof(w->run->first.server) - 1;
        memcpy(server, value, n);
        server[n] = '\0';
    }
}

/* --verify: looks at the body as it passes, so that none is ever kept. */
void record_body(void *baton, const char *bytes, size_t n)
{
    struct worker *w = baton;
    struct conn *c = w->reading;
    const struct plan *p = w->plan;

    if (p->verify_first) {
        c->body_sum = (uint32_t)crc32(c->body_sum, (const unsigned char *)bytes, (unsigned)n);
    } else if (c->response.body + n > p->verify_size ||
               memcmp(p->verify_body + c->response.body, bytes, n) != 0) {
        c->body_differs = true;
    }
}

/* Equal to that of all answers before? The first one sets the measure. */
static bool matches_reference(struct worker *w, uint64_t key)
{
    uint64_t expected = 0;

    return atomic_compare_exchange_strong(&w->run->first.reference, &expected, key) ||
           expected == key;
}

/* Length and checksum of the body in one number that is not 0. */
static uint64_t body_key(const struct conn *c)
{
    uint64_t key = (uint64_t)c->body_sum << 32 ^ c->response.body * UINT64_C(0x9e3779b97f4a7c15);

    return key ? key : 1;
}

/* Framing is right when this is called; the answer's content may still not be. */
enum outcome record_judge(struct worker *w, struct conn *c)
{
    const struct plan *p = w->plan;
    uint64_t length = c->response.body;

    if (!p->expected[c->response.status])
        return OUTCOME_STATUS;
    if (p->verify_length && !matches_reference(w, length + 1))
        return OUTCOME_LENGTH;
    if (p->verify_first && !matches_reference(w, body_key(c)))
        return OUTCOME_BODY;
    if (p->verify_body && length != p->verify_size)
        return OUTCOME_LENGTH;
    return p->verify_body && c->body_differs ? OUTCOME_BODY : OUTCOME_OK;
}
