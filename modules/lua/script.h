/* SPDX-License-Identifier: Apache-2.0
 * The compiled chunk of a file in a VM: compiled once per VM and version of the file. Whether a
 * file is the same as before is script_cache's to say. */
#ifndef INTERPOOL_LUA_SCRIPT_H
#define INTERPOOL_LUA_SCRIPT_H

#include "modules/lua/vm.h"

/* The script that a request is for, as script_cache_get() has it, which is asked only when the VM
 * did not serve that version of the file lately. The VM holds it, until it is given back at least.
 */
apr_status_t lp_script_find(lp_vm *vm, const char *path, const apr_finfo_t *finfo,
                            script_freshness freshness, apr_time_t now, const script **found);

/* Lets go of the scripts that the VM holds. */
void lp_script_release_all(lp_vm *vm);

/* Whether it may run everywhere; bytecode may only where the configuration says so. */
static inline int lp_script_is_text(const script *s)
{
    return s->bytes[0] != LUA_SIGNATURE[0];
}

/* [-0, +1, m] Pushes the chunk of `s` with the present globals as its _ENV and returns LUA_OK; or
 * pushes what is wrong with it, and returns another status. The caller holds `s`. */
int lp_script_push(lua_State *L, const script *s);

/* [-1, +0, m] Gives the chunk below the top the globals on top as its _ENV, and notes that it runs.
 */
void lp_script_enter(lua_State *L, apr_uint64_t generation);

/* [-0, +1, e] As lp_script_push() for a file that no request maps to; `name` is the module's, for
 * messages. */
void lp_script_push_module(lua_State *L, const char *name, const char *file, apr_time_t now);

/* [-0, +0, -] No chunk holds the globals that it ran with last. */
void lp_script_forget_globals(lua_State *L);

/* [-0, +0, m] Makes the tables of chunks in a new VM. */
void lp_script_install(lua_State *L);

/* [-0, +0, m] Between uses: drops the chunks, when there are many. */
void lp_script_trim(lua_State *L);

#endif
