/* SPDX-License-Identifier: Apache-2.0
 * The functions of Lua's libraries that could break the isolation or the limits, each behind a
 * guard that behaves as the original does. */
#ifndef INTERPOOL_LUA_GUARDS_H
#define INTERPOOL_LUA_GUARDS_H

#include "modules/lua/vm.h"

/* [-0, +0, m] Puts the guards in the libraries of a new VM, before facades are put there. */
void lp_guards_install(lua_State *L);

/* One guard: `library` "_G" means the globals. The guard's first upvalue is the original. */
typedef struct lp_guard {
    const char *library;
    const char *name;
    lua_CFunction function;
} lp_guard;

/* [-0, +0, m] Installs a list that ends with a NULL library. */
void lp_guards_put(lua_State *L, const lp_guard *list);

/* Calls the original in the guard's own frame. */
static inline int lp_guard_pass(lua_State *L)
{
    return lua_tocfunction(L, lua_upvalueindex(1))(L);
}

#endif
