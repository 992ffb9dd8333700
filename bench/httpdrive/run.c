/* SPDX-License-Identifier: Apache-2.0
 * Starts the threads, watches over them, and adds up what they counted.
 *
 * The main thread does no load of its own. It waits for signals, for the end of the threads and for
 * the next full second, in which it tells the observer what the threads show. Everything else is
 * read when they have been joined, so that they need no lock. Two passes through one barrier start
 * them: before the first each has set itself up (or failed to), before the second the times are
 * set. */
#include "engine.h"
#include "run.h"

#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/timex.h>
#include <unistd.h>

/* Descriptors beyond those of the connections: epoll and eventfd of each thread, and some. */
#define SPARE_DESCRIPTORS 32
/* When nothing has ever connected, this long is tried. */
#define PATIENCE (3 * NSEC_PER_SEC)
/* Who interrupts a run wants its report, not the answers that --drain would wait for. */
#define INTERRUPTED_DRAIN NSEC_PER_SEC
/* Nobody waits longer than a day, in seconds. */
#define DISTANT_START 86400

/* What the main thread keeps while the others work. */
struct watch {
    struct run run;
    struct result *result;
    const struct run_observer *observer;
    int signal_fd;
    struct health_sample machine;
    bool started; /* the measurement has begun */
    bool ended;   /* the threads were told to stop, or have stopped by themselves */
    nsec next_tick;
    uint64_t shown_completed, shown_failed, shown_bytes;
};

void run_wake(const struct run *run)
{
    eventfd_write(run->main_fd, 1);
}

/* Raises the soft limit as far as it goes; names it when that is too little. */
static bool check_descriptors(const struct plan *p, char *error, size_t size)
{
    struct rlimit limit;
    rlim_t needed = p->options.connections + 2 * p->options.threads + SPARE_DESCRIPTORS;

    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= needed)
        return true;
    if (limit.rlim_max >= needed) {
        limit.rlim_cur = needed;
        if (setrlimit(RLIMIT_NOFILE, &limit) == 0)
            return true;
    }
    snprintf(error, size,
             "HD003: %llu connections need %llu file descriptors, but the limit is %llu: raise it "
             "with 'ulimit -n %llu' or lower -c",
             (unsigned long long)p->options.connections, (unsigned long long)needed,
             (unsigned long long)limit.rlim_max, (unsigned long long)needed);
    return false;
}

/* Seconds since 1970, for dates only: durations come from the monotonic clock. */
static double epoch_now(void)
{
    return (double)clock_read(CLOCK_REALTIME) / 1e9;
}

/* A machine that is late would send another part of the load than its own; a start in years is one
 * in milliseconds, mistaken for seconds. */
static bool check_start(const struct options *o, char *error, size_t size)
{
    double wait = o->start_at - epoch_now();

    if (o->start_at <= 0 || (wait >= 0 && wait <= DISTANT_START))
        return true;
    snprintf(error, size, "HD004: --start-at: %.3f is %.3g s %s", o->start_at, fabs(wait),
             wait < 0 ? "ago" : "ahead, more than a day");
    return false;
}

/* When the measurement begins, as far as it is known beforehand. */
static nsec planned_start(const struct options *o, nsec began)
{
    if (o->start_at > 0) {
        double wait = o->start_at - epoch_now();
        return began + (wait > 0 ? (nsec)(wait * 1e9) : 0);
    }
    if (o->warmup_auto || o->warmup_requests)
        return NSEC_NEVER;
    return began + o->warmup_time;
}

/* Ends the run early. The threads see the time when they wake, and drain as after -t. */
static void stop_workers(struct watch *w, const char *reason)
{
    if (!w->ended) {
        w->ended = true;
        snprintf(w->result->ended_by, sizeof(w->result->ended_by), "%s", reason);
        atomic_store(&w->run.stop, clock_now());
    }
    for (unsigned i = 0; i < w->run.worker_count; i++)
        eventfd_write(w->run.workers[i].wake_fd, 1);
}

/* The machine and the server as they are when the measurement begins. */
static void begin_samples(struct watch *w)
{
    w->started = true;
    health_machine(&w->machine);
    if (w->result->have_tree)
        health_tree(&w->result->tree_before, w->result->tree_pid, false);
}

/* Adds what the threads show. They write without locks: the sum may be a few requests old. */
static void read_live(const struct run *run, struct run_progress *p)
{
    memset(p, 0, sizeof(*p));
    for (unsigned i = 0; i < run->worker_count; i++) {
        struct live *live = &run->workers[i].live;
        nsec slowest = atomic_exchange_explicit(&live->slowest, 0, memory_order_relaxed);
        p->completed += atomic_load_explicit(&live->completed, memory_order_relaxed);
        p->failed += atomic_load_explicit(&live->failed, memory_order_relaxed);
        p->bytes += atomic_load_explicit(&live->bytes, memory_order_relaxed);
        p->connections += atomic_load_explicit(&live->connections, memory_order_relaxed);
        if (slowest > p->slowest)
            p->slowest = slowest;
    }
}

/* Does it make sense to go on? A server that is not there does not deserve hours. */
static void check_server(struct watch *w, const struct run_progress *p, nsec now)
{
    struct run *run = &w->run;
    nsec timeout = run->plan->options.timeout;
    nsec patience = timeout > PATIENCE ? timeout : PATIENCE;

    /* No failure yet: the first attempts may still be under way, towards a far or silent host. */
    if (p->failed == 0 || p->connections)
        return;
    if (!atomic_load(&run->ever_connected)) {
        if (now - run->began > PATIENCE)
            stop_workers(w, "no connection could be made");
    } else if (now - atomic_load(&run->last_answer) > patience && now - run->began > patience) {
        stop_workers(w, "the server was gone");
    }
}

/* Once a second: tell the observer what happened since the last time. */
static void tick(struct watch *w, nsec now)
{
    struct run_progress p;
    nsec start = atomic_load(&w->run.start);
    uint64_t completed, failed, bytes;

    read_live(&w->run, &p);
    check_server(w, &p, now);
    /* The threads' counters only grow; the observer is told the growth. */
    completed = p.completed;
    failed = p.failed;
    bytes = p.bytes;
    p.completed_in_all = p.completed;
    p.completed -= w->shown_completed;
    p.failed -= w->shown_failed;
    p.bytes -= w->shown_bytes;
    p.seconds = start == NSEC_NEVER || now < start ? -1 : (double)(now - start) / 1e9;
    w->shown_completed = completed;
    w->shown_failed = failed;
    w->shown_bytes = bytes;
    if (w->observer && w->observer->progress)
        w->observer->progress(w->observer->baton, &p);
    w->next_tick += NSEC_PER_SEC;
}

/* SIGINT and SIGTERM are blocked in all threads and arrive here as data, so that the report is
 * printed by the ordinary path and not from within a signal handler. */
static void read_signal(struct watch *w)
{
    struct signalfd_siginfo info;

    if (read(w->signal_fd, &info, sizeof(info)) != sizeof(info))
        return;
    if (w->result->interrupted)
        _exit(EXIT_INTERRUPTED); /* asked twice */
    w->result->interrupted = true;
    atomic_store(&w->run.give_up, clock_now() + INTERRUPTED_DRAIN);
    stop_workers(w, "interrupted");
}

/* Sleeps until a thread has ended, a signal has come, or it is time to look. */
static void watch_workers(struct watch *w)
{
    struct pollfd fds[2] = {{.fd = w->signal_fd, .events = POLLIN},
                            {.fd = w->run.main_fd, .events = POLLIN}};

    while (atomic_load(&w->run.workers_running)) {
        nsec start = atomic_load(&w->run.start), now = clock_now();
        nsec next = !w->started && start < w->next_tick ? start : w->next_tick;
        nsec delay = next > now ? next - now : 0;
        struct timespec timeout = {delay / NSEC_PER_SEC, delay % NSEC_PER_SEC};
        eventfd_t value;

        ppoll(fds, 2, &timeout, NULL);
        if (fds[0].revents & POLLIN)
            read_signal(w);
        if (fds[1].revents & POLLIN)
            eventfd_read(w->run.main_fd, &value);
        now = clock_now();
        if (!w->started && now >= atomic_load(&w->run.start))
            begin_samples(w);
        if (now >= w->next_tick)
            tick(w, now);
    }
}

/* CPU and delays until no more requests began: waiting for the last answers is no idleness. */
static void report_threads(struct result *r, const struct run *run, double *cpu)
{
    uint64_t waits = 0;

    r->threads = calloc(run->worker_count, sizeof(*r->threads));
    r->thread_count = r->threads ? run->worker_count : 0;
    for (unsigned i = 0; i < run->worker_count; i++) {
        const struct thread_health *h = &run->workers[i].health;
        double wall = (double)(h->stopped.wall - h->before.wall);
        double busy = wall > 0 ? (double)(h->stopped.cpu - h->before.cpu) / wall : 0;
        double delay = wall > 0 && h->before.delay >= 0
                           ? (double)(h->stopped.delay - h->before.delay) / wall
                           : -1;
        *cpu += (double)(h->after.cpu - h->before.cpu) / 1e9;
        waits += h->waits;
        if (busy > r->busy)
            r->busy = busy;
        if (delay > r->delay)
            r->delay = delay;
        if (r->threads)
            r->threads[i] = (struct thread_report){busy, delay};
    }
    r->waits_per_request = r->stats.started + r->warmup.started
                               ? (double)waits / (double)(r->stats.started + r->warmup.started)
                               : 0;
}

/* How far the wall clock may be off, says the kernel; merging lays the seconds of several
 * machines beside each other. Negative: nobody keeps it right. */
static double synchronised_within(void)
{
    struct timex t = {0};
    int state = adjtimex(&t);

    return state < 0 || state == TIME_ERROR ? -1 : (double)t.maxerror / 1e6;
}

/* How long was it, from the first request to the end of the counting? */
static void report_times(struct result *r, const struct run *run, nsec ended)
{
    nsec start = run->start, stop = run->stop;
    nsec duration = run->plan->options.duration;
    bool all_sent = run->plan->options.requests && r->stats.in_flight == 0 && stop == NSEC_NEVER &&
                    r->stats.unsent == 0;
    nsec last = r->stats.last_completion;

    if (start == NSEC_NEVER || start > ended)
        start = ended;
    if (duration && start + duration < stop)
        stop = start + duration;
    /* With -n the time ends with the last answer, not when the last thread had been joined. */
    if (all_sent && last <= stop)
        stop = last > start ? last : ended;
    /* Ended in the warm-up: of the measurement there was nothing. */
    if (stop < start)
        stop = start;
    if (stop > ended)
        stop = ended;
    r->seconds = (double)(stop - start) / 1e9;
    r->wall_seconds = (double)(ended - start) / 1e9;
    r->warmup_seconds = (double)(start - run->began) / 1e9;
    r->started_epoch = epoch_now() - (double)(clock_now() - start) / 1e9;
    r->clock_error = synchronised_within();
}

/* Idle and stolen CPU time of all processors together. */
static void report_machine(struct result *r, const struct health_sample *before)
{
    struct health_sample after;
    double total;

    health_machine(&after);
    total = (double)(after.total - before->total);
    r->machine_idle = r->machine_steal = -1;
    if (before->known && after.known && total > 0) {
        r->machine_idle = (double)(after.idle - before->idle) / total;
        r->machine_steal = (double)(after.steal - before->steal) / total;
    }
}

/* The only time that one thread reads what another has counted: all have been joined. */
static bool merge_workers(struct result *r, const struct run *run)
{
    bool whole = true;

    for (unsigned i = 0; i < run->worker_count; i++) {
        whole = stats_merge(&r->stats, &run->workers[i].measured) && whole;
        whole = stats_merge(&r->warmup, &run->workers[i].warmup) && whole;
    }
    return whole && !r->stats.series.lost;
}

/* From the threads' counters to the result. */
static bool collect(struct watch *w, nsec ended, char *error, size_t size)
{
    struct result *r = w->result;
    struct run *run = &w->run;
    unsigned targets = run->plan->target_count;

    report_machine(r, &w->machine);
    if (r->have_tree)
        health_tree(&r->tree_after, r->tree_pid, true);
    if (!stats_init(&r->stats, targets) || !stats_init(&r->warmup, targets) ||
        !merge_workers(r, run)) {
        snprintf(error, size, "HD001: out of memory");
        return false;
    }
    report_times(r, run, ended);
    report_threads(r, run, &r->cpu_seconds);
    r->nothing_connected = !run->ever_connected;
    r->have_first = run->first.ready;
    r->first_length = run->first.length;
    r->first_status = run->first.status;
    r->first_minor = run->first.minor;
    memcpy(r->server, run->first.server, sizeof(r->server));
    memcpy(r->tls, run->first.tls, sizeof(r->tls));
    memcpy(r->tls_key, run->first.tls_key, sizeof(r->tls_key));
    memcpy(r->head, run->first.head, sizeof(r->head));
    r->began = run->began;
    r->started = run->start == NSEC_NEVER ? ended : run->start;
    result_conclude(r);
    return true;
}

/* After the threads have been joined. */
static void free_workers(struct run *run)
{
    for (unsigned i = 0; i < run->worker_count; i++) {
        struct worker *w = &run->workers[i];
        stats_free(&w->warmup);
        stats_free(&w->measured);
        tls_side_free(&w->tls);
        free(w->conns);
        close(w->epoll_fd);
        close(w->wake_fd);
    }
    free(run->workers);
    close(run->main_fd);
}

/* Starts the threads, which set themselves up and then wait at the barrier. */
static bool make_workers(struct run *run, char *error, size_t size)
{
    unsigned n = (unsigned)run->plan->options.threads;
    void *memory;

    if (posix_memalign(&memory, 64, n * sizeof(struct worker))) {
        snprintf(error, size, "HD001: out of memory");
        return false;
    }
    memset(memory, 0, n * sizeof(struct worker));
    run->workers = memory;
    run->worker_count = n;
    run->main_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_barrier_init(&run->barrier, NULL, n + 1);
    atomic_store(&run->workers_running, n);
    for (unsigned i = 0; i < n; i++) {
        struct worker *w = &run->workers[i];
        int status;
        w->run = run;
        w->plan = run->plan;
        w->index = i;
        status = pthread_create(&w->thread, NULL, worker_main, w);
        if (status) {
            /* Those that wait at the barrier could not be joined. */
            fprintf(stderr, "httpdrive: HD002: thread %u of %u: %s\n", i + 1, n, strerror(status));
            exit(EXIT_USAGE);
        }
    }
    return true;
}

/* Lets the threads go and returns when all have ended. */
static bool release_workers(struct watch *w, char *error, size_t size)
{
    struct run *run = &w->run;

    pthread_barrier_wait(&run->barrier);
    for (unsigned i = 0; i < run->worker_count; i++) {
        if (run->workers[i].failed) {
            run->aborted = true;
            snprintf(error, size, "%s", run->workers[i].error);
        }
    }
    if (!run->aborted && w->result->have_tree)
        health_tree(&w->result->tree_before, w->result->tree_pid, false);
    health_machine(&w->machine);
    /* From here to the second barrier the times are set, which the threads read after it. */
    run->began = clock_now();
    run->last_answer = run->began;
    run->start = planned_start(&run->plan->options, run->began);
    run->stop = run->give_up = NSEC_NEVER;
    run->left = run->plan->requests;
    w->started = run->start == run->began; /* the samples are those just taken */
    w->next_tick = run->began + NSEC_PER_SEC;
    pthread_barrier_wait(&run->barrier);
    watch_workers(w);
    for (unsigned i = 0; i < run->worker_count; i++)
        pthread_join(run->workers[i].thread, NULL);
    return !run->aborted;
}

bool run_execute(struct result *r, const struct plan *plan, const struct run_observer *observer,
                 char *error, size_t error_size)
{
    struct watch w = {.result = r, .observer = observer, .run.plan = plan};
    const char *tree = plan->options.server_pid;
    sigset_t signals, before;
    bool fine = true;

    memset(r, 0, sizeof(*r));
    r->plan = plan;
    r->have_tree = tree != NULL;
    if (tree && !health_pid(tree, &r->tree_pid, error, error_size))
        return false;
    if (!check_descriptors(plan, error, error_size) ||
        !check_start(&plan->options, error, error_size))
        return false;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, &before);
    w.signal_fd = signalfd(-1, &signals, SFD_CLOEXEC);
    fine = make_workers(&w.run, error, error_size);
    if (fine) {
        fine =
            release_workers(&w, error, error_size) && collect(&w, clock_now(), error, error_size);
        free_workers(&w.run);
        pthread_barrier_destroy(&w.run.barrier);
    }
    close(w.signal_fd);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return fine;
}
