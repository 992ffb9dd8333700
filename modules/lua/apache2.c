/* SPDX-License-Identifier: Apache-2.0
 * The table `apache2`. See apache2.h.
 *
 * mod_lua has 14 of these names; a script that asked for another there got nil. Names and values
 * are httpd's own, so `apache2.HTTP_NOT_FOUND` can be looked up in its documentation. */
#include "modules/lua/apache2.h"
#include "modules/common/status_names.h"
#include <httpd.h>
#include <ap_provider.h>
#include <mod_auth.h>
#include <lauxlib.h>

typedef struct constant {
    const char *name;
    int value;
} constant;

static const constant constants[] = {
    /* what handlers and hooks return */
    {"OK", OK},
    {"DECLINED", DECLINED},
    {"DONE", DONE},
    /* r.proxyreq */
    {"PROXYREQ_NONE", PROXYREQ_NONE},
    {"PROXYREQ_PROXY", PROXYREQ_PROXY},
    {"PROXYREQ_REVERSE", PROXYREQ_REVERSE},
    {"PROXYREQ_RESPONSE", PROXYREQ_RESPONSE},
    /* what authorization providers return */
    {"AUTHZ_DENIED", AUTHZ_DENIED},
    {"AUTHZ_GRANTED", AUTHZ_GRANTED},
    {"AUTHZ_NEUTRAL", AUTHZ_NEUTRAL},
    {"AUTHZ_GENERAL_ERROR", AUTHZ_GENERAL_ERROR},
    {"AUTHZ_DENIED_NO_USER", AUTHZ_DENIED_NO_USER},
};

/* The table lies behind a facade like a library's: what a script changes in it, another does not
 * see. */
void lp_apache2_install(lua_State *L)
{
    const int count = (int)(sizeof constants / sizeof *constants);

    lua_createtable(L, 0, count + 80);
    for (int i = 0; i < count; i++) {
        lua_pushinteger(L, constants[i].value);
        lua_setfield(L, -2, constants[i].name);
    }
    for (const status_name *s = status_names; s->name; s++) {
        lua_pushinteger(L, s->status);
        lua_setfield(L, -2, s->name);
    }
    lua_pushstring(L, ap_get_server_banner());
    lua_setfield(L, -2, "version");
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    lua_pushvalue(L, -2);
    lua_setfield(L, -2, "apache2");
    lua_pop(L, 1);
    lua_setglobal(L, "apache2");
}
