/* SPDX-License-Identifier: Apache-2.0
 * Facades, and the repair of a VM after a use. See isolate.h.
 *
 * A facade F of the locked table T, kept in the table of facades under its number, has the
 * metatable
 *
 *   {__index = T, __newindex = facade_newindex(T, number), __len = facade_len(T),
 *    [NUMBER] = number, [&locked_key] = T}
 *
 * which all facades of T share, one after the other. While F is not settled, no key that T has is
 * in F itself; so the two never contradict each other, and settling is copying all of T. A settled
 * facade is a table without metatable, which this file would not know again. Scripts can't get at
 * the metatable: getmetatable says nil, and debug.getmetatable settles first. */
#include "modules/lua/isolate.h"
#include "modules/lua/files.h"
#include <httpd.h>

/* The libraries behind facades, from LP_FACADE_PACKAGE on, by their global names. */
static const char *const lib_names[] = {"package", "string",    "table", "math",  "os",
                                        "io",      "coroutine", "utf8",  "debug", "apache2"};
#define LIB_COUNT  ((int)(sizeof lib_names / sizeof *lib_names))
#define FACADE_END (LP_FACADE_PACKAGE + LIB_COUNT)

/* In a facade's metatable: the key of the locked table, and the index of its number. The table of
 * facades holds the metatable of facade n at n + METATABLES. */
static const char locked_key;
#define NUMBER     1
#define METATABLES 32

/* Every first write to a library's facade passes here. */
static void mark_facade(lua_State *L, lua_Integer number)
{
    lp_vm *vm = lp_vm_of(L);

    vm->marks |= LP_MARK_FACADES;
    vm->dirty |= 1u << number;
}

/* [-0, +1|+0, -] Pushes the metatable of the facade at `index`; 0 when it is none. */
static int push_metatable(lua_State *L, int index)
{
    if (!lua_istable(L, index) || !lua_getmetatable(L, index)) {
        return 0;
    }
    if (lua_rawgetp(L, -1, &locked_key) == LUA_TNIL) {
        lua_pop(L, 2);
        return 0;
    }
    lua_pop(L, 1);
    return 1;
}

int lp_facade_is(lua_State *L, int index)
{
    if (!push_metatable(L, index)) {
        return 0;
    }
    lua_pop(L, 1);
    return 1;
}

void lp_copy_pairs(lua_State *L, int from, int to)
{
    lua_pushnil(L);
    while (lua_next(L, from)) {
        lua_pushvalue(L, -2);
        lua_insert(L, -2);
        lua_rawset(L, to);
    }
}

void lp_facade_settle(lua_State *L, int index)
{
    index = lua_absindex(L, index);
    if (!push_metatable(L, index)) {
        return;
    }
    luaL_checkstack(L, 8, NULL);
    lua_rawgeti(L, -1, NUMBER); /* metatable, number */
    if (lua_tointeger(L, -1) == LP_FACADE_GLOBALS) {
        lp_vm_of(L)->written = LP_WRITTEN_MOST + 1;
    } else {
        mark_facade(L, lua_tointeger(L, -1));
    }
    lua_rawgetp(L, -2, &locked_key); /* metatable, number, locked */
    lp_copy_pairs(L, lua_gettop(L), index);
    lua_pushnil(L);
    lua_setmetatable(L, index);
    lua_pop(L, 3);
}

/* [-0, +0, v] Whether the first argument is a facade with this number. A message handler can find
 * and call the functions below: with another facade, that would be written to and nobody know. */
static void check_facade(lua_State *L, lua_Integer number)
{
    int top = lua_gettop(L);

    luaL_checktype(L, 1, LUA_TTABLE);
    if (!lua_getmetatable(L, 1) || lua_rawgeti(L, -1, NUMBER) != LUA_TNUMBER ||
        lua_tointeger(L, -1) != number) {
        luaL_argerror(L, 1, "not the table of this function");
    }
    lua_settop(L, top);
}

/* [-0, +0, -] In a __newindex(facade, key, value) whose first upvalue is the locked table: whether
 * that has the key. Such a key can't be shadowed, since assigning nil to it later would make the
 * old value show. Only the arguments are left on the stack. */
HOT_PATH static int is_locked(lua_State *L)
{
    int locked;

    lua_settop(L, 3);
    lua_pushvalue(L, 2);
    locked = lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL;
    lua_settop(L, 3);
    return locked;
}

/* __newindex of a library's facade; the second upvalue is its number. */
static int facade_newindex(lua_State *L)
{
    lua_Integer number = lua_tointeger(L, lua_upvalueindex(2));

    check_facade(L, number);
    if (is_locked(L)) {
        lp_facade_settle(L, 1);
    } else {
        mark_facade(L, number);
    }
    lua_rawset(L, 1);
    return 0;
}

/* __newindex of the globals. */
HOT_PATH static int globals_newindex(lua_State *L)
{
    lp_vm *vm = lp_vm_of(L);

    if (lua_topointer(L, 1) != vm->globals) { /* those of an old use, which a C library keeps? */
        check_facade(L, LP_FACADE_GLOBALS);
    }
    if (is_locked(L)) {
        lp_facade_settle(L, 1);
    } else if (vm->written <= LP_WRITTEN_MOST) {
        vm->written++;
    }
    lua_rawset(L, 1);
    return 0;
}

/* __len(facade): what is added at the end of a list lies in the facade itself. */
static int facade_len(lua_State *L)
{
    lua_Integer length = (lua_Integer)lua_rawlen(L, lua_upvalueindex(1));

    luaL_checktype(L, 1, LUA_TTABLE);
    while (lua_rawgeti(L, 1, length + 1) != LUA_TNIL) {
        lua_pop(L, 1);
        length++;
    }
    lua_pushinteger(L, length);
    return 1;
}

/* [-1, +1, m] Makes the metatable for facades of the table on top. */
static void make_metatable(lua_State *L, lp_facade number)
{
    lua_createtable(L, 1, 4); /* locked, metatable */
    lua_pushinteger(L, number);
    lua_rawseti(L, -2, NUMBER);
    lua_pushvalue(L, -2);
    lua_setfield(L, -2, "__index");
    lua_pushvalue(L, -2);
    lua_rawsetp(L, -2, &locked_key);
    lua_pushvalue(L, -2);
    lua_pushinteger(L, number);
    lua_pushcclosure(L, number == LP_FACADE_GLOBALS ? globals_newindex : facade_newindex, 2);
    lua_setfield(L, -2, "__newindex");
    lua_pushvalue(L, -2);
    lua_pushcclosure(L, facade_len, 1);
    lua_setfield(L, -2, "__len");
    lua_remove(L, -2);
}

void lp_facade_push_metatable(lua_State *L, lp_facade number)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, LP_KEY(FACADES));
    lua_rawgeti(L, -1, number + METATABLES);
    lua_remove(L, -2);
}

void lp_facade_push_locked(lua_State *L, lp_facade number)
{
    lp_facade_push_metatable(L, number);
    lua_rawgetp(L, -1, &locked_key);
    lua_remove(L, -2);
}

void lp_facade_push(lua_State *L, lp_facade facade)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, LP_KEY(FACADES));
    lua_rawgeti(L, -1, facade);
    lua_remove(L, -2);
}

/* [-1, +0, m] Puts the value on top in field `name` of the table behind facade `number`. */
static void set_locked(lua_State *L, lp_facade number, const char *name)
{
    lp_facade_push_locked(L, number);
    lua_insert(L, -2);
    lua_setfield(L, -2, name);
    lua_pop(L, 1);
}

/* [-0, +0, m] The facade on top becomes what C libraries take for package.loaded: they get the
 * registry's table of names, whose own entries are there only for Lua's error messages, which look
 * for the name of a function without asking metatables. */
static void attach_names(lua_State *L)
{
    lua_getfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    lua_getmetatable(L, -1); /* facade, names, metatable */
    lua_pushvalue(L, -3);
    lua_setfield(L, -2, "__index");
    lua_pushvalue(L, -3);
    lua_setfield(L, -2, "__newindex");
    lua_pop(L, 2);
}

/* [-1, +0, m] Shows the facade on top wherever scripts and libraries look for it. */
static void attach(lua_State *L, lp_facade number)
{
    if (number == LP_FACADE_LOADED) {
        attach_names(L);
        set_locked(L, LP_FACADE_PACKAGE, "loaded");
        return;
    }
    if (number == LP_FACADE_PRELOAD) {
        lua_pushvalue(L, -1);
        lua_setfield(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
        set_locked(L, LP_FACADE_PACKAGE, "preload");
        return;
    }
    if (number == LP_FACADE_SEARCHERS) {
        set_locked(L, LP_FACADE_PACKAGE, "searchers");
        return;
    }
    if (number == LP_FACADE_STRING) {
        lua_pushliteral(L, "");
        lua_getmetatable(L, -1); /* facade, "", its metatable */
        lua_pushvalue(L, -3);
        lua_setfield(L, -2, "__index");
        lua_pop(L, 2);
    }
    lua_pushvalue(L, -1);
    set_locked(L, LP_FACADE_GLOBALS, lib_names[number - LP_FACADE_PACKAGE]);
    set_locked(L, LP_FACADE_LOADED, lib_names[number - LP_FACADE_PACKAGE]);
}

/* [-0, +0, m] Makes the facade that scripts see from now on. */
static void renew(lua_State *L, lp_facade number)
{
    lua_newtable(L);
    lp_facade_push_metatable(L, number);
    lua_setmetatable(L, -2);
    lua_rawgetp(L, LUA_REGISTRYINDEX, LP_KEY(FACADES));
    lua_pushvalue(L, -2);
    lua_rawseti(L, -2, number);
    lua_pop(L, 1);
    attach(L, number);
}

/* [-1, +0, m] Registers the table on top as the one behind facade `number`. */
static void lock(lua_State *L, lp_facade number)
{
    make_metatable(L, number);
    lua_rawgetp(L, LUA_REGISTRYINDEX, LP_KEY(FACADES));
    lua_insert(L, -2);
    lua_rawseti(L, -2, number + METATABLES);
    lua_pop(L, 1);
}

/* [-0, +0, m] Puts a table of names in the registry, see attach_names(). */
static void make_names(lua_State *L)
{
    int top = lua_gettop(L);

    lua_newtable(L);
    lp_facade_push_locked(L, LP_FACADE_LOADED);
    lp_copy_pairs(L, top + 2, top + 1);
    lua_settop(L, top + 1);
    lua_createtable(L, 0, 2);
    lua_setmetatable(L, -2);
    lua_setfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
}

/* The locked tables are registered first: some facades are shown in others' locked tables. */
void lp_isolate_install(lua_State *L)
{
    lua_createtable(L, FACADE_END, FACADE_END + METATABLES);
    lua_rawsetp(L, LUA_REGISTRYINDEX, LP_KEY(FACADES));

    lua_pushglobaltable(L);
    lock(L, LP_FACADE_GLOBALS);
    lua_getfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    lock(L, LP_FACADE_LOADED);
    lua_getfield(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
    lock(L, LP_FACADE_PRELOAD);
    lua_getglobal(L, "package");
    lua_getfield(L, -1, "searchers");
    lock(L, LP_FACADE_SEARCHERS);
    lua_pop(L, 1);
    for (int i = 0; i < LIB_COUNT; i++) {
        lua_getglobal(L, lib_names[i]);
        lock(L, (lp_facade)(LP_FACADE_PACKAGE + i));
    }
    make_names(L);
    for (int number = LP_FACADE_LOADED; number < FACADE_END; number++) {
        renew(L, (lp_facade)number);
    }

    lua_pushliteral(L, "");
    lua_getmetatable(L, -1);
    lua_newtable(L);
    lp_copy_pairs(L, lua_gettop(L) - 1, lua_gettop(L));
    lua_rawsetp(L, LUA_REGISTRYINDEX, LP_KEY(STRINGS));
    lua_pop(L, 2);
}

/* [-0, +0, m] Gives the metatable of strings its first contents. */
static void repair_strings(lua_State *L)
{
    int top = lua_gettop(L);

    lua_pushliteral(L, "");
    lua_getmetatable(L, -1);
    lua_pushnil(L);
    lua_setmetatable(L, top + 2); /* a script may have given it one */
    lua_pushnil(L);
    while (lua_next(L, top + 2)) {
        lua_pop(L, 1);
        lua_pushvalue(L, -1);
        lua_pushnil(L);
        lua_rawset(L, top + 2);
    }
    lua_rawgetp(L, LUA_REGISTRYINDEX, LP_KEY(STRINGS));
    lp_copy_pairs(L, top + 3, top + 2);
    lp_facade_push(L, LP_FACADE_STRING);
    lua_setfield(L, top + 2, "__index");
    lua_settop(L, top);
}

/* [-0, +0, e] Without arguments math.randomseed takes the time in seconds and an address. */
void lp_isolate_reseed(lua_State *L)
{
    lua_Integer seeds[2];

    ap_random_insecure_bytes(seeds, sizeof seeds);
    lua_rawgetp(L, LUA_REGISTRYINDEX, LP_KEY(RESEED));
    lua_pushinteger(L, seeds[0]);
    lua_pushinteger(L, seeds[1]);
    lua_call(L, 2, 0);
}

/* For a protected call: what the marks ask for. Strings come after facades, whose new one they
 * show. */
static int repair(lua_State *L)
{
    lp_vm *vm = lp_vm_of(L);

    if (vm->marks & LP_MARK_FACADES) {
        for (int number = LP_FACADE_LOADED; number < FACADE_END; number++) {
            if (vm->dirty & (1u << number)) {
                renew(L, (lp_facade)number);
            }
        }
    }
    if (vm->marks & LP_MARK_STRINGS) {
        repair_strings(L);
    }
    if (vm->marks & LP_MARK_FILES) {
        lp_files_repair(L);
    }
    if (vm->marks & LP_MARK_RANDOM) {
        lp_isolate_reseed(L);
    }
    if (vm->marks & LP_MARK_COLLECTOR) {
        lp_vm_tune(L);
    }
    return 0;
}

HOT_PATH int lp_isolate_repair(lp_vm *vm)
{
    int ok;

    vm->warnings = 0;
    if (!vm->marks) {
        return 1;
    }
    if (vm->marks & LP_MARK_DROP) {
        return 0;
    }
    lua_pushcfunction(vm->L, repair);
    ok = lua_pcall(vm->L, 0, 0, 0) == LUA_OK;
    lua_settop(vm->L, LP_VM_STACK);
    vm->marks = vm->dirty = 0;
    return ok;
}
