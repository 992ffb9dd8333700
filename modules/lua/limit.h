/* SPDX-License-Identifier: Apache-2.0
 * LuaTimeLimit: stops a script that runs too long.
 *
 * Normal running pays nothing: no count hook. When the deadline has passed, the watchdog's thread
 * sends a signal to the thread that runs the script, whose handler sets a hook on the coroutine
 * that runs; from then on every instruction raises an error, so that no pcall can hold it. */
#ifndef INTERPOOL_LUA_LIMIT_H
#define INTERPOOL_LUA_LIMIT_H

#include "modules/lua/vm.h"

/* In child_init: claims a signal. Without one (all taken) there is no time limit, and a log line.
 */
apr_status_t lp_limit_init(server_rec *s);

/* [-0, +0, m] Guards what changes the running coroutine, and xpcall, in a new VM. */
void lp_limit_install(lua_State *L);

/* Around each use of a VM, in the thread that runs it; they nest. `limit` <= 0: none. */
void lp_limit_enter(lp_vm *vm, apr_interval_time_t limit);
void lp_limit_leave(lp_vm *vm);

/* [-2, +0, e] Calls the value below the argument on top in a coroutine of its own: where hooks are
 * off, they are on there. */
void lp_limit_call(lua_State *L);

/* [-0, +0, -] Around calls of httpd that may wait for the client. APR begins its time-out anew
 * after each signal, so none is sent; when the deadline has passed meanwhile, the script ends
 * afterwards. */
void lp_limit_away(lua_State *L);
void lp_limit_back(lua_State *L);

/* Whether this thread runs a script: what it asks for then, it must not wait for. */
int lp_limit_nested(void);

/* What a VM's watch calls. */
void lp_limit_expire(void *vm);

#endif
