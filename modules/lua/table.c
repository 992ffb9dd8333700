/* SPDX-License-Identifier: Apache-2.0
 * Views of httpd's tables. See table.h.
 *
 * A view holds no pointer to the table, only which one it is: httpd replaces r->headers_out and
 * others during a request (internal redirects, ap_die), and a pointer would be of the old one. */
#include "modules/lua/table.h"
#include "modules/common/header_check.h"
#include <apr_strings.h>
#include <apr_tables.h>
#include <string.h>

#define TYPE_NAME "Apr.Table"

/* What an entry takes besides its texts, in a table that grows by doubling. */
#define ENTRY_BYTES 64

/* The userdata; its user value 1 is the request object, which lives as long for it. */
typedef struct view {
    lp_request *request;
    lp_table_kind kind;
} view;

/* [-0, +0, v] The view at `index`, of a live request. */
static view *check_view(lua_State *L, int index)
{
    view *v = luaL_checkudata(L, index, TYPE_NAME);

    if (!v->request->r) {
        luaL_error(L, "the request is over");
    }
    return v;
}

/* The table as it is now. */
static apr_table_t *table_of(const view *v)
{
    request_rec *r = v->request->r;

    switch (v->kind) {
    case LP_TABLE_HEADERS_IN:
        return r->headers_in;
    case LP_TABLE_HEADERS_OUT:
        return r->headers_out;
    case LP_TABLE_ERR_HEADERS_OUT:
        return r->err_headers_out;
    case LP_TABLE_NOTES:
        return r->notes;
    case LP_TABLE_SUBPROCESS_ENV:
        break;
    }
    return r->subprocess_env;
}

/* Notes and environment variables are not sent, so only a NUL (which would cut them) is refused. */
static int is_headers(const view *v)
{
    return v->kind <= LP_TABLE_ERR_HEADERS_OUT;
}

/* [-0, +0, v] The name at `index`, fit for this table. */
static const char *check_key(lua_State *L, const view *v, int index)
{
    size_t length;
    const char *key = luaL_checklstring(L, index, &length);
    const char *fault = is_headers(v)           ? header_check_name(key, length)
                        : strlen(key) != length ? "the name must not contain a NUL"
                                                : NULL;
    if (fault) {
        luaL_error(L, "%s", fault);
    }
    return key;
}

/* [-0, +0, v] The value at `index`; APR copies it to the table's pool. */
static const char *check_value(lua_State *L, const view *v, int index)
{
    size_t length;
    const char *value;
    const char *fault;

    value = luaL_checklstring(L, index, &length);
    fault = is_headers(v)             ? header_check_value(value, length)
            : strlen(value) != length ? "the value must not contain a NUL"
                                      : NULL;
    if (fault) {
        luaL_error(L, "%s", fault);
    }
    lp_request_charge(L, lua_rawlen(L, 2) + length + ENTRY_BYTES);
    return value;
}

/* t[name]: the first value; upvalue: the methods. */
static int view_index(lua_State *L)
{
    view *v = check_view(L, 1);
    const char *value = NULL;

    if (lua_type(L, 2) == LUA_TSTRING) {
        value = apr_table_get(table_of(v), lua_tostring(L, 2));
    }
    if (!value && lua_isstring(L, 2)) { /* methods: headers win over them */
        lua_pushvalue(L, 2);
        lua_rawget(L, lua_upvalueindex(1));
        return 1;
    }
    lua_pushstring(L, value);
    return 1;
}

/* t[name] = value: in place of all values; nil: none. */
static int view_newindex(lua_State *L)
{
    view *v = check_view(L, 1);
    const char *key = check_key(L, v, 2);

    if (lua_isnil(L, 3)) {
        apr_table_unset(table_of(v), key);
    } else {
        apr_table_set(table_of(v), key, check_value(L, v, 3));
    }
    return 0;
}

/* t:add(key, value) keeps what is there already: Set-Cookie, Link, Vary. */
static int view_add(lua_State *L)
{
    view *v = check_view(L, 1);
    const char *key = check_key(L, v, 2);

    apr_table_add(table_of(v), key, check_value(L, v, 3));
    return 0;
}

/* The iterator of pairs(t); upvalues: the view, how many entries it has given. Entries that are
 * added or removed on the way may be met or not, but nothing is read twice or out of bounds. */
static int view_next(lua_State *L)
{
    view *v = check_view(L, lua_upvalueindex(1));
    lua_Integer i = lua_tointeger(L, lua_upvalueindex(2));
    const apr_array_header_t *entries = apr_table_elts(table_of(v));
    const apr_table_entry_t *entry = (const apr_table_entry_t *)(void *)entries->elts;

    if (i >= entries->nelts) {
        return 0;
    }
    lua_pushinteger(L, i + 1);
    lua_replace(L, lua_upvalueindex(2));
    lua_pushstring(L, entry[i].key);
    lua_pushstring(L, entry[i].val);
    return 2;
}

/* pairs(t): all entries in order, repeated names too. */
static int view_pairs(lua_State *L)
{
    check_view(L, 1);
    lua_pushvalue(L, 1);
    lua_pushinteger(L, 0);
    lua_pushcclosure(L, view_next, 2);
    return 1;
}

void lp_table_install(lua_State *L)
{
    luaL_newmetatable(L, TYPE_NAME);
    lua_newtable(L);
    lua_pushcfunction(L, view_add);
    lua_setfield(L, -2, "add");
    lua_pushcclosure(L, view_index, 1);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, view_newindex);
    lua_setfield(L, -2, "__newindex");
    lua_pushcfunction(L, view_pairs);
    lua_setfield(L, -2, "__pairs");
    lua_pushliteral(L, TYPE_NAME);
    lua_setfield(L, -2, "__metatable");
    lua_pop(L, 1);
}

void lp_table_push(lua_State *L, int index, lp_table_kind kind)
{
    view *v;

    if (lua_getiuservalue(L, index, kind) == LUA_TUSERDATA) {
        return;
    }
    lua_pop(L, 1);
    v = lua_newuserdatauv(L, sizeof *v, 1);
    v->request = lua_touserdata(L, index);
    v->kind = kind;
    lua_pushvalue(L, index);
    lua_setiuservalue(L, -2, 1);
    luaL_setmetatable(L, TYPE_NAME);
    lua_pushvalue(L, -1);
    lua_setiuservalue(L, index, kind);
}
