/* SPDX-License-Identifier: Apache-2.0
 * What a child process holds: its pool of VMs, its scripts, its watchdog, its row on the status
 * board. */
#ifndef INTERPOOL_LUA_CHILD_H
#define INTERPOOL_LUA_CHILD_H

#include "modules/common/idle_pool.h"
#include "modules/lua/vm.h"
#include <apr_hash.h>
#include <apr_thread_mutex.h>

/* A row of the status board. */
typedef struct lp_row {
    idle_pool_counts vms;  /* of the pool for LuaScope once and request */
    apr_uint64_t memory;   /* bytes held by all VMs */
    apr_uint64_t failures; /* requests that a script, or the lack of a VM, made fail */
    apr_uint64_t mode;     /* lp_mode */
} lp_row;

typedef struct lp_child {
    apr_pool_t *pool;
    lp_vm_world world; /* what VMs have in common */
    idle_pool *vms;
    lp_row *row;
    watch *tick; /* closes VMs that were idle for long */
    apr_interval_time_t idle_timeout;
    apr_interval_time_t wait_timeout;
    apr_thread_mutex_t *lock; /* guards `servers`, and taking from `retired` */
    apr_hash_t *servers;      /* LuaScope server: path -> pools, see scope.c */
    lp_vm *retired;           /* atomic: to be closed; linked through their items */
    volatile int ending;      /* the child's pool is going: nothing may take a lock any more */
} lp_child;

/* How pools of VMs make and close them; the baton is the child. */
extern const idle_pool_calls lp_child_calls;

/* In post_config: the status board. */
apr_status_t lp_child_prepare(apr_pool_t *pconf);

/* In child_init. On failure it logs, and requests answer 500. */
apr_status_t lp_child_init(lp_child *child, apr_pool_t *pchild, server_rec *s);

/* Around whatever makes, uses or closes VMs; they nest. Should prefork end the child in between, it
 * ends at once. */
void lp_child_enter(void);
void lp_child_leave(void);

/* Closing a VM may run a script's finalizers. A thread that must not wait for those, such as the
 * one that listens or one that ends, retires the VM; one that serves requests reaps: closes what
 * was retired. */
void lp_child_retire(lp_child *child, lp_vm *vm);
int lp_child_has_retired(const lp_child *child);
void lp_child_reap(lp_child *child);

/* For status_board_hook(). */
int lp_child_status(request_rec *r, int flags);

#endif
