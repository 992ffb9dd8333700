/* SPDX-License-Identifier: Apache-2.0
 * Which VM serves a call. See scope.h.
 *
 * once: a VM from the child's pool, as good as new. request: the same, kept until the request has
 * been answered, or ends.
 * conn, thread: a VM of one file, kept by the connection or the thread, outside the pool (there may
 * be more connections than the pool has VMs). server: a pool of VMs for each file and virtual host.
 *
 * A script may cause a sub-request that a script answers. The inner call must not wait for a VM
 * that the outer may hold: it takes what is idle, or gets one of its own. So does a sub-request or
 * redirect of a request that keeps one. A keeper's VM that is busy is not entered a second time
 * either. */
#include "modules/lua/scope.h"
#include "modules/lua/limit.h"
#include "modules/lua/run.h"
#include "modules/common/conf_value.h"
#include <apr_strings.h>
#include <http_log.h>

APLOG_USE_MODULE(luapool);

/* A VM kept for a file by a request, a connection or a thread. */
typedef struct keeper {
    lp_child *child;
    int from_pool;    /* it takes its VM from the child's pool */
    idle_pool *pool;  /* where the VM goes in the end; NULL: it is closed */
    lp_vm *vm;        /* NULL: none at present */
    pthread_t thread; /* that used it last */
    int busy;
} keeper;

/* What is to be done once a response has been sent, and who served it. */
typedef struct after {
    lp_child *child;
    pthread_t thread;
} after;

/* A pool of LuaScope server: of one file in one virtual host with the same numbers. */
typedef struct server_pool {
    struct server_pool *next;
    const server_rec *server;
    int min, max;
    const char *path; /* LuaPackagePath and LuaPackageCPath, which the VMs were made for */
    const char *cpath;
    idle_pool *pool;
} server_pool;

/* After the response: collects garbage, replaces what was closed, and closes what was retired, if
 * this is no other thread than the one that served. Locks are out of the question once the child is
 * ending. */
static apr_status_t tidy(void *baton)
{
    const after *a = baton;
    lp_child *child = a->child;
    idle_item *item;
    apr_status_t rv;

    if (child->ending) {
        return APR_SUCCESS;
    }
    lp_child_enter();
    item = idle_pool_borrow(child->vms);
    if (item) {
        lp_vm *vm = (lp_vm *)item;
        if (lp_vm_wants_sweep(vm)) {
            lp_vm_sweep(vm);
        }
        idle_pool_give_back(child->vms, item);
    }
    rv = idle_pool_warm(child->vms);
    if (pthread_equal(a->thread, pthread_self())) {
        lp_child_reap(child);
    }
    lp_child_leave();
    return rv;
}

/* `response` is the pool that goes when the response has been sent. */
COLD_PATH static void tidy_after(apr_pool_t *response, lp_child *child)
{
    after *a = apr_palloc(response, sizeof *a);

    a->child = child;
    a->thread = pthread_self();
    apr_pool_cleanup_register(response, a, tidy, apr_pool_cleanup_null);
}

/* Ends the use and gives the VM to `pool`. `response` is the pool that goes when the response has
 * been sent, or NULL. */
static void give_back(lp_child *child, idle_pool *pool, lp_vm *vm, int healthy,
                      apr_pool_t *response)
{
    healthy = healthy && lp_run_end(vm);
    if (healthy && lp_vm_needs_sweep(vm)) {
        lp_vm_sweep(vm);
    }
    healthy = healthy && !lp_vm_is_bloated(vm);
    vm->keeps_state = 0;
    if (response && (!healthy || lp_vm_wants_sweep(vm))) {
        tidy_after(response, child);
    }
    idle_pool_release(pool, &vm->item, healthy, vm->now);
}

/* The pool that is destroyed once the whole response has been sent. */
static apr_pool_t *response_pool(const request_rec *r)
{
    while (r->main) {
        r = r->main;
    }
    return r->pool;
}

/* On the pool of a response: the keeper of one of its requests that has a VM of the child's pool,
 * the first if there are several. */
#define KEEPS_ONE "luapool:keeps"

static keeper *keeper_of(const request_rec *r)
{
    void *found = NULL;

    apr_pool_userdata_get(&found, KEEPS_ONE, response_pool(r));
    return found;
}

/* Whether this call must not wait for a VM, because its own thread or response may hold it: inside
 * another call (which only a sub-request can be), or where LuaScope request kept one before. */
static int is_inner(const request_rec *r)
{
    if (r->main && lp_limit_nested()) {
        return 1;
    }
    return (r->main || r->prev) && keeper_of(r);
}

/* A VM from `pool`, or one outside of any. */
static apr_status_t take(lp_lease *lease, idle_pool *pool)
{
    idle_item *item;
    apr_status_t rv = APR_SUCCESS;

    if (is_inner(lease->r)) {
        item = idle_pool_try(pool);
    } else {
        rv = idle_pool_acquire(pool, &item);
    }
    if (rv == APR_SUCCESS && item) {
        lease->vm = (lp_vm *)item;
        lease->pool = pool;
    } else if (rv == APR_SUCCESS) {
        lease->vm = lp_vm_make(&lease->child->world);
        rv = lease->vm ? APR_SUCCESS : APR_ENOMEM;
    }
    return rv;
}

/* Also for calls whose keeper is busy. */
static apr_status_t enter_once(lp_lease *lease)
{
    lease->ends = 1;
    return take(lease, lease->child->vms);
}

/* The keeper's owner goes: a connection mostly on the thread that listens, which must not run
 * what the script left to be finalized. */
static apr_status_t drop_kept(void *baton)
{
    keeper *k = baton;

    if (!k->vm || k->child->ending) {
        return APR_SUCCESS;
    }
    lp_child_enter();
    if (!k->pool) {
        lp_child_retire(k->child, k->vm);
    } else if (pthread_equal(k->thread, pthread_self())) {
        give_back(k->child, k->pool, k->vm, 1, NULL);
    } else {
        k->vm->closes_later = 1;
        idle_pool_release(k->pool, &k->vm->item, 0, k->vm->now);
    }
    k->vm = NULL;
    lp_child_leave();
    return APR_SUCCESS;
}

/* Lends the keeper's VM, which it gets first if it has none. */
static apr_status_t enter_kept(lp_lease *lease, keeper *k)
{
    apr_status_t rv = APR_SUCCESS;

    if (k->busy) {
        return enter_once(lease);
    }
    if (!k->vm && k->from_pool) {
        rv = take(lease, lease->child->vms);
        k->vm = lease->vm;
        k->pool = lease->pool;
        if (k->pool && !keeper_of(lease->r)) {
            apr_pool_userdata_setn(k, KEEPS_ONE, NULL, response_pool(lease->r));
        }
    } else if (!k->vm) {
        k->vm = lp_vm_make(&k->child->world);
        rv = k->vm ? APR_SUCCESS : APR_ENOMEM;
    }
    if (rv == APR_SUCCESS) {
        k->vm->keeps_state = 1;
        k->thread = pthread_self();
        k->busy = 1;
        lease->vm = k->vm;
        lease->kept = k;
    }
    return rv;
}

/* By what a keeper is found: virtual hosts share no state, though they may share files. */
static const char *keeper_key(const request_rec *r)
{
    return apr_psprintf(r->pool, "luapool:%pp:%s", (void *)r->server, r->filename);
}

/* The keeper that hangs on an APR pool (of the request or the connection) for this file. */
static apr_status_t enter_pool_keeper(lp_lease *lease, apr_pool_t *owner, int from_pool)
{
    const char *key = keeper_key(lease->r);
    void *found = NULL;
    keeper *k;

    apr_pool_userdata_get(&found, key, owner);
    k = found;
    if (!k) {
        k = apr_pcalloc(owner, sizeof *k);
        k->child = lease->child;
        k->from_pool = from_pool;
        apr_pool_userdata_set(k, apr_pstrdup(owner, key), drop_kept, owner);
    }
    return enter_kept(lease, k);
}

/* The keepers of this thread, by virtual host and file. */
static __thread apr_pool_t *thread_pool;
static __thread apr_hash_t *thread_keepers;

/* Its destructor is called when a thread ends that has keepers: mod_http2's do when they are idle,
 * the MPM's with their child. */
static pthread_key_t end_of_thread;
static int has_end_of_thread;

/* A pthread_key_create() destructor. */
static void drop_thread(void *baton)
{
    lp_child *child = baton;

    for (apr_hash_index_t *i = apr_hash_first(NULL, thread_keepers); i; i = apr_hash_next(i)) {
        void *k;

        apr_hash_this(i, NULL, NULL, &k);
        if (((keeper *)k)->vm) {
            lp_child_retire(child, ((keeper *)k)->vm);
        }
    }
    apr_pool_destroy(thread_pool);
}

static apr_status_t delete_key(void *unused)
{
    (void)unused;
    pthread_key_delete(end_of_thread);
    return APR_SUCCESS;
}

/* Threads that go on when the child's pool goes keep what they have: the process ends. So do all
 * when the process has no key left. */
void lp_scope_init(apr_pool_t *pchild)
{
    has_end_of_thread = !pthread_key_create(&end_of_thread, drop_thread);
    if (has_end_of_thread) {
        apr_pool_pre_cleanup_register(pchild, NULL, delete_key);
    }
}

static apr_status_t make_thread_keepers(lp_child *child)
{
    apr_status_t rv = apr_pool_create_unmanaged(&thread_pool);

    if (rv != APR_SUCCESS) {
        return rv;
    }
    rv = has_end_of_thread ? pthread_setspecific(end_of_thread, child) : APR_SUCCESS;
    if (rv != APR_SUCCESS) {
        apr_pool_destroy(thread_pool);
        return rv;
    }
    thread_keepers = apr_hash_make(thread_pool);
    return APR_SUCCESS;
}

static apr_status_t enter_thread(lp_lease *lease)
{
    const char *key;
    apr_ssize_t length;
    keeper *k;

    if (!thread_keepers) {
        apr_status_t rv = make_thread_keepers(lease->child);
        if (rv != APR_SUCCESS) {
            return rv;
        }
    }
    key = keeper_key(lease->r);
    length = (apr_ssize_t)strlen(key);
    k = apr_hash_get(thread_keepers, key, length);
    if (!k) {
        k = apr_pcalloc(thread_pool, sizeof *k);
        k->child = lease->child;
        apr_hash_set(thread_keepers, apr_pstrmemdup(thread_pool, key, (apr_size_t)length), length,
                     k);
    }
    return enter_kept(lease, k);
}

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

/* Whether this pool is for requests with such a configuration. */
static int is_for(const server_pool *pool, const request_rec *r, const lp_conf *conf)
{
    return pool->server == r->server && pool->min == conf->server_min &&
           pool->max == conf->server_max && strcmp(pool->path, or_empty(conf->package_path)) == 0 &&
           strcmp(pool->cpath, or_empty(conf->package_cpath)) == 0;
}

/* With the lock held: the pool of this file, or NULL. */
static server_pool *find_server_pool(const lp_lease *lease, const lp_conf *conf)
{
    server_pool *found =
        apr_hash_get(lease->child->servers, lease->r->filename, APR_HASH_KEY_STRING);

    while (found && !is_for(found, lease->r, conf)) {
        found = found->next;
    }
    return found;
}

/* With the lock held, which also serializes the use of the child's APR pool here. */
static server_pool *make_server_pool(const lp_lease *lease, const lp_conf *conf)
{
    lp_child *child = lease->child;
    idle_pool_calls calls = lp_child_calls;
    idle_pool_limits limits = {0, conf->server_max, conf->server_max, 0, 0, child->wait_timeout};
    server_pool *made = apr_pcalloc(child->pool, sizeof *made);

    calls.baton = child;
    made->server = lease->r->server;
    made->min = conf->server_min;
    made->max = conf->server_max;
    made->path = apr_pstrdup(child->pool, or_empty(conf->package_path));
    made->cpath = apr_pstrdup(child->pool, or_empty(conf->package_cpath));
    if (idle_pool_make(&made->pool, &limits, &calls, NULL, child->pool) != APR_SUCCESS) {
        return NULL;
    }
    made->next = apr_hash_get(child->servers, lease->r->filename, APR_HASH_KEY_STRING);
    apr_hash_set(child->servers, apr_pstrdup(child->pool, lease->r->filename), APR_HASH_KEY_STRING,
                 made);
    return made;
}

/* The lock is held to find the pool, never while waiting for one of its VMs. */
static apr_status_t enter_server(lp_lease *lease, const lp_conf *conf)
{
    server_pool *pool;
    apr_status_t rv;

    apr_thread_mutex_lock(lease->child->lock);
    pool = find_server_pool(lease, conf);
    if (!pool) {
        pool = make_server_pool(lease, conf);
    }
    apr_thread_mutex_unlock(lease->child->lock);
    if (!pool) {
        return APR_ENOMEM;
    }
    rv = take(lease, pool->pool);
    if (rv == APR_SUCCESS) {
        lease->vm->keeps_state = 1;
    }
    return rv;
}

HOT_PATH apr_status_t lp_scope_enter(lp_lease *lease, lp_child *child, request_rec *r,
                                     const lp_conf *conf)
{
    memset(lease, 0, sizeof *lease);
    lease->child = child;
    lease->r = r;
    switch ((lp_scope)PICK(conf, &lp_defaults, scope)) {
    case LP_SCOPE_ONCE:
        return enter_once(lease);
    case LP_SCOPE_REQUEST:
        return enter_pool_keeper(lease, r->pool, 1);
    case LP_SCOPE_CONN:
        return enter_pool_keeper(lease, r->connection->pool, 0);
    case LP_SCOPE_THREAD:
        return enter_thread(lease);
    case LP_SCOPE_SERVER:
        return enter_server(lease, conf);
    }
    return APR_EINVAL;
}

/* Gives back or closes a VM whose use has ended or will go on with the next call. */
static void put(idle_pool *pool, lp_vm *vm, int healthy)
{
    if (pool) {
        idle_pool_release(pool, &vm->item, healthy, vm->now);
    } else {
        lp_vm_unmake(vm);
    }
}

/* Whether a VM whose state goes on may do so, however large that is; sweeps it if need be. */
static int goes_on(lp_vm *vm, int healthy)
{
    if (healthy && lp_vm_wants_sweep(vm)) {
        lp_vm_sweep(vm);
    }
    return healthy;
}

/* Over HTTP/2 the thread that ends a request serves none. */
COLD_PATH static void reap_after(const request_rec *r, lp_child *child)
{
    if (r->connection->master) {
        lp_child_reap(child);
    } else {
        tidy_after(response_pool(r), child);
    }
}

/* The request of this keeper's call has been answered; the client may take its time to read. */
static void end_kept(const lp_lease *lease, keeper *k)
{
    apr_pool_t *response = response_pool(lease->r);

    if (k->pool) {
        give_back(k->child, k->pool, k->vm, 1, response);
    } else {
        lp_vm_unmake(k->vm);
    }
    k->vm = NULL;
    if (keeper_of(lease->r) == k) {
        apr_pool_userdata_setn(NULL, KEEPS_ONE, NULL, response);
    }
}

HOT_PATH void lp_scope_leave(lp_lease *lease, int healthy, int answered)
{
    keeper *k = lease->kept;

    if (lp_child_has_retired(lease->child)) {
        reap_after(lease->r, lease->child);
    }
    if (k) {
        k->busy = 0;
        if (healthy && answered && k->from_pool) {
            end_kept(lease, k);
        } else if (!goes_on(k->vm, healthy)) {
            put(k->pool, k->vm, 0);
            k->vm = NULL;
        }
    } else if (lease->ends && lease->pool) {
        give_back(lease->child, lease->pool, lease->vm, healthy, response_pool(lease->r));
    } else {
        put(lease->pool, lease->vm, !lease->ends && goes_on(lease->vm, healthy));
    }
}
