/* SPDX-License-Identifier: Apache-2.0
 * Files that a script opened and forgot to close. */
#ifndef INTERPOOL_LUA_FILES_H
#define INTERPOOL_LUA_FILES_H

#include "modules/lua/vm.h"

/* [-0, +0, m] Puts in place where files are noted, in a new VM. */
void lp_files_install(lua_State *L);

/* [-0, +0, m] The use has to do with files; those among the `results` values on top are noted.
 * `programs`: io.popen opened them. */
void lp_files_note(lua_State *L, int results, int programs);

/* [-0, +0, m] From now on closing what io.popen opened does not wait for the program to end, unless
 * very many are waited for already. For scripts that are over. */
int lp_files_let_go(lua_State *L);

/* [-0, +0, e] After a use: closes what was noted, and makes the default files the standard ones,
 * without waiting for programs. */
void lp_files_repair(lua_State *L);

#endif
