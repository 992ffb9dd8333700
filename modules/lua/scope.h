/* SPDX-License-Identifier: Apache-2.0
 * Which VM serves a call: what LuaScope means. */
#ifndef INTERPOOL_LUA_SCOPE_H
#define INTERPOOL_LUA_SCOPE_H

#include "modules/lua/child.h"

/* A VM on loan for one call. */
typedef struct lp_lease {
    lp_child *child;
    request_rec *r;
    lp_vm *vm;
    idle_pool *pool;     /* where it goes back to; NULL: a keeper has it, or nobody */
    struct keeper *kept; /* its keeper, see scope.c */
    int ends;            /* the use ends with the call */
} lp_lease;

/* In child_init. */
void lp_scope_init(apr_pool_t *pchild);

/* Gets the VM for a call of the script that `r` is for. APR_TIMEUP: none came free in time; other
 * errors: none could be made (it is logged why). */
apr_status_t lp_scope_enter(lp_lease *lease, lp_child *child, request_rec *r, const lp_conf *conf);

/* Gives it back. An unhealthy one is closed. `answered`: no other call of the same request can
 * follow. */
void lp_scope_leave(lp_lease *lease, int healthy, int answered);

#endif
