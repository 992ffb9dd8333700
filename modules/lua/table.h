/* SPDX-License-Identifier: Apache-2.0
 * The objects that scripts see as r.headers_in and the like: a view of an apr_table_t. */
#ifndef INTERPOOL_LUA_TABLE_H
#define INTERPOOL_LUA_TABLE_H

#include "modules/lua/request.h"

/* [-0, +0, m] Makes the metatable in a new VM. */
void lp_table_install(lua_State *L);

/* [-0, +1, m] Pushes the view of one table of the request object at `index`. */
void lp_table_push(lua_State *L, int index, lp_table_kind kind);

#endif
