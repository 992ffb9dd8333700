/* SPDX-License-Identifier: Apache-2.0
 * How a VM that served one use serves the next as if it were new (LuaScope once).
 *
 * Scripts never see a table that outlives a use. They see facades: empty tables that read through
 * to a locked one; what a script writes lands in the facade, or first turns it into a full copy
 * ("settles" it) where the difference would show: a key that the locked table has, rawget, next,
 * setmetatable and the like. All of these pass through C functions, so a use that wrote to a facade
 * is known without looking for it; its facades are then replaced. The table of globals is a facade
 * too, which the next use gets only when it is as good as new. */
#ifndef INTERPOOL_LUA_ISOLATE_H
#define INTERPOOL_LUA_ISOLATE_H

#include "modules/lua/vm.h"

/* The facades that are kept while nobody writes to them. */
typedef enum {
    LP_FACADE_LOADED = 1,
    LP_FACADE_PRELOAD,
    LP_FACADE_SEARCHERS,
    LP_FACADE_PACKAGE,
    LP_FACADE_STRING,      /* the other libraries follow, in the order of lib_names in isolate.c */
    LP_FACADE_GLOBALS = 31 /* kept by the entry function, see run.c */
} lp_facade;

/* [-0, +0, m] Puts facades before the libraries of a new VM. The globals of the VM are then what a
 * use's table of globals reads through to. */
void lp_isolate_install(lua_State *L);

/* [-0, +1, -] Pushes the table that scripts see now, the locked table behind it, the metatable. */
void lp_facade_push(lua_State *L, lp_facade facade);
void lp_facade_push_locked(lua_State *L, lp_facade facade);
void lp_facade_push_metatable(lua_State *L, lp_facade facade);

/* [-0, +0, m] If the value at `index` is a facade that is not settled yet, settles it. */
void lp_facade_settle(lua_State *L, int index);

/* [-0, +0, -] Whether the value at `index` is a facade that is not settled. */
int lp_facade_is(lua_State *L, int index);

/* [-0, +0, m] Copies the pairs of the table at `from` to the one at `to`, both absolute. */
void lp_copy_pairs(lua_State *L, int from, int to);

/* [-0, +0, -] Undoes what a use left behind, in protected mode. False: the VM must go. */
int lp_isolate_repair(lp_vm *vm);

/* [-0, +0, e] Gives math.random a seed that no other VM has. */
void lp_isolate_reseed(lua_State *L);

#endif
