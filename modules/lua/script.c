/* SPDX-License-Identifier: Apache-2.0
 * Compiled chunks. See script.h.
 *
 * A chunk is kept under the generation of its file's version, which is one number in the whole
 * process: so a hit needs no comparison, and an old version can't be taken for a new one. Running a
 * chunk again makes its locals and functions anew; only its upvalue _ENV is shared by its runs, and
 * set before each. */
#include "modules/lua/script.h"
#include "modules/common/conf_value.h"
#include <string.h>

HOT_PATH apr_status_t lp_script_find(lp_vm *vm, const char *path, const apr_finfo_t *finfo,
                                     script_freshness freshness, apr_time_t now,
                                     const script **found)
{
    const script **place = &vm->recent[(apr_size_t)finfo->inode % LP_RECENT];
    const script *s = *place;
    apr_status_t rv;

    if (!s || freshness != SCRIPT_STAT || !script_matches(s, finfo) || strcmp(s->path, path) != 0) {
        rv = script_cache_get(vm->world->scripts, path, finfo, freshness, now, &s);
        if (rv != APR_SUCCESS) {
            return rv;
        }
        script_release(*place);
        *place = s;
    }
    *found = s;
    return APR_SUCCESS;
}

void lp_script_release_all(lp_vm *vm)
{
    for (int i = 0; i < LP_RECENT; i++) {
        script_release(vm->recent[i]);
        vm->recent[i] = NULL;
    }
}

/* Whether this chunk ran in the present use already: its upvalue then belongs to a function that
 * the script may still hold, so that another is needed. */
static int ran_before(const lp_vm *vm, apr_uint64_t generation)
{
    for (int i = 0; i < vm->ran_count; i++) {
        if (vm->ran[i] == generation) {
            return 1;
        }
    }
    return vm->ran_count == LP_RAN_MAX;
}

/* The part of a file that Lua compiles: without a byte order mark, and without the first line when
 * it is for the system ("#!/usr/bin/lua"); its line end stays, so that lines keep their numbers. */
static const char *source_of(const script *s, apr_size_t *length)
{
    const char *bytes = s->bytes;
    const char *end = s->bytes + s->length;

    if (s->length >= 3 && memcmp(bytes, "\xEF\xBB\xBF", 3) == 0) {
        bytes += 3;
    }
    if (bytes < end && *bytes == '#') {
        const char *line_end = memchr(bytes, '\n', (size_t)(end - bytes));
        bytes = line_end ? line_end : end;
    }
    *length = (apr_size_t)(end - bytes);
    return bytes;
}

/* Asked at each use, since a chunk compiled where bytecode is allowed may be asked for where not.
 */
static int may_be_binary(const lp_vm *vm)
{
    return vm->conf && PICK(vm->conf, &lp_defaults, allow_bytecode);
}

/* [-1, +1, -] Compiles under the chunk name on top, which it replaces by the chunk or the message.
 */
static int compile(lua_State *L, const script *s)
{
    apr_size_t length;
    const char *source = source_of(s, &length);
    int status = luaL_loadbufferx(L, source, length, lua_tostring(L, -1),
                                  may_be_binary(lp_vm_of(L)) ? "bt" : "t");
    lua_remove(L, -2);
    return status;
}

/* Between uses, when there are more, all are dropped: a file has as many paths as scripts can think
 * of. Few sites have as many scripts. */
#define CHUNKS_MOST 1024

/* [-0, +0, m] Keeps the chunk on top for this version of the file, and drops the one of an older.
 */
static void keep(lua_State *L, const char *path, apr_uint64_t generation)
{
    int chunk = lua_gettop(L);

    lua_rawgetp(L, LUA_REGISTRYINDEX, LP_KEY(VERSIONS));
    lua_rawgetp(L, LUA_REGISTRYINDEX, LP_KEY(CHUNKS));
    if (lua_getfield(L, chunk + 1, path) == LUA_TNUMBER) {
        lua_pushnil(L);
        lua_rawseti(L, chunk + 2, lua_tointeger(L, -2));
    } else {
        lp_vm_of(L)->compiled++;
    }
    lua_pushinteger(L, (lua_Integer)generation);
    lua_setfield(L, chunk + 1, path);
    lua_pushvalue(L, chunk);
    lua_rawseti(L, chunk + 2, (lua_Integer)generation);
    lua_settop(L, chunk);
}

/* [-0, +1|+0, -] Pushes the chunk kept for this version of the file, if it may run. */
static int push_kept(lua_State *L, const script *s)
{
    const lp_vm *vm = lp_vm_of(L);

    if (ran_before(vm, s->generation) || (!lp_script_is_text(s) && !may_be_binary(vm))) {
        return 0;
    }
    lua_rawgetp(L, LUA_REGISTRYINDEX, LP_KEY(CHUNKS));
    if (lua_rawgeti(L, -1, (lua_Integer)s->generation) == LUA_TFUNCTION) {
        lua_remove(L, -2);
        return 1;
    }
    lua_pop(L, 2);
    return 0;
}

/* [-0, +0, m] Gives the chunk at `index` an upvalue of its own: the functions that it made before
 * share the old one. Any new chunk has a new upvalue. */
COLD_PATH static void renew_upvalue(lua_State *L, int index)
{
    if (luaL_loadbufferx(L, "", 0, "=", "t") != LUA_OK) {
        lua_error(L);
    }
    lua_upvaluejoin(L, index, 1, lua_gettop(L), 1);
    lua_pop(L, 1);
}

HOT_PATH void lp_script_enter(lua_State *L, apr_uint64_t generation)
{
    lp_vm *vm = lp_vm_of(L);

    if (vm->foreign && lua_upvalueid(L, -2, 1)) {
        renew_upvalue(L, lua_gettop(L) - 1);
    }
    if (!lua_setupvalue(L, -2, 1)) {
        lua_pop(L, 1);
    }
    if (vm->ran_count < LP_RAN_MAX) {
        vm->ran[vm->ran_count++] = generation;
    }
}

int lp_script_push(lua_State *L, const script *s)
{
    int status;

    if (!push_kept(L, s)) {
        lua_pushfstring(L, "@%s", s->path);
        status = compile(L, s);
        if (status != LUA_OK) {
            return status;
        }
        keep(L, s->path, s->generation);
    }
    lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
    lp_script_enter(L, s->generation);
    return LUA_OK;
}

/* An error may be raised while the file is held; lp_run() then gives it back. */
void lp_script_push_module(lua_State *L, const char *name, const char *file, apr_time_t now)
{
    lp_vm *vm = lp_vm_of(L);
    const lp_conf *conf = vm->conf ? vm->conf : &lp_defaults;
    const script *s;
    apr_status_t rv;
    char reason[120];

    rv = script_cache_get(vm->world->scripts, file, NULL,
                          (script_freshness)PICK(conf, &lp_defaults, freshness), now, &s);
    if (rv != APR_SUCCESS) {
        luaL_error(L, "error loading module '%s' from file '%s':\n\t%s", name, file,
                   apr_strerror(rv, reason, sizeof reason));
    }
    vm->held = s;
    if (lp_script_push(L, s) != LUA_OK) {
        vm->held = NULL;
        script_release(s);
        luaL_error(L, "error loading module '%s' from file '%s':\n\t%s", name, file,
                   lua_tostring(L, -1));
    }
    vm->held = NULL;
    script_release(s);
}

void lp_script_forget_globals(lua_State *L)
{
    int top = lua_gettop(L);

    lua_rawgetp(L, LUA_REGISTRYINDEX, LP_KEY(CHUNKS));
    lua_pushnil(L);
    while (lua_next(L, top + 1)) {
        lua_pushnil(L);
        lua_setupvalue(L, -2, 1);
        lua_settop(L, top + 2);
    }
    lua_settop(L, top);
}

void lp_script_install(lua_State *L)
{
    lua_newtable(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, LP_KEY(CHUNKS));
    lua_newtable(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, LP_KEY(VERSIONS));
    lp_vm_of(L)->compiled = 0;
}

void lp_script_trim(lua_State *L)
{
    if (lp_vm_of(L)->compiled > CHUNKS_MOST) {
        lp_script_install(L);
    }
}
