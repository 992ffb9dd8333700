/* SPDX-License-Identifier: Apache-2.0
 * require and the searchers. See require.h.
 *
 * As Lua's own, but: package.loaded, preload, searchers and package itself are read through their
 * facades, so that a script's changes hold for its use; and the searcher for Lua files takes its
 * chunks from script.c. The searchers for C libraries are Lua's. */
#include "modules/lua/require.h"
#include "modules/lua/isolate.h"
#include "modules/lua/script.h"
#include <stdlib.h>
#include <string.h>

/* Fields of the registry: package.path and package.cpath as Lua made them. */
#define PLAIN_PATH  "luapool.path"
#define PLAIN_CPATH "luapool.cpath"

/* The time of the request, which is as good as the clock for "once a second". */
static apr_time_t now(lp_vm *vm)
{
    return vm->now ? vm->now : apr_time_now();
}

/* [-0, +1, e] package.searchers, as scripts may have changed it. */
static void push_package_field(lua_State *L, const char *name, int type)
{
    lp_facade_push(L, LP_FACADE_PACKAGE);
    if (lua_getfield(L, -1, name) != type) {
        luaL_error(L, "'package.%s' must be a %s", name, lua_typename(L, type));
    }
    lua_remove(L, -2);
}

/* Between uses, a table with more entries than this is emptied: scripts can make names up. */
#define FOUND_MOST 256

/* Where `name` was found last, with the path it was found on and when: {path, file, time}. */
enum {
    FOUND_PATH = 1,
    FOUND_FILE,
    FOUND_TIME
};

/* [-0, +1|+0, -] Pushes the file of module `name`, if it was found on the path at index `path` in
 * this second. */
static int push_found(lua_State *L, const char *name, int path)
{
    int top = lua_gettop(L);

    lua_rawgetp(L, LUA_REGISTRYINDEX, LP_KEY(FOUND));
    if (lua_getfield(L, -1, name) == LUA_TTABLE) {
        lua_rawgeti(L, -1, FOUND_PATH);
        lua_rawgeti(L, -2, FOUND_TIME);
        if (lua_rawequal(L, -2, path) &&
            apr_time_sec(now(lp_vm_of(L))) == apr_time_sec((apr_time_t)lua_tointeger(L, -1))) {
            lua_rawgeti(L, -3, FOUND_FILE);
            lua_replace(L, top + 1);
            lua_settop(L, top + 1);
            return 1;
        }
    }
    lua_settop(L, top);
    return 0;
}

/* [-0, +1, e] Pushes the file of module `name` (argument 1) on the path at index 2; or what was
 * tried, and returns 0. Upvalue: package.searchpath. */
static int find_file(lua_State *L, const char *name)
{
    if (push_found(L, name, 2)) {
        return 1;
    }
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_pushvalue(L, 1);
    lua_pushvalue(L, 2);
    lua_call(L, 2, 2);
    if (lua_isnil(L, -2)) {
        return 0;
    }
    lua_pop(L, 1);
    lua_rawgetp(L, LUA_REGISTRYINDEX, LP_KEY(FOUND));
    lua_createtable(L, 3, 0); /* file, found, entry */
    lua_pushvalue(L, 2);
    lua_rawseti(L, -2, FOUND_PATH);
    lua_pushvalue(L, -3);
    lua_rawseti(L, -2, FOUND_FILE);
    lua_pushinteger(L, now(lp_vm_of(L)));
    lua_rawseti(L, -2, FOUND_TIME);
    lua_setfield(L, -2, name);
    lua_pop(L, 1);
    lp_vm_of(L)->found++;
    return 1;
}

/* [-0, +0, m] */
static void empty_found(lua_State *L)
{
    lua_newtable(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, LP_KEY(FOUND));
    lp_vm_of(L)->found = 0;
}

void lp_require_trim(lua_State *L)
{
    if (lp_vm_of(L)->found > FOUND_MOST) {
        empty_found(L);
    }
}

/* [-0, +0, -] Whether the script changed the searchers, or put others in their place. */
static int searchers_changed(lua_State *L)
{
    const unsigned dirty = lp_vm_of(L)->dirty;
    int changed = (dirty & (1u << LP_FACADE_SEARCHERS | 1u << LP_FACADE_PRELOAD)) != 0;

    if (!changed && dirty & 1u << LP_FACADE_PACKAGE) {
        lp_facade_push(L, LP_FACADE_PACKAGE);
        lua_getfield(L, -1, "searchers");
        lp_facade_push(L, LP_FACADE_SEARCHERS);
        changed = !lua_rawequal(L, -1, -2);
        lua_pop(L, 3);
    }
    return changed;
}

/* [-0, +2|+0, e] The usual case in little time: nobody changed the searchers, and the module is a
 * Lua file that was found before. */
static int find_known(lua_State *L, const char *name)
{
    int path;

    if (searchers_changed(L)) {
        return 0;
    }
    push_package_field(L, "path", LUA_TSTRING);
    path = lua_gettop(L);
    if (!push_found(L, name, path)) {
        lua_pop(L, 1);
        return 0;
    }
    lp_script_push_module(L, name, lua_tostring(L, -1), now(lp_vm_of(L)));
    lua_replace(L, path); /* loader, file */
    return 1;
}

/* [-0, +0, v] Raises the error that says what the searchers tried: their answers lie from `first`
 * to the top. */
static int not_found(lua_State *L, const char *name, int first)
{
    int last = lua_gettop(L);

    lua_pushfstring(L, "module '%s' not found:", name);
    for (int i = first; i <= last; i++) {
        if (lua_isstring(L, i)) {
            lua_pushliteral(L, "\n\t");
            lua_pushvalue(L, i);
            lua_concat(L, 3);
        }
    }
    return lua_error(L);
}

/* [-0, +2, e] Pushes the loader of module `name` (argument 1) and its data. What searchers say that
 * don't know it stays on the stack below, for the message. */
static void find_loader(lua_State *L, const char *name)
{
    int searchers;

    if (find_known(L, name)) {
        return;
    }
    push_package_field(L, "searchers", LUA_TTABLE);
    searchers = lua_gettop(L);
    for (int i = 1;; i++) {
        luaL_checkstack(L, 8, "too many searchers");
        if (lua_geti(L, searchers, i) == LUA_TNIL) {
            lua_pop(L, 1);
            not_found(L, name, searchers + 1);
        }
        lua_pushvalue(L, 1);
        lua_call(L, 1, 2);
        if (lua_isfunction(L, -2)) {
            return;
        }
        lua_pop(L, 1);
    }
}

/* require(name): the module, and where it came from. A loader that gives nothing, for a module that
 * enters itself nowhere, gives true. */
static int guarded_require(lua_State *L)
{
    const char *name = luaL_checkstring(L, 1);

    lua_settop(L, 1);
    lp_facade_push(L, LP_FACADE_LOADED);
    if (lua_getfield(L, 2, name), lua_toboolean(L, -1)) {
        return 1;
    }
    lua_pop(L, 1);
    find_loader(L, name);
    lua_pushvalue(L, -2); /* loader, data, loader */
    lua_pushvalue(L, 1);
    lua_pushvalue(L, -3); /* loader, data, loader, name, data */
    lua_call(L, 2, 1);
    if (!lua_isnil(L, -1)) {
        lua_setfield(L, 2, name);
    } else {
        lua_pop(L, 1);
    }
    if (lua_getfield(L, 2, name) == LUA_TNIL) {
        lua_pushboolean(L, 1);
        lua_copy(L, -1, -2);
        lua_setfield(L, 2, name);
    }
    lua_pushvalue(L, -2); /* data */
    return 2;
}

/* The first searcher. */
static int search_preload(lua_State *L)
{
    const char *name = luaL_checkstring(L, 1);

    lp_facade_push(L, LP_FACADE_PRELOAD);
    if (lua_getfield(L, -1, name) == LUA_TNIL) {
        lua_pushfstring(L, "no field package.preload['%s']", name);
        return 1;
    }
    lua_pushliteral(L, ":preload:");
    return 2;
}

/* The second searcher; upvalue: package.searchpath. */
static int search_lua(lua_State *L)
{
    const char *name = luaL_checkstring(L, 1);
    lp_vm *vm = lp_vm_of(L);
    const char *file;

    lua_settop(L, 1);
    push_package_field(L, "path", LUA_TSTRING);
    if (!find_file(L, name)) {
        return 1;
    }
    file = lua_tostring(L, -1);
    lp_script_push_module(L, name, file, now(vm));
    lua_pushstring(L, file);
    return 2;
}

/* The searchers for C libraries; upvalues: Lua's own, and what that takes for `package`: no script
 * runs, be it a message handler or a metamethod, while the original is on the stack. */
static int search_c(lua_State *L)
{
    luaL_checkstring(L, 1);
    lua_settop(L, 1);
    push_package_field(L, "cpath", LUA_TSTRING);
    lua_setfield(L, lua_upvalueindex(2), "cpath");
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    if (lua_pcall(L, 1, LUA_MULTRET, 0) != LUA_OK) {
        return lua_error(L);
    }
    if (lua_isfunction(L, 1)) {
        lp_vm_of(L)->foreign = 1;
    }
    return lua_gettop(L);
}

void lp_require_install(lua_State *L)
{
    int package;

    lua_getglobal(L, "package");
    package = lua_gettop(L);
    empty_found(L);
    lua_getfield(L, package, "searchers");
    lua_pushcfunction(L, search_preload);
    lua_rawseti(L, -2, 1);
    lua_getfield(L, package, "searchpath");
    lua_pushcclosure(L, search_lua, 1);
    lua_rawseti(L, -2, 2);
    for (int i = 3; i <= 4; i++) {
        lua_rawgeti(L, -1, i);
        lua_newtable(L);
        lua_pushvalue(L, -1);
        lua_setupvalue(L, -3, 1);
        lua_pushcclosure(L, search_c, 2);
        lua_rawseti(L, -2, i);
    }
    lua_pushcfunction(L, guarded_require);
    lua_setglobal(L, "require");
    lua_getfield(L, package, "path"); /* what paths are made from, see below */
    lua_setfield(L, LUA_REGISTRYINDEX, PLAIN_PATH);
    lua_getfield(L, package, "cpath");
    lua_setfield(L, LUA_REGISTRYINDEX, PLAIN_CPATH);
    lua_settop(L, package - 1);
}

/* Either may be NULL. */
static int same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* [-0, +0, m] Sets `field` of the locked package table (at `package`) from the plain path: "./" is
 * the folder of the script, and `added` comes last. */
static void set_path(lua_State *L, int package, const char *field, const char *plain,
                     const char *folder, const char *added)
{
    luaL_Buffer path;
    const char *rest;

    lua_getfield(L, LUA_REGISTRYINDEX, plain);
    rest = lua_tostring(L, -1);
    luaL_buffinit(L, &path);
    for (int start = 1; *rest; rest++) {
        if (start && strncmp(rest, "./", 2) == 0) {
            luaL_addstring(&path, folder);
            rest++;
        } else {
            luaL_addchar(&path, *rest);
        }
        start = *rest == ';';
    }
    if (added) {
        luaL_addchar(&path, ';');
        luaL_addstring(&path, added);
    }
    luaL_pushresult(&path);
    lua_setfield(L, package, field);
    lua_pop(L, 1);
}

/* Called at the begin of each use; mostly the last one was of the same folder and configuration.
 * The locked table is changed, under no facade's eyes: the use has not begun. */
HOT_PATH void lp_require_paths(lua_State *L, const script *s, const lp_conf *conf)
{
    lp_vm *vm = lp_vm_of(L);
    const char *path = s->path;
    apr_size_t length;
    int same = same_text(vm->path_added, conf->package_path) &&
               same_text(vm->cpath_added, conf->package_cpath);

    if (same && vm->paths_for == s->generation) {
        return;
    }
    length = (apr_size_t)(strrchr(path, '/') + 1 - path);
    if (same && vm->path_dir && strncmp(vm->path_dir, path, length) == 0 && !vm->path_dir[length]) {
        vm->paths_for = s->generation;
        return;
    }
    lp_vm_forget_paths(vm);
    lp_facade_push_locked(L, LP_FACADE_PACKAGE);
    lua_pushlstring(L, path, length);
    set_path(L, lua_gettop(L) - 1, "path", PLAIN_PATH, lua_tostring(L, -1), conf->package_path);
    set_path(L, lua_gettop(L) - 1, "cpath", PLAIN_CPATH, lua_tostring(L, -1), conf->package_cpath);
    vm->path_added = conf->package_path ? strdup(conf->package_path) : NULL;
    vm->cpath_added = conf->package_cpath ? strdup(conf->package_cpath) : NULL;
    vm->path_dir = strndup(path, length); /* last: it says that all is in place */
    vm->paths_for = vm->path_dir ? s->generation : 0;
    lua_pop(L, 2);
}
