/* SPDX-License-Identifier: Apache-2.0
 * Finalizers of scripts' tables, where a time limit can stop them.
 *
 * Lua runs finalizers with hooks off, so nothing could end one that loops. Therefore Lua never
 * learns of a script's: a userdata of the module's is finalized in the table's place, and calls
 * what the metatable holds by then, in a coroutine, which has hooks of its own. */
#ifndef INTERPOOL_LUA_FINALIZER_H
#define INTERPOOL_LUA_FINALIZER_H

#include "modules/lua/vm.h"

/* [-0, +0, m] In a new VM: what stands for tables. */
void lp_finalizer_install(lua_State *L);

/* [-1, +0, m] As lua_setmetatable() for the table at index 1, the metatable (or nil) being at index
 * 2, on top. With a finalizer the VM is dropped after this use: closing it runs those that are
 * left.
 */
void lp_finalizer_setmetatable(lua_State *L);

#endif
