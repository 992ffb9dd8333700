/* SPDX-License-Identifier: Apache-2.0
 * What a child process holds. See child.h.
 *
 * Everything here is made in child_init and lives as long as the child. Nothing of it is taken down
 * when the child ends: VMs may be busy then, or the end may have come as a signal in the middle of
 * one; the kernel takes the memory back. */
#include "modules/lua/child.h"
#include "modules/lua/limit.h"
#include "modules/common/status_board.h"
#include <ap_mpm.h>
#include <http_log.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

APLOG_USE_MODULE(luapool);

static const char *const mode_words[] = {"pool", "fresh", "lock", NULL};

/* A column that adds up a counter of all children. */
#define COUNT(name, label, field)                              \
    {                                                          \
        name, label, STATUS_SUM, offsetof(lp_row, field), NULL \
    }

static const status_column columns[] = {
    COUNT("Idle", "idle", vms.idle),
    COUNT("Busy", "busy", vms.busy),
    COUNT("Made", "made", vms.made),
    COUNT("Reused", "reused", vms.reused),
    COUNT("Reset", "reset", vms.reset),
    COUNT("Dropped", "dropped", vms.dropped),
    COUNT("Waited", "waited", vms.waited),
    COUNT("TimedOut", "timed out", vms.timed_out),
    {"LongestWait", "longest wait (us)", STATUS_MAX, offsetof(lp_row, vms.longest_wait), NULL},
    COUNT("Memory", "memory (bytes)", memory),
    COUNT("Failures", "failures", failures),
    {"Mode", "mode", STATUS_WORD, offsetof(lp_row, mode), mode_words},
    {NULL, NULL, STATUS_SUM, 0, NULL}};

static const status_layout layout = {"Luapool", "Lua VMs (mod_luapool)", sizeof(lp_row), columns};

/* Made before the children are forked, which inherit the address. */
static status_board *board;

apr_status_t lp_child_prepare(apr_pool_t *pconf)
{
    return status_board_make(&board, &layout, pconf);
}

int lp_child_status(request_rec *r, int flags)
{
    if (board) {
        status_board_print(board, r, flags);
    }
    return OK;
}

/* The calls of idle_pool: an item is the first member of its VM. */
static idle_item *create_vm(void *baton)
{
    lp_child *child = baton;

    return (idle_item *)lp_vm_make(&child->world);
}

static void destroy_vm(idle_item *item, void *baton)
{
    lp_vm *vm = (lp_vm *)item;

    if (vm->closes_later) {
        lp_child_retire(baton, vm);
    } else {
        lp_vm_unmake(vm);
    }
}

const idle_pool_calls lp_child_calls = {create_vm, destroy_vm, NULL, NULL};

/* A VM in no pool has no other use for the link. Without a lock: that may be gone when a thread
 * ends with its child. */
void lp_child_retire(lp_child *child, lp_vm *vm)
{
    lp_vm *first = __atomic_load_n(&child->retired, __ATOMIC_RELAXED);

    do {
        vm->item.next = (idle_item *)first;
    } while (!__atomic_compare_exchange_n(&child->retired, &first, vm, 1, __ATOMIC_RELEASE,
                                          __ATOMIC_RELAXED));
}

HOT_PATH int lp_child_has_retired(const lp_child *child)
{
    return __atomic_load_n(&child->retired, __ATOMIC_RELAXED) != NULL;
}

/* The first of the list, or NULL. With the lock held, so that what is first stays in the list. */
static lp_vm *take_retired(lp_child *child)
{
    lp_vm *vm = __atomic_load_n(&child->retired, __ATOMIC_ACQUIRE);

    while (vm && !__atomic_compare_exchange_n(&child->retired, &vm, (lp_vm *)vm->item.next, 1,
                                              __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
    }
    return vm;
}

/* One at a time, so that what a finalizer delays is no more than its own VM. */
void lp_child_reap(lp_child *child)
{
    lp_vm *vm;

    do {
        apr_thread_mutex_lock(child->lock);
        vm = take_retired(child);
        apr_thread_mutex_unlock(child->lock);
        if (vm) {
            lp_vm_unmake(vm);
        }
    } while (vm);
}

/* A watch's function that arms it again: a VM is closed at most half a time-out late. */
static void expire_idle(void *baton)
{
    lp_child *child = baton;

    idle_pool_expire(child->vms);
    watch_arm(child->tick, child->idle_timeout / 2);
}

/* What each mode makes of the limits. */
static idle_pool_limits limits_of(const lp_server_conf *conf)
{
    idle_pool_limits limits = {conf->min,      conf->max_idle,     conf->max,
                               conf->max_uses, conf->idle_timeout, conf->wait_timeout};

    if (conf->mode == LP_MODE_FRESH) {
        limits.min = limits.max_idle = 0;
        limits.max_uses = 1; /* none is passed on to who waits, either */
    } else if (conf->mode == LP_MODE_LOCK) {
        limits.min = limits.max_idle = limits.max = 1;
        limits.wait_timeout = apr_time_from_sec(3600);
    }
    return limits;
}

/* Of prefork, whose one thread serves the requests and gets the signals. */
static int is_prefork;
static volatile sig_atomic_t inside; /* lp_child_enter minus lp_child_leave */

HOT_PATH void lp_child_enter(void)
{
    if (is_prefork) {
        inside++;
    }
}

HOT_PATH void lp_child_leave(void)
{
    if (is_prefork) {
        inside--;
    }
}

/* Before the pools below the child's go: prefork does that in a signal handler, which may have
 * interrupted this thread anywhere. In the middle of malloc() it holds the heap's lock, since the
 * watchdog makes this a process of several threads, and the first free() would wait for ever. */
static apr_status_t mark_ending(void *baton)
{
    lp_child *child = baton;

    if (inside) {
        _exit(0);
    }
    child->ending = 1;
    return APR_SUCCESS;
}

/* In the order in which the parts need each other: VMs need scripts and a watchdog. */
static apr_status_t make_parts(lp_child *child, server_rec *s, const lp_server_conf *conf)
{
    idle_pool_limits limits = limits_of(conf);
    idle_pool_calls calls = lp_child_calls;
    apr_status_t rv = script_cache_make(&child->world.scripts, child->pool);

    calls.baton = child;
    child->servers = apr_hash_make(child->pool);
    child->row->mode = (apr_uint64_t)conf->mode;
    child->world.shown = &child->row->memory;
    child->world.server = s;
    child->idle_timeout = conf->idle_timeout;
    child->wait_timeout = limits.wait_timeout;
    if (rv == APR_SUCCESS) {
        rv = apr_thread_mutex_create(&child->lock, APR_THREAD_MUTEX_DEFAULT, child->pool);
    }
    if (rv == APR_SUCCESS) {
        rv = watchdog_make(&child->world.dog, child->pool);
    }
    if (rv == APR_SUCCESS) {
        rv = idle_pool_make(&child->vms, &limits, &calls, &child->row->vms, child->pool);
    }
    if (rv == APR_SUCCESS && conf->idle_timeout > 0) {
        rv = watchdog_add(child->world.dog, &child->tick, expire_idle, child);
    }
    return rv;
}

apr_status_t lp_child_init(lp_child *child, apr_pool_t *pchild, server_rec *s)
{
    lp_server_conf conf;
    int threads = 1, threaded = 1;
    apr_status_t rv;

    ap_mpm_query(AP_MPMQ_IS_THREADED, &threaded);
    is_prefork = !threaded;
    ap_mpm_query(AP_MPMQ_MAX_THREADS, &threads); /* prefork says 0 or 1 */
    conf = lp_server_conf_of(s, threads > 0 ? threads : 1);
    memset(child, 0, sizeof *child);
    child->pool = pchild;
    child->row = status_board_claim(board, &layout, pchild);
    apr_pool_pre_cleanup_register(pchild, child, mark_ending);
    lp_child_enter();
    lp_limit_init(s); /* without a signal only the time limit is missing: it has logged that */
    rv = make_parts(child, s, &conf);
    if (rv != APR_SUCCESS) {
        ap_log_error(APLOG_MARK, APLOG_CRIT, rv, s, "LP024: this child can't serve Lua scripts");
        child->vms = NULL;
    } else {
        if (child->tick) {
            watch_arm(child->tick, child->idle_timeout / 2);
        }
        rv = idle_pool_warm(child->vms); /* a VM that can't be made now has logged why */
    }
    lp_child_leave();
    return rv;
}
