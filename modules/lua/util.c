/* SPDX-License-Identifier: Apache-2.0
 * The methods of r that have nothing to do with the request: time. */
#include "modules/lua/request.h"
#include <time.h>

/* mod_lua wants some functions called with a dot, without r: both ways are fine here. Returns the
 * index of the first argument. */
static int first_argument(lua_State *L)
{
    return lua_type(L, 1) == LUA_TUSERDATA ? 2 : 1;
}

/* r.usleep(microseconds): blocks the thread. LuaTimeLimit's signal ends it early, and the hook then
 * ends the script. */
static int request_usleep(lua_State *L)
{
    lua_Integer wanted = luaL_checkinteger(L, first_argument(L));
    struct timespec left;

    luaL_argcheck(L, wanted >= 0, first_argument(L), "a negative time");
    left.tv_sec = (time_t)(wanted / APR_USEC_PER_SEC);
    left.tv_nsec = (long)(wanted % APR_USEC_PER_SEC) * 1000;
    while (nanosleep(&left, &left) != 0 && !lp_vm_of(L)->overdue) {
    }
    return 0;
}

/* r:clock(): the time in microseconds, as a float. */
static int request_clock(lua_State *L)
{
    lua_pushnumber(L, (lua_Number)apr_time_now());
    return 1;
}

#define METHOD(name)                                          \
    {                                                         \
#name, LP_FIELD_METHOD, 0, NULL, NULL, request_##name \
    }

const lp_field lp_util_methods[] = {
    METHOD(usleep), METHOD(clock), {NULL, LP_FIELD_METHOD, 0, NULL, NULL, NULL}};
