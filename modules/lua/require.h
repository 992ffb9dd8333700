/* SPDX-License-Identifier: Apache-2.0
 * require and the searchers: modules under LuaScope once run anew in each use, but are compiled
 * once per VM, and their files are looked at once a second. */
#ifndef INTERPOOL_LUA_REQUIRE_H
#define INTERPOOL_LUA_REQUIRE_H

#include "modules/lua/vm.h"

/* [-0, +0, m] Puts require and the first two searchers in a new VM, before facades are put there.
 */
void lp_require_install(lua_State *L);

/* [-0, +0, m] Makes package.path and package.cpath what `s` has to find: the folder
 * of the script in place of the current one, then what the configuration adds. */
void lp_require_paths(lua_State *L, const script *s, const lp_conf *conf);

/* [-0, +0, m] Between uses: forgets where modules were found, when there are many. */
void lp_require_trim(lua_State *L);

#endif
