/* SPDX-License-Identifier: Apache-2.0
 * Guards of library functions. What matters for one language feature lies elsewhere: coroutines and
 * xpcall in limit.c, lists in lists.c, require in require.c.
 *
 * A guard does one of three things: it settles a facade that the original would look into, marks
 * what the repair has to undo, or refuses. Then it calls the original in its own frame, so that
 * arguments, results, messages and yields are the original's, and no message handler or finalizer
 * finds the original on the stack. (One with upvalues of its own needs a frame: math.randomseed.)
 */
#include "modules/lua/guards.h"
#include "modules/lua/files.h"
#include "modules/lua/finalizer.h"
#include "modules/lua/isolate.h"
#include "modules/common/conf_value.h"
#include <string.h>

/* next, rawget, rawset, rawlen: the first argument may be a facade. */
static int raw_access(lua_State *L)
{
    lp_facade_settle(L, 1);
    return lp_guard_pass(L);
}

/* Upvalue 2 is the guarded `next`, so that pairs({}) gives the function that scripts know. */
static int guarded_pairs(lua_State *L)
{
    luaL_checkany(L, 1);
    lp_facade_settle(L, 1);
    if (luaL_getmetafield(L, 1, "__pairs") != LUA_TNIL) {
        return lp_guard_pass(L);
    }
    lua_pushvalue(L, lua_upvalueindex(2));
    lua_pushvalue(L, 1);
    lua_pushnil(L);
    return 3;
}

/* [-1, +1, m] In place of a userdata's metatable on top a copy of it and of its __index, the same
 * one each time: Lua calls __gc without hooks, so that nothing could stop a script's. */
static void copy_metatable(lua_State *L)
{
    int original = lua_gettop(L);

    lua_rawgetp(L, LUA_REGISTRYINDEX, LP_KEY(COPIES));
    lua_pushvalue(L, original);
    if (lua_rawget(L, -2) == LUA_TNIL) {
        lua_newtable(L); /* original, copies, nil, copy */
        lp_copy_pairs(L, original, original + 3);
        lua_pushliteral(L, "__index");
        if (lua_rawget(L, original) == LUA_TTABLE) {
            if (lua_rawequal(L, -1, original)) {
                lua_pushvalue(L, original + 3);
            } else {
                lua_newtable(L);
                lp_copy_pairs(L, original + 4, original + 5);
            }
            lua_setfield(L, original + 3, "__index");
        }
        lua_settop(L, original + 3);
        lua_pushvalue(L, original);
        lua_pushvalue(L, original + 3);
        lua_rawset(L, original + 1);
    }
    lua_replace(L, original);
    lua_settop(L, original);
}

/* A facade that nobody gave a metatable has none to see. Metatables that all uses share are handed
 * out, but not for nothing. */
static int guarded_getmetatable(lua_State *L)
{
    lp_vm *vm = lp_vm_of(L);
    int type = lua_type(L, 1);

    luaL_checkany(L, 1);
    if (lp_facade_is(L, 1) || !lua_getmetatable(L, 1)) {
        lua_pushnil(L);
        return 1;
    }
    if (luaL_getmetafield(L, 1, "__metatable") != LUA_TNIL) {
        return 1;
    }
    if (type == LUA_TSTRING) {
        vm->marks |= LP_MARK_STRINGS;
    } else if (type != LUA_TTABLE) {
        vm->marks |= LP_MARK_DROP;
    }
    if (type == LUA_TUSERDATA) {
        copy_metatable(L);
    }
    return 1;
}

static int guarded_setmetatable(lua_State *L)
{
    int type = lua_type(L, 2);

    luaL_checktype(L, 1, LUA_TTABLE);
    luaL_argexpected(L, type == LUA_TNIL || type == LUA_TTABLE, 2, "nil or table");
    lp_facade_settle(L, 1);
    if (luaL_getmetafield(L, 1, "__metatable") != LUA_TNIL) {
        return luaL_error(L, "cannot change a protected metatable");
    }
    lua_settop(L, 2);
    lp_finalizer_setmetatable(L);
    return 1;
}

/* Asking and collecting leave nothing behind; all else (stop, step, modes, parameters) may. */
static int guarded_collectgarbage(lua_State *L)
{
    const char *option = luaL_optstring(L, 1, "collect");

    if (strcmp(option, "collect") != 0 && strcmp(option, "count") != 0 &&
        strcmp(option, "isrunning") != 0) {
        lp_vm_of(L)->marks |= LP_MARK_COLLECTOR;
    }
    return lp_guard_pass(L);
}

/* The mode to load with when a script asks for `mode`: binary chunks can crash the process. */
static const char *text_mode(lua_State *L, int index)
{
    const lp_conf *conf = lp_vm_of(L)->conf;
    const char *mode = luaL_optstring(L, index, "bt");

    if (conf && PICK(conf, &lp_defaults, allow_bytecode)) {
        return mode;
    }
    return strchr(mode, 't') ? "t" : "";
}

/* load(chunk, name, mode, env): a missing env is not the same as nil, so nothing is added after
 * mode. */
static int guarded_load(lua_State *L)
{
    const char *mode = text_mode(L, 3);

    if (lua_gettop(L) < 3) {
        lua_settop(L, 3);
    }
    lua_pushstring(L, mode);
    lua_replace(L, 3);
    return lp_guard_pass(L);
}

static int guarded_loadfile(lua_State *L)
{
    const char *mode = text_mode(L, 2);

    if (lua_gettop(L) < 2) {
        lua_settop(L, 2);
    }
    lua_pushstring(L, mode);
    lua_replace(L, 2);
    return lp_guard_pass(L);
}

/* A chunk run by dofile may yield; this is where it goes on. */
static int dofile_end(lua_State *L, int status, lua_KContext context)
{
    (void)status;
    (void)context;
    return lua_gettop(L) - 1;
}

static int guarded_dofile(lua_State *L)
{
    const char *name = luaL_optstring(L, 1, NULL);

    lua_settop(L, 1);
    if (luaL_loadfilex(L, name, text_mode(L, 2)) != LUA_OK) {
        return lua_error(L);
    }
    lua_callk(L, 0, LUA_MULTRET, 0, dofile_end);
    return dofile_end(L, LUA_OK, 0);
}

/* The process serves others. */
static int refused_exit(lua_State *L)
{
    return luaL_error(L, "os.exit is not available: it would end the server's process");
}

/* A process has one locale, for all threads: asking is fine, changing it fails as Lua says it may.
 */
static int guarded_setlocale(lua_State *L)
{
    const char *wanted = luaL_optstring(L, 1, NULL);

    if (!wanted) {
        return lp_guard_pass(L);
    }
    lua_settop(L, 2);
    lua_pushvalue(L, 1); /* keeps `wanted` */
    lua_pushnil(L);
    lua_replace(L, 1);
    lp_guard_pass(L);
    if (!lua_isstring(L, -1) || strcmp(lua_tostring(L, -1), wanted) != 0) {
        lua_pushnil(L);
    }
    return 1;
}

/* Nothing, repeated: the one case that no memory limit ends. */
static int guarded_rep(lua_State *L)
{
    size_t length, separator;

    luaL_checklstring(L, 1, &length);
    luaL_checkinteger(L, 2);
    luaL_optlstring(L, 3, "", &separator);
    if (!length && !separator) {
        lua_pushliteral(L, "");
        return 1;
    }
    return lp_guard_pass(L);
}

/* The original has an upvalue of its own, so it needs its own frame, where no message handler must
 * find it. */
static int guarded_randomseed(lua_State *L)
{
    lp_vm_of(L)->marks |= LP_MARK_RANDOM;
    if (!lua_isnone(L, 1)) {
        luaL_checknumber(L, 1);
        luaL_optinteger(L, 2, 0);
    }
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    if (lua_pcall(L, lua_gettop(L) - 1, LUA_MULTRET, 0) != LUA_OK) {
        return lua_error(L);
    }
    return lua_gettop(L);
}

/* The repair closes the files that the script forgets. */
static int note_files(lua_State *L, int programs)
{
    int results;

    lp_vm_of(L)->marks |= LP_MARK_FILES;
    results = lp_guard_pass(L);
    lp_files_note(L, results, programs);
    return results;
}

/* io.open and whatever else may open a file */
static int opens_file(lua_State *L)
{
    return note_files(L, 0);
}

/* io.popen */
static int opens_program(lua_State *L)
{
    return note_files(L, 1);
}

/* package.loadlib */
static int loads_library(lua_State *L)
{
    lp_vm_of(L)->foreign = 1;
    return lp_guard_pass(L);
}

/* The functions of debug that reach what is not the script's own. */
static int reaches_deep(lua_State *L)
{
    lp_vm_of(L)->marks |= LP_MARK_DROP;
    lp_facade_settle(L, 1);
    return lp_guard_pass(L);
}

/* [-0, +0, -] For debug.getlocal and setlocal: whether there is a running function at the level
 * that is asked for. */
static int find_level(lua_State *L, lua_State **of, lua_Debug *ar)
{
    int is_thread = lua_isthread(L, 1);
    int is_level;
    int level = (int)lua_tointegerx(L, is_thread ? 2 : 1, &is_level); /* cut as by Lua */

    *of = is_thread ? lua_tothread(L, 1) : L;
    return is_level && lua_getstack(*of, level, ar) && lua_getinfo(*of, "S", ar);
}

/* What lies on the stack of a running C function is not there for debug.getlocal: that relies on
 * its types, and on being the only one to free it. */
static int guarded_getlocal(lua_State *L)
{
    lua_State *of;
    lua_Debug ar;

    if (find_level(L, &of, &ar) && *ar.what == 'C') {
        lua_pushnil(L);
        return 1;
    }
    return reaches_deep(L);
}

/* Nor for debug.setlocal; and of a Lua function only what has a name in its source: Lua relies on
 * the types of the values that it works with ("(temporary)", "(for state)"). */
static int guarded_setlocal(lua_State *L)
{
    lua_State *of;
    lua_Debug ar;

    if (find_level(L, &of, &ar)) {
        int number = (int)luaL_checkinteger(L, lua_isthread(L, 1) ? 3 : 2);
        const char *name = NULL;

        if (*ar.what != 'C' && lua_checkstack(of, 1)) {
            name = lua_getlocal(of, &ar, number);
        }
        if (name) {
            lua_pop(of, 1);
        }
        if (!name || (*name == '(' && strcmp(name, "(vararg)") != 0)) {
            lua_pushnil(L);
            return 1;
        }
    }
    return reaches_deep(L);
}

/* Those of C functions are not to be had: the originals behind the guards are among them. */
static int guarded_getupvalue(lua_State *L)
{
    lp_vm_of(L)->marks |= LP_MARK_DROP;
    if (lua_iscfunction(L, 1)) {
        luaL_checkinteger(L, 2);
        return 0;
    }
    return lp_guard_pass(L);
}

static int guarded_debug_getmetatable(lua_State *L)
{
    int results = reaches_deep(L);

    if (results == 1 && lua_type(L, 1) == LUA_TUSERDATA && lua_istable(L, -1)) {
        copy_metatable(L);
    }
    return results;
}

/* The upvalues of C functions are this module's and the libraries' own, of types they rely on. */
static int guarded_setupvalue(lua_State *L)
{
    if (lua_iscfunction(L, 1)) {
        return luaL_error(L, "debug.setupvalue is not available for C functions");
    }
    return reaches_deep(L);
}

/* With another kind's metatable a userdata would be taken for what it is not. */
static int guarded_debug_setmetatable(lua_State *L)
{
    if (lua_type(L, 1) == LUA_TUSERDATA) {
        return luaL_error(L, "debug.setmetatable is not available for userdata");
    }
    lp_vm_of(L)->marks |= LP_MARK_DROP;
    lp_facade_settle(L, 1);
    if (!lua_istable(L, 1) || !(lua_istable(L, 2) || lua_isnil(L, 2))) {
        return lp_guard_pass(L);
    }
    lua_settop(L, 2);
    lp_finalizer_setmetatable(L);
    return 1;
}

/* The user values of r and of its tables keep each other alive. */
static int refused_setuservalue(lua_State *L)
{
    return luaL_error(L, "debug.setuservalue is not available");
}

static int refused_sethook(lua_State *L)
{
    return luaL_error(L, "debug.sethook is not available: LuaTimeLimit uses the hook");
}

static int refused_getregistry(lua_State *L)
{
    return luaL_error(L, "debug.getregistry is not available: the server keeps its own there");
}

/* Not here, because what they give is the script's own: debug.traceback, getinfo, gethook,
 * upvalueid. */
static const lp_guard guards[] = {{"_G", "next", raw_access},
                                  {"_G", "rawget", raw_access},
                                  {"_G", "rawset", raw_access},
                                  {"_G", "rawlen", raw_access},
                                  {"_G", "getmetatable", guarded_getmetatable},
                                  {"_G", "setmetatable", guarded_setmetatable},
                                  {"_G", "collectgarbage", guarded_collectgarbage},
                                  {"_G", "load", guarded_load},
                                  {"_G", "loadfile", guarded_loadfile},
                                  {"_G", "dofile", guarded_dofile},
                                  {"os", "exit", refused_exit},
                                  {"os", "setlocale", guarded_setlocale},
                                  {"package", "loadlib", loads_library},
                                  {"string", "rep", guarded_rep},
                                  {"math", "randomseed", guarded_randomseed},
                                  {"io", "open", opens_file},
                                  {"io", "popen", opens_program},
                                  {"io", "tmpfile", opens_file},
                                  {"io", "lines", opens_file},
                                  {"io", "input", opens_file},
                                  {"io", "output", opens_file},
                                  {"debug", "debug", reaches_deep},
                                  {"debug", "getlocal", guarded_getlocal},
                                  {"debug", "getmetatable", guarded_debug_getmetatable},
                                  {"debug", "getupvalue", guarded_getupvalue},
                                  {"debug", "getuservalue", reaches_deep},
                                  {"debug", "setlocal", guarded_setlocal},
                                  {"debug", "setmetatable", guarded_debug_setmetatable},
                                  {"debug", "setupvalue", guarded_setupvalue},
                                  {"debug", "setuservalue", refused_setuservalue},
                                  {"debug", "upvaluejoin", reaches_deep},
                                  {"debug", "setcstacklimit", reaches_deep},
                                  {"debug", "sethook", refused_sethook},
                                  {"debug", "getregistry", refused_getregistry},
                                  {NULL, NULL, NULL}};

/* What a library of this Lua version does not have is left out. */
void lp_guards_put(lua_State *L, const lp_guard *list)
{
    int top = lua_gettop(L);

    for (; list->library; list++) {
        lua_getfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
        lua_getfield(L, -1, list->library);
        if (lua_getfield(L, -1, list->name) != LUA_TNIL) {
            lua_pushcclosure(L, list->function, 1);
            lua_setfield(L, -2, list->name);
        }
        lua_settop(L, top);
    }
}

void lp_guards_install(lua_State *L)
{
    /* What the repair needs of the originals, before they are guarded. */
    lua_getglobal(L, "math");
    lua_getfield(L, -1, "randomseed");
    lua_rawsetp(L, LUA_REGISTRYINDEX, LP_KEY(RESEED));
    lua_pop(L, 1);
    lp_files_install(L);
    lua_newtable(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, LP_KEY(COPIES));

    lp_guards_put(L, guards);

    lua_getglobal(L, "pairs");
    lua_getglobal(L, "next");
    lua_pushcclosure(L, guarded_pairs, 2);
    lua_setglobal(L, "pairs");
}
