/* SPDX-License-Identifier: Apache-2.0
 * Python in a child process: its start, what all requests share, its end.
 *
 * Python starts in child_init rather than with the first request, because it takes some 20 ms that
 * no visitor should wait for; but not where no directive names a handler, because it also takes
 * some 8 MB. */
#include "modules/python/child.h"

#include <ap_mpm.h>
#include <http_log.h>
#include <unistd.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "modules/common/hot.h"
#include "modules/common/status_board.h"
#include "modules/python/conf.h"
#include "modules/python/memory.h"
#include "modules/python/state.h"

APLOG_USE_MODULE(pypool);

#define SHUTDOWN_SECONDS 3

/* All of it is of this process: set in child_init or by start(), constant afterwards but for the
 * counters. */
static pp_child child;
static status_board *board; /* made in the parent, inherited; NULL: no counters are shown */
static apr_pool_t *child_pool;
static pthread_t first_thread; /* the one that child_init ran in */
static pthread_once_t started = PTHREAD_ONCE_INIT;

#define COLUMN(name, label, field)                                      \
    {                                                                   \
        name, label, STATUS_SUM, APR_OFFSETOF(pp_counters, field), NULL \
    }

static const char *const gil_words[] = {"main", "shared", "own", "own and shared", NULL};

static const status_column columns[] = {
    COLUMN("Interpreters", "interpreters", interpreters),
    COLUMN("Applications", "applications", applications),
    {"GIL", "GIL", STATUS_WORD, APR_OFFSETOF(pp_counters, gil), gil_words},
    COLUMN("Busy", "busy", busy),
    COLUMN("Requests", "requests", requests),
    COLUMN("Failures", "failures", failures),
    COLUMN("Waits", "waits", waits),
    COLUMN("WaitTimeouts", "wait time-outs", timeouts),
    COLUMN("Overtime", "over the time limit", overtime),
    COLUMN("Memory", "bytes in use", memory),
    {NULL, NULL, STATUS_SUM, 0, NULL}};

static const status_layout layout = {"Pypool", "Python interpreters (mod_pypool)",
                                     sizeof(pp_counters), columns};

apr_status_t pp_child_prepare(apr_pool_t *pconf)
{
    return status_board_make(&board, &layout, pconf);
}

/* Runs in whichever child answers the page; the board is shared. */
int pp_child_status(request_rec *r, int flags)
{
    if (board)
        status_board_print(board, r, flags);
    return OK;
}

/* The end of the child, in threads of its own, for which it waits SHUTDOWN_SECONDS: what handlers
 * registered with atexit runs, then Python stands still. Interpreters are not destroyed: a handler,
 * or a thread that one has left behind, may still be inside, and the process ends anyway. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t done;
    int left; /* things to be waited for; guarded by lock */
} ending = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 1};

/* Any thread; wakes the one that ends the child when nothing is left. */
static void add_left(int number)
{
    pthread_mutex_lock(&ending.lock);
    ending.left += number;
    if (!ending.left)
        pthread_cond_signal(&ending.done);
    pthread_mutex_unlock(&ending.lock);
}

/* In the thread of end_all, which gets a state of its own in each interpreter. */
static void run_exit_functions(pp_interp *interp, void *unused)
{
    pp_thread *state = pp_thread_of(interp);
    PyObject *done;

    (void)unused;
    if (!state)
        return;
    pp_enter(state);
    done = PyObject_CallNoArgs(interp->shutdown);
    if (!done)
        PyErr_WriteUnraisable(interp->shutdown);
    Py_XDECREF(done);
    pp_leave(state);
}

/* A thread that takes an interpreter's GIL for good, so that no thread left over runs Python code
 * while exit() takes httpd's memory from under it. */
static void *freeze(void *interp)
{
    pp_thread *state = pp_thread_of(interp);

    if (state)
        pp_enter(state);
    add_left(-1);
    for (;;)
        pause();
    return NULL;
}

static void start_freezing(pp_interp *interp, void *unused)
{
    pthread_t thread;

    (void)unused;
    if (interp->index && !interp->own_gil)
        return; /* its GIL is that of the main interpreter */
    add_left(1);
    if (pthread_create(&thread, NULL, freeze, interp))
        add_left(-1);
    else
        pthread_detach(thread);
}

static void *end_all(void *unused)
{
    (void)unused;
    pp_interp_each(run_exit_functions, NULL);
    pp_interp_each(start_freezing, NULL);
    add_left(-1);
    /* The thread states stay: deleting them would wait for GILs that are taken. */
    for (;;)
        pause();
    return NULL;
}

static volatile sig_atomic_t starting; /* Python is being started */

/* prefork ends a child from its signal handler, perhaps in the middle of Python code, perhaps in a
 * thread that Python code has made. There nothing can be taken down: whoever was interrupted in
 * malloc() holds the heap's lock, and the first free() would wait for it for ever. */
static apr_status_t end_at_once(void *unused)
{
    (void)unused;
    if (starting || pp_thread_inside() || !pthread_equal(pthread_self(), first_thread))
        _exit(0);
    return APR_SUCCESS;
}

static apr_status_t end_child(void *unused)
{
    struct timespec deadline;
    pthread_t thread;

    (void)unused;
    if (!pthread_equal(pthread_self(), first_thread)) /* worker, when it can't make its threads */
        return APR_SUCCESS;
    if (pthread_create(&thread, NULL, end_all, NULL))
        return APR_SUCCESS;
    pthread_detach(thread);
    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += SHUTDOWN_SECONDS;
    pthread_mutex_lock(&ending.lock);
    while (ending.left && !pthread_cond_timedwait(&ending.done, &ending.lock, &deadline))
        ;
    if (ending.left)
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, child.server,
                     "PP104: exit functions of Python code took longer than %d s and were cut off",
                     SHUTDOWN_SECONDS);
    pthread_mutex_unlock(&ending.lock);
    return APR_SUCCESS;
}

/* Once in a child. The calling thread becomes Python's main thread. */
static void start(void)
{
    pp_interp *main;

    starting = 1;
    main = pp_interp_start(child.server, child_pool, child.threaded);
    starting = 0;
    if (!main) {
        ap_log_error(APLOG_MARK, APLOG_CRIT, 0, child.server,
                     "PP100: Python does not run in this child; its requests are answered by 500");
        return;
    }
    pp_count(child.counters->interpreters);
    apr_pool_cleanup_register(child_pool, NULL, end_child, apr_pool_cleanup_null);
    ap_log_error(APLOG_MARK, APLOG_INFO, 0, child.server, "PP003: Python %s started",
                 Py_GetVersion());
    __atomic_store_n(&child.main, main, __ATOMIC_RELEASE); /* last: now it can be used */
}

void pp_child_init(apr_pool_t *pchild, server_rec *s)
{
    int threaded = 0, threads = 1;

    /* event says "dynamic" and worker "static" threads: what counts is how many there are. */
    ap_mpm_query(AP_MPMQ_IS_THREADED, &threaded);
    if (threaded)
        ap_mpm_query(AP_MPMQ_MAX_THREADS, &threads);
    child.server = s;
    child.threads = threads > 0 ? threads : 1;
    child.threaded = child.threads > 1;
    child.counters = status_board_claim(board, &layout, pchild);
    child_pool = pchild;
    first_thread = pthread_self();
    if (!threaded)
        apr_pool_pre_cleanup_register(pchild, NULL, end_at_once);
    if (pp_conf_handler_count())
        pthread_once(&started, start);
}

HOT_PATH pp_child *pp_child_started(void)
{
    if (__atomic_load_n(&child.main, __ATOMIC_ACQUIRE))
        return &child;
    pthread_once(&started, start);
    return child.main ? &child : NULL;
}

/* Threads meet on these counters; each is one relaxed atomic add. */
HOT_PATH void pp_child_begin(void)
{
    pp_count(child.counters->busy);
}

HOT_PATH void pp_child_finish(const failure *f)
{
    __atomic_fetch_sub(&child.counters->busy, 1, __ATOMIC_RELAXED);
    pp_count(child.counters->requests);
    if (f->kind)
        pp_count(child.counters->failures);
    __atomic_store_n(&child.counters->memory, (apr_uint64_t)pp_memory_used(), __ATOMIC_RELAXED);
}
