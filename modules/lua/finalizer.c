/* SPDX-License-Identifier: Apache-2.0
 * Finalizers of scripts' tables. See finalizer.h. */
#include "modules/lua/finalizer.h"
#include "modules/lua/limit.h"

#define TYPE_NAME "luapool.finalizer"

/* __gc of the userdata whose user value is the table. A script may find this function on the main
 * thread's stack, and call it with anything. */
static int finalize(lua_State *L)
{
    luaL_checkudata(L, 1, TYPE_NAME);
    lua_settop(L, 1);
    lua_getiuservalue(L, 1, 1); /* userdata, table */
    lua_rawgetp(L, LUA_REGISTRYINDEX, LP_KEY(FINALIZED));
    lua_pushvalue(L, 2);
    lua_pushnil(L);
    lua_rawset(L, 3); /* the finalizer may give the table another */
    lua_settop(L, 2);
    if (lua_getmetatable(L, 2)) {
        lua_pushliteral(L, "__gc");
        if (lua_rawget(L, 3) != LUA_TNIL) {
            lua_pushvalue(L, 2);
            lp_limit_call(L);
        }
    }
    return 0;
}

/* [-0, +0, m] Gives the table at index 1 what stands for it, if it has none. The list is weak by
 * its keys: the userdata lives as long as the table, and refers to it, so that both go together. */
static void stand_for(lua_State *L)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, LP_KEY(FINALIZED));
    lua_pushvalue(L, 1);
    if (lua_rawget(L, -2) == LUA_TNIL) {
        lua_pushvalue(L, 1);
        lua_newuserdatauv(L, 0, 1);
        lua_pushvalue(L, 1);
        lua_setiuservalue(L, -2, 1);
        luaL_setmetatable(L, TYPE_NAME);
        lua_rawset(L, -4);
    }
    lua_pop(L, 2);
}

void lp_finalizer_setmetatable(lua_State *L)
{
    if (!lua_istable(L, 2)) {
        lua_setmetatable(L, 1);
        return;
    }
    lua_pushliteral(L, "__gc");
    if (lua_rawget(L, 2) == LUA_TNIL) {
        lua_settop(L, 2);
        lua_setmetatable(L, 1);
        return;
    }
    lp_vm_of(L)->marks |= LP_MARK_DROP;
    stand_for(L);
    /* Hidden while Lua looks for it; nothing in between can fail or collect garbage. */
    lua_pushliteral(L, "__gc");
    lua_insert(L, 3); /* table, metatable, "__gc", finalizer */
    lua_pushvalue(L, 3);
    lua_pushnil(L);
    lua_rawset(L, 2);
    lua_pushvalue(L, 2);
    lua_setmetatable(L, 1);
    lua_rawset(L, 2);
    lua_settop(L, 1);
}

void lp_finalizer_install(lua_State *L)
{
    luaL_newmetatable(L, TYPE_NAME);
    lua_pushcfunction(L, finalize);
    lua_setfield(L, -2, "__gc");
    lua_newtable(L);
    lua_createtable(L, 0, 1);
    lua_pushliteral(L, "k");
    lua_setfield(L, -2, "__mode");
    lua_setmetatable(L, -2);
    lua_rawsetp(L, LUA_REGISTRYINDEX, LP_KEY(FINALIZED));
    lua_pop(L, 1);
}
