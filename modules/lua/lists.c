/* SPDX-License-Identifier: Apache-2.0
 * Guards of table.insert, remove, move, sort, concat and unpack. See lists.h.
 *
 * A loop in C is stopped where it calls a function (see limit.c), and nowhere else. So it must have
 * an end, though lengths need not be true (#t may be anything, and moving nil takes no memory); and
 * each round must be short, or call a function, though a missing element may be looked for in 2,000
 * tables. */
#include "modules/lua/lists.h"
#include "modules/lua/guards.h"

/* Most elements that are moved, joined or sorted at once. */
#define MOST_ELEMENTS (1 << 26)

/* So many tables behind one another are more than any hierarchy of classes has. */
#define DEEP 16

/* __index and __newindex of what stands for a value, which is the upvalue. */
static int get_behind(lua_State *L)
{
    lua_settop(L, 2);
    lua_gettable(L, lua_upvalueindex(1));
    return 1;
}

static int set_behind(lua_State *L)
{
    lua_settop(L, 3);
    lua_settable(L, lua_upvalueindex(1));
    return 0;
}

/* __len of it: the second upvalue. */
static int length_behind(lua_State *L)
{
    lua_pushvalue(L, lua_upvalueindex(2));
    return 1;
}

static const luaL_Reg behind[] = {
    {"__index", get_behind}, {"__newindex", set_behind}, {"__len", length_behind}, {NULL, NULL}};

/* [-0, +0, m] In place of the argument at `index` a table that asks it for each element, and has
 * this length. */
static void stand_in(lua_State *L, int index, lua_Integer length)
{
    lua_newtable(L);
    luaL_newlibtable(L, behind);
    lua_pushvalue(L, index);
    lua_pushinteger(L, length);
    luaL_setfuncs(L, behind, 2);
    lua_setmetatable(L, -2);
    lua_replace(L, index);
}

/* [-0, +0, m] Whether `event` (__index or __newindex) leads from the argument through many tables.
 */
static int is_deep(lua_State *L, int index, const char *event)
{
    int top = lua_gettop(L);
    int depth = 0;

    lua_pushvalue(L, index);
    while (depth < DEEP && luaL_getmetafield(L, top + 1, event) != LUA_TNIL) {
        lua_replace(L, top + 1);
        depth++;
    }
    lua_settop(L, top);
    return depth == DEEP;
}

/* [-0, +0, e] The length of the first argument, which is what it is from then on: an own __len
 * could say another when the original asks. */
static lua_Integer fixed_length(lua_State *L)
{
    lua_Integer length = lua_istable(L, 1) ? (lua_Integer)lua_rawlen(L, 1) : 0;
    int has_own;

    if (!lua_getmetatable(L, 1)) {
        return length;
    }
    lua_pop(L, 1);
    has_own = luaL_getmetafield(L, 1, "__len") != LUA_TNIL;
    if (has_own) {
        lua_pop(L, 1);
        length = luaL_len(L, 1);
    }
    if (has_own || is_deep(L, 1, "__index") || is_deep(L, 1, "__newindex")) {
        stand_in(L, 1, length);
    }
    return length;
}

static int moves_rest(lua_State *L)
{
    if (fixed_length(L) > MOST_ELEMENTS) {
        return luaL_error(L, "too many elements to move");
    }
    return lp_guard_pass(L);
}

/* table.insert and table.remove move what lies behind the position, if one is given. */
static int guarded_insert(lua_State *L)
{
    return lua_gettop(L) > 2 ? moves_rest(L) : lp_guard_pass(L);
}

static int guarded_remove(lua_State *L)
{
    return lua_isnoneornil(L, 2) ? lp_guard_pass(L) : moves_rest(L);
}

/* table.move, one of whose tables is deep. It gives the one moved to, not what stands for that. */
static int move_deep(lua_State *L)
{
    int to = lua_isnoneornil(L, 5) ? 1 : 5;
    int same = lua_rawequal(L, 1, to); /* the original asks, since pieces may overlap then */

    lua_settop(L, 5);
    lua_pushvalue(L, to);
    stand_in(L, 1, 0);
    if (same) {
        lua_copy(L, 1, to);
    } else {
        stand_in(L, 5, 0);
    }
    lp_guard_pass(L);
    lua_pushvalue(L, 6);
    return 1;
}

static int guarded_move(lua_State *L)
{
    lua_Integer first = luaL_checkinteger(L, 2);
    lua_Integer last = luaL_checkinteger(L, 3);

    if (last >= first && (lua_Unsigned)last - (lua_Unsigned)first > MOST_ELEMENTS) {
        return luaL_argerror(L, 3, "too many elements to move");
    }
    if (is_deep(L, 1, "__index") || is_deep(L, lua_isnoneornil(L, 5) ? 1 : 5, "__newindex")) {
        return move_deep(L);
    }
    return lp_guard_pass(L);
}

static int guarded_sort(lua_State *L)
{
    luaL_argcheck(L, fixed_length(L) <= MOST_ELEMENTS, 1, "array too big");
    return lp_guard_pass(L);
}

static int guarded_concat(lua_State *L)
{
    lua_Integer length = fixed_length(L);
    lua_Integer first = luaL_optinteger(L, 3, 1);
    lua_Integer last = luaL_optinteger(L, 4, length);

    if (last >= first && (lua_Unsigned)last - (lua_Unsigned)first > MOST_ELEMENTS) {
        return luaL_error(L, "too many elements to join");
    }
    return lp_guard_pass(L);
}

static int guarded_unpack(lua_State *L)
{
    if (is_deep(L, 1, "__index")) {
        stand_in(L, 1, lua_isnoneornil(L, 3) ? luaL_len(L, 1) : 0);
    }
    return lp_guard_pass(L);
}

static const lp_guard guards[] = {{"table", "insert", guarded_insert},
                                  {"table", "remove", guarded_remove},
                                  {"table", "move", guarded_move},
                                  {"table", "sort", guarded_sort},
                                  {"table", "concat", guarded_concat},
                                  {"table", "unpack", guarded_unpack},
                                  {NULL, NULL, NULL}};

void lp_lists_install(lua_State *L)
{
    lp_guards_put(L, guards);
}
