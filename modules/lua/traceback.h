/* SPDX-License-Identifier: Apache-2.0
 * What an error was and where it happened, as text. */
#ifndef INTERPOOL_LUA_TRACEBACK_H
#define INTERPOOL_LUA_TRACEBACK_H

#include "modules/common/report.h"
#include <apr_pools.h>
#include <lua.h>

/* [-0, +0, -] For a message handler: describes the error object at index 1, and the stack, in
 * f->message, script (left alone when nothing on the stack tells), line and traceback, in pool `p`.
 * Whatever the object is or does when
 * asked for its text, this does not fail. */
void lp_traceback(lua_State *L, apr_pool_t *p, failure *f);

#endif
