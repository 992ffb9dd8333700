/* SPDX-License-Identifier: Apache-2.0
 * The functions of the library `table` that go through a list, behind guards that keep them from
 * doing so for longer than LuaTimeLimit allows. */
#ifndef INTERPOOL_LUA_LISTS_H
#define INTERPOOL_LUA_LISTS_H

#include "modules/lua/vm.h"

/* [-0, +0, m] Puts the guards in the library of a new VM. */
void lp_lists_install(lua_State *L);

#endif
