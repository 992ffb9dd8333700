/* SPDX-License-Identifier: Apache-2.0
 * One thread of the engine: its event loop, the phases of a run, and the decision which connection
 * sends when.
 *
 * Loads. In a closed loop a connection sends as soon as it is free: the load follows the server. In
 * an open loop requests are due by a plan (pace.h) and take any free connection, so that a server
 * that stalls meets the requests that real users would have sent meanwhile.
 *
 * Phases. WARMUP: everything is done, but counted apart. MEASURE begins at one moment for all
 * threads: the first one that finds the warm-up done sets run->start, or the main thread has set it
 * beforehand. DRAIN: no request begins any more, and those under way are waited for: to the end of
 * their deadlines after -n, so that none of the n is lost; for --drain after -t.
 *
 * Lists. A connection is in one of five: busy (has a request; by deadline), ready (has just become
 * free in a closed loop), parked (waits for a
 * time: ramp, back-off, a full queue), idle (open) and unopened. The two last ones are used by the
 * open loop only: a closed loop has no use for a connection that has nothing to send.
 *
 * Waiting. In epoll, or, if one answer is all there is to wait for, in recv() (lone_connection).
 *
 * Budget. -n is one number for all threads, which they take from in small handfuls: a fixed share
 * for each would leave a fast thread without work while a slow one still has plenty. */
#include "engine.h"

#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#define EVENTS          512
#define STARTS_PER_TURN 64

#define BACKOFF_FIRST   (10 * NSEC_PER_MSEC)
#define BACKOFF_LAST    NSEC_PER_SEC
/* --warmup auto: at least and at most this long */
#define AUTO_LEAST NSEC_PER_SEC
#define AUTO_MOST  (10 * NSEC_PER_SEC)

/* Insertion from the end: deadlines and back-offs are nearly always later than all before them. */
void list_insert(struct conn_list *list, struct conn *c, nsec when)
{
    struct conn *before = list->last;

    /* Nearly always the last place is right: times are handed out in ascending order. */
    while (before && before->when > when)
        before = before->previous;
    c->when = when;
    c->list = list;
    c->previous = before;
    c->next = before ? before->next : list->first;
    if (c->next) {
        c->next->previous = c;
    } else {
        list->last = c;
    }
    if (before) {
        before->next = c;
    } else {
        list->first = c;
    }
    list->count++;
}

void list_remove(struct conn *c)
{
    struct conn_list *list = c->list;

    if (!list)
        return;
    if (c->next) {
        c->next->previous = c->previous;
    } else {
        list->last = c->previous;
    }
    if (c->previous) {
        c->previous->next = c->next;
    } else {
        list->first = c->next;
    }
    c->list = NULL;
    list->count--;
}

static nsec earlier(nsec a, nsec b)
{
    return a < b ? a : b;
}

static bool open_loop(const struct worker *w)
{
    return w->plan->rate > 0;
}

/* Takes one request off the run's budget, a few at a time so that threads seldom meet. */
static bool take_quota(struct worker *w)
{
    uint64_t left, want;

    if (!w->plan->requests)
        return true;
    if (w->quota == 0) {
        left = atomic_load(&w->run->left);
        do {
            if (left == 0)
                return false;
            want = left / (4 * w->run->worker_count);
            want = want < 1 ? 1 : want > 64 ? 64 : want; /* towards the end one at a time */
        } while (!atomic_compare_exchange_weak(&w->run->left, &left, left - want));
        w->quota = want;
    }
    w->quota--;
    return true;
}

/* May a request begin now? Takes it off the budget if so. */
static bool may_begin(struct worker *w)
{
    if (w->phase == PHASE_DRAIN || w->now >= w->stop)
        return false;
    return w->phase == PHASE_WARMUP || take_quota(w);
}

/* Nothing to do for this connection now. */
void worker_rest(struct worker *w, struct conn *c)
{
    list_insert(c->fd >= 0 ? &w->idle : &w->unopened, c, 0);
}

/* Puts a connection aside until the delay has passed. */
static void park(struct worker *w, struct conn *c, nsec delay)
{
    list_insert(&w->parked, c, w->now + delay);
}

/* What a connection does when its request has ended; see the file's head for the two kinds of
 * load. */
void worker_next(struct worker *w, struct conn *c)
{
    if (c->fd < 0 && c->backoff) {
        unsigned doubled = c->backoff < 8 ? c->backoff - 1 : 7;
        nsec delay = BACKOFF_FIRST << doubled;
        park(w, c, delay < BACKOFF_LAST ? delay : BACKOFF_LAST);
    } else if (open_loop(w)) {
        worker_rest(w, c); /* dispatch() finds it */
    } else {
        list_insert(&w->ready, c, 0); /* begin_ready() comes to it in this turn */
    }
}

/* Closed loop: the next request of every connection that has become free in this turn. All answers
 * of a turn are read before the first request is sent: sending wakes the server, which then takes
 * the processor from answers that wait. What fails at once has its next try in the next turn. */
static void begin_ready(struct worker *w)
{
    for (size_t n = w->ready.count; n > 0; n--) {
        struct conn *c = w->ready.first;
        list_remove(c);
        w->now = clock_now();
        if (may_begin(w)) {
            conn_begin(w, c, 0, false);
        } else {
            /* Nothing is left to do. Kept open, it would hold a process or thread of the server
             * that the connections still waiting may need. */
            conn_close(w, c);
            worker_rest(w, c);
        }
    }
}

/* Connections whose time has come. Only some at once, so that a crowd of them does not keep the
 * loop from its events. */
static void resume_parked(struct worker *w)
{
    for (int i = 0; i < STARTS_PER_TURN; i++) {
        struct conn *c = w->parked.first;
        if (!c || c->when > w->now)
            return;
        list_remove(c);
        w->now = clock_now();
        if (c->pending) {
            conn_resume(w, c);
        } else if (open_loop(w)) {
            worker_rest(w, c);
        } else if (may_begin(w)) {
            conn_begin(w, c, 0, false);
        } else {
            worker_rest(w, c);
        }
    }
}

/* Open loop: gives requests that are due to free connections. */
static void dispatch(struct worker *w)
{
    nsec start = w->phase == PHASE_WARMUP ? w->run->began : w->start;

    while (w->phase != PHASE_DRAIN && w->pace.due != NSEC_NEVER) {
        struct conn *c = w->idle.last ? w->idle.last : w->unopened.first;
        nsec due = start + w->pace.due;
        w->now = clock_now();
        if (!c || due > w->now || due >= w->stop)
            return;
        list_remove(c);
        pace_take(&w->pace);
        if (w->phase == PHASE_MEASURE)
            w->measured.scheduled++;
        conn_begin(w, c, due, true);
    }
}

/* The plan of this thread within the load of all threads of all machines: part i of segments x
 * threads, dealt like cards, so that the union is the plan of one. */
static void begin_pace(struct worker *w, uint64_t limit)
{
    const struct options *o = &w->plan->options;
    uint64_t part = o->segment + o->segments * w->index; /* of segments x threads */

    if (open_loop(w))
        pace_init(&w->pace, w->plan->rate, o->poisson, part, o->segments * w->run->worker_count,
                  limit, o->seed);
}

/* From here on everything is counted. Requests that are under way belong to the warm-up until
 * they end; connections are carried over. */
static void enter_measure(struct worker *w)
{
    nsec duration = w->plan->options.duration;

    w->phase = PHASE_MEASURE;
    w->start = earlier(atomic_load(&w->run->start), w->now); /* stopped before it began: now */
    if (duration && w->start + duration < w->stop)
        w->stop = w->start + duration;
    w->measured.connections_carried = atomic_load(&w->live.connections);
    record_second(w);
    begin_pace(w, w->plan->options.requests);
    health_thread(&w->health.before);
}

/* No request begins any more; those under way are waited for. */
static void enter_drain(struct worker *w)
{
    w->phase = PHASE_DRAIN;
    health_thread(&w->health.stopped);
}

/* Has this thread's share of the warm-up been done? Tells the others by setting the start. */
static void check_warmup(struct worker *w)
{
    const struct options *o = &w->plan->options;
    struct run *run = w->run;
    nsec unset = NSEC_NEVER, earliest = run->began + AUTO_LEAST;
    bool done = false;

    if (o->warmup_requests) {
        done = atomic_load(&run->warmed) >= o->warmup_requests;
        earliest = w->now;
    } else if (o->warmup_auto) {
        if (w->conns_used == w->conn_count) {
            w->conns_used++; /* counted once */
            atomic_fetch_add(&run->workers_warmed, 1);
        }
        done = atomic_load(&run->workers_warmed) == run->worker_count ||
               w->now >= run->began + AUTO_MOST;
    }
    if (done &&
        atomic_compare_exchange_strong(&run->start, &unset, earliest > w->now ? earliest : w->now))
        run_wake(run);
}

/* Moves on to the next phase when it is due. Looked at once each turn, so a phase begins late by
 * one turn at most. */
static void advance_phase(struct worker *w)
{
    nsec stop = atomic_load_explicit(&w->run->stop, memory_order_relaxed);

    if (stop < w->stop)
        w->stop = stop;
    if (w->phase == PHASE_WARMUP) {
        if (atomic_load_explicit(&w->run->start, memory_order_relaxed) == NSEC_NEVER)
            check_warmup(w);
        if (w->now >= atomic_load_explicit(&w->run->start, memory_order_relaxed) ||
            w->now >= w->stop)
            enter_measure(w);
    }
    if (w->phase == PHASE_MEASURE) {
        bool sent = open_loop(w)
                        ? w->pace.due == NSEC_NEVER
                        : w->plan->requests && w->quota == 0 &&
                              atomic_load_explicit(&w->run->left, memory_order_relaxed) == 0;
        if (sent || w->now >= w->stop)
            enter_drain(w);
    }
    w->drained = atomic_load_explicit(&w->run->give_up, memory_order_relaxed);
    if (w->stop != NSEC_NEVER)
        w->drained = earlier(w->drained, w->stop + w->plan->options.drain);
}

/* When the loop has something to do even without an event. */
static nsec next_time(const struct worker *w)
{
    nsec next = NSEC_NEVER;

    if (w->ready.first)
        return w->now;
    if (w->busy.first)
        next = earlier(next, w->busy.first->when);
    if (w->parked.first)
        next = earlier(next, w->parked.first->when);
    if (w->phase == PHASE_DRAIN)
        return earlier(next, w->drained);
    next = earlier(next, w->stop);
    if (w->phase == PHASE_WARMUP) {
        next = earlier(next, atomic_load(&w->run->start));
        if (w->plan->options.warmup_auto)
            next = earlier(next, w->run->began + AUTO_MOST);
    }
    if (open_loop(w) && w->pace.due != NSEC_NEVER && (w->idle.first || w->unopened.first))
        next = earlier(next, (w->phase == PHASE_WARMUP ? w->run->began : w->start) + w->pace.due);
    return next;
}

/* Sleeps until an event or the next time something is due. The closed loop does not need the
 * exact time, and saves a look at the clock. */
static int wait_for_events(struct worker *w, struct epoll_event *events)
{
    nsec next = next_time(w), now = open_loop(w) ? clock_now() : w->now, delay;
    struct timespec timeout;
    int n;

    if (next == NSEC_NEVER)
        return epoll_wait(w->epoll_fd, events, EVENTS, -1);
    delay = next > now && !w->plan->options.spin ? next - now : 0;
    timeout.tv_sec = delay / NSEC_PER_SEC;
    timeout.tv_nsec = delay % NSEC_PER_SEC;
    n = epoll_pwait2(w->epoll_fd, events, EVENTS, &timeout, NULL);
    if (n < 0 && errno != EINTR) {
        /* Before Linux 5.11, or forbidden: sleep whole milliseconds, and spin for the rest. */
        nsec ms = delay / NSEC_PER_MSEC;
        n = epoll_wait(w->epoll_fd, events, EVENTS, ms < 1000000 ? (int)ms : 1000000);
    }
    return n;
}

/* The connection whose answer is all that this thread waits for, if it can be slept on. A sleep is
 * rounded up by the kernel, and is over before the next time is due all the same. */
static struct conn *lone_connection(const struct worker *w)
{
    if (w->busy.count != 1 || w->idle.first || w->plan->options.spin ||
        next_time(w) - w->now < 2 * CONN_SLEEP || !conn_may_sleep(w->busy.first))
        return NULL;
    return w->busy.first;
}

/* Ends the requests whose deadline has passed. All deadlines are equally long, so the list is in
 * order and its head is the next one. */
static void expire(struct worker *w)
{
    struct conn *c;

    while ((c = w->busy.first) && c->when <= w->now)
        conn_expire(w, c);
}

/* One turn: wait, handle the events, then do what the clock says. */
static void loop(struct worker *w)
{
    struct epoll_event events[EVENTS];

    while (w->phase != PHASE_DRAIN ||
           (w->busy.count + w->conns_pending > 0 && w->now < w->drained)) {
        struct conn *lone = lone_connection(w);
        int n = 0;
        if (lone) {
            conn_sleep(w, lone);
        } else {
            n = wait_for_events(w, events);
            w->woken = w->now = clock_now();
            w->health.waits++;
        }
        for (int i = 0; i < n; i++) {
            if (events[i].data.ptr) {
                conn_event(w, events[i].data.ptr, events[i].events);
            } else {
                eventfd_t value;
                eventfd_read(w->wake_fd, &value);
            }
        }
        w->health.events += n > 0 ? (uint64_t)n : 0;
        begin_ready(w);
        expire(w);
        resume_parked(w);
        if (open_loop(w))
            dispatch(w); /* what was due before the end is sent even if the end has come */
        advance_phase(w);
    }
}

/* What never got an answer is counted too. */
static void settle(struct worker *w)
{
    struct stats *s = &w->measured;

    health_thread(&w->health.after);
    w->now = clock_now();
    if (open_loop(w) && w->stop != NSEC_NEVER) {
        s->unsent = pace_skip(&w->pace, w->stop - w->start);
        s->scheduled += s->unsent;
    }
    for (unsigned i = 0; i < w->conn_count; i++) {
        struct conn *c = &w->conns[i];
        if (c->list == &w->busy || c->pending)
            record_in_flight(w, c);
        if (c->state > CONN_CONNECTING)
            record_alive(w, c);
        if (c->fd >= 0) {
            SSL_free(c->ssl);
            close(c->fd);
        }
    }
    series_close(&s->series);
}

/* Everything a thread needs, made by the thread itself so that its memory lies near its CPU. */
static bool set_up(struct worker *w)
{
    const struct options *o = &w->plan->options;
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = NULL};

    w->stop = w->drained = NSEC_NEVER; /* known when the measurement begins */
    w->eager = true;                   /* until it has failed once */
    w->conn_count =
        (unsigned)(o->connections / o->threads + (w->index < o->connections % o->threads));
    w->conns = calloc(w->conn_count, sizeof(*w->conns));
    w->random = o->seed + w->index * UINT64_C(0x2545f4914f6cdd1d) + o->segment;
    w->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    w->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    w->hooks.baton = w;
    if (w->plan->verify_first || w->plan->verify_body)
        w->hooks.body = record_body;
    if (w->epoll_fd < 0 || w->wake_fd < 0 ||
        epoll_ctl(w->epoll_fd, EPOLL_CTL_ADD, w->wake_fd, &e)) {
        snprintf(w->error, sizeof(w->error), "HD002: a thread could not be set up: %s",
                 strerror(errno));
        return false;
    }
    if (!w->conns || !stats_init(&w->warmup, w->plan->target_count) ||
        !stats_init(&w->measured, w->plan->target_count)) {
        snprintf(w->error, sizeof(w->error), "HD001: out of memory");
        return false;
    }
    w->measured.log.wanted = o->gnuplot != NULL;
    return tls_side_init(&w->tls, w->plan, w->error, sizeof(w->error));
}

/* Connections begin when the ramp says; those of all threads take turns. */
static void line_up(struct worker *w)
{
    const struct options *o = &w->plan->options;

    w->now = w->run->began;
    for (unsigned i = 0; i < w->conn_count; i++) {
        uint64_t order = (uint64_t)i * o->threads + w->index;
        w->conns[i].fd = -1;
        park(w, &w->conns[i], (nsec)((double)o->ramp * (double)order / (double)o->connections));
    }
}

void *worker_main(void *baton)
{
    struct worker *w = baton;

    w->failed = !set_up(w);
    pthread_barrier_wait(&w->run->barrier); /* all are set up */
    pthread_barrier_wait(&w->run->barrier); /* the main thread has set the times */
    if (!w->failed && !w->run->aborted) {
        /* The kernel may round the time to sleep by 50 us, unless a thread says that it minds. */
        if (open_loop(w))
            prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
        line_up(w);
        begin_pace(w, 0);
        w->now = clock_now();
        advance_phase(w);
        loop(w);
        settle(w);
    }
    atomic_fetch_sub(&w->run->workers_running, 1);
    run_wake(w->run);
    return NULL;
}
