/* SPDX-License-Identifier: Apache-2.0
 * One call of a script's function: runs the chunk if need be, calls, catches the error, turns the
 * result into a status. With scope.c the only file that knows both VMs and requests. */
#ifndef INTERPOOL_LUA_RUN_H
#define INTERPOOL_LUA_RUN_H

#include "modules/common/output.h"
#include "modules/common/report.h"
#include "modules/lua/vm.h"

/* What to call, and what came of it. */
typedef struct lp_call {
    request_rec *r;
    output out; /* what the script writes; the caller sends it */
    const lp_conf *conf;
    const script *script;
    const char *path; /* its path, for as long as the request lives */
    int status;       /* what the function returned, as httpd has it */
    const char *tag;  /* of an error that is raised now */
    failure *failure;
} lp_call;

/* Runs it in `vm`. In a VM that holds no state yet (vm->begun is 0) a use begins: fresh globals;
 * otherwise the state of the use goes on and the chunk runs only when the file has changed.
 * Fills in *failure (kind FAILURE_NONE: none) and returns the status. */
int lp_run(lp_vm *vm, lp_call *call, failure *failure);

/* Ends the use: the next lp_run() finds a VM as good as new. False: the VM must go. */
int lp_run_end(lp_vm *vm);

/* [-0, +0, -] Between uses: lets go of all that the last use made, so that it can be collected. A
 * use needs no such thing to begin, it only saves memory. */
void lp_run_forget(lp_vm *vm);

/* [-0, +2, m] Pushes the entry function of a new VM and its message handler, once facades are in
 * place. */
void lp_run_install(lua_State *L);

#endif
