/* SPDX-License-Identifier: Apache-2.0
 * A C library for Lua that keeps a script's function and calls it in a later use of the VM. For
 * tests/test_lua_isolation.py only; never installed. */
#include <lauxlib.h>
#include <lua.h>

#define KEY "foreign.kept"

/* keep(f) */
static int keep(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TFUNCTION);
    lua_setfield(L, LUA_REGISTRYINDEX, KEY);
    return 0;
}

/* call(): calls what was kept, if anything; says whether. */
static int call(lua_State *L)
{
    int there = lua_getfield(L, LUA_REGISTRYINDEX, KEY) == LUA_TFUNCTION;

    if (there) {
        lua_call(L, 0, 0);
    }
    lua_pushboolean(L, there);
    return 1;
}

static const luaL_Reg functions[] = {{"keep", keep}, {"call", call}, {NULL, NULL}};

int luaopen_foreign(lua_State *L);
int luaopen_foreign(lua_State *L)
{
    luaL_newlib(L, functions);
    return 1;
}
