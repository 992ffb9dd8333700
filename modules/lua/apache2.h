/* SPDX-License-Identifier: Apache-2.0
 * The table `apache2`: httpd's status codes and the constants that handlers and hooks return. */
#ifndef INTERPOOL_LUA_APACHE2_H
#define INTERPOOL_LUA_APACHE2_H

#include <lua.h>

/* [-0, +0, m] Makes the global `apache2`, which require "apache2" gives too. */
void lp_apache2_install(lua_State *L);

#endif
