/* SPDX-License-Identifier: Apache-2.0
 * The compiled chunk of a file in a VM: compiled once per VM and version of the file. Whether a
 * file is the same as before is script_cache's to say. */
#ifndef INTERPOOL_LUA_SCRIPT_H
#define INTERPOOL_LUA_SCRIPT_H

#include "modules/lua/vm.h"

/* The script that a request is for, as script_cache_get() has it, which this thread asks only when
 * it did not see that version of the file lately. The caller must script_release it. */
apr_status_t lp_script_find(script_cache *cache, const char *path, const apr_finfo_t *finfo,
                            script_freshness freshness, apr_time_t now, const script **found);

/* [-0, +1, m] Pushes the chunk of `s` with the present globals as its _ENV and returns LUA_OK; or
 * pushes what is wrong with it, and returns another status. The caller holds `s`. */
int lp_script_push(lua_State *L, const script *s);

/* [-0, +1, e] The same for a file that no request maps to; `name` is the module's, for messages. */
void lp_script_push_module(lua_State *L, const char *name, const char *file, apr_time_t now);

/* [-0, +0, -] No chunk holds the globals that it ran with last. */
void lp_script_forget_globals(lua_State *L);

/* [-0, +0, m] Makes the tables of chunks in a new VM. */
void lp_script_install(lua_State *L);

#endif
