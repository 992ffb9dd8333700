/* SPDX-License-Identifier: Apache-2.0
 * The object r: its life, and how its properties are found. See request.h.
 *
 * One table per VM, made once, leads from a name to a method (a C function, given as it is) or to a
 * row of fields.c (a light userdata). Reading a property is one look into it and a switch. */
#include "modules/lua/request.h"
#include "modules/lua/table.h"
#include "modules/common/conf_value.h"

#define TYPE_NAME "Apache2.Request"

/* The object of the request that is served needs no look at its metatable. */
HOT_PATH lp_request *lp_request_check(lua_State *L, int index)
{
    lp_request *request = lua_touserdata(L, index);

    if (!request || request != lp_vm_of(L)->request) {
        request = luaL_checkudata(L, index, TYPE_NAME);
    }
    if (!request->r) {
        luaL_error(L, "the request is over");
    }
    return request;
}

/* Raised like Lua's own lack of memory, and reported as such (LP005). */
HOT_PATH void lp_request_charge(lua_State *L, apr_size_t bytes)
{
    lp_vm *vm = lp_vm_of(L);

    vm->lent += bytes;
    if (vm->limit && vm->used + vm->lent > vm->limit) {
        vm->refused = 1;
        luaL_error(L, "not enough memory");
    }
}

/* [-0, +1|+0, e] The value of a property; the object lies at index 1. */
static int push_field(lua_State *L, request_rec *r, const lp_field *field)
{
    const char *place = (const char *)r + field->offset;

    switch (field->kind) {
    case LP_FIELD_TEXT:
        lua_pushstring(L, *(const char *const *)(const void *)place);
        return 1;
    case LP_FIELD_INT:
        lua_pushinteger(L, *(const int *)(const void *)place);
        return 1;
    case LP_FIELD_FLAG:
        lua_pushboolean(L, *(const int *)(const void *)place);
        return 1;
    case LP_FIELD_TIME:
        lua_pushinteger(L, apr_time_sec(*(const apr_time_t *)(const void *)place));
        return 1;
    case LP_FIELD_TABLE:
        lp_table_push(L, 1, (lp_table_kind)field->offset);
        return 1;
    case LP_FIELD_CALL:
        return field->get(L, r);
    case LP_FIELD_METHOD:
        break;
    }
    return 0;
}

/* __index(r, name); upvalue: name -> method, or field as a light userdata. */
HOT_PATH static int request_index(lua_State *L)
{
    lp_request *request = lp_request_check(L, 1);

    lua_pushvalue(L, 2);
    switch (lua_rawget(L, lua_upvalueindex(1))) {
    case LUA_TLIGHTUSERDATA:
        return push_field(L, request->r, lua_touserdata(L, -1));
    default:
        return 1; /* a method, or nil */
    }
}

/* __newindex(r, name, value) */
HOT_PATH static int request_newindex(lua_State *L)
{
    lp_request *request = lp_request_check(L, 1);
    const lp_field *field = NULL; /* stays so for methods and unknown names */

    lua_pushvalue(L, 2);
    if (lua_rawget(L, lua_upvalueindex(1)) == LUA_TLIGHTUSERDATA) {
        field = lua_touserdata(L, -1);
    }
    if (!field || !field->set) {
        return luaL_error(L, "Property [%s] may not be set on a request_rec",
                          luaL_tolstring(L, 2, NULL));
    }
    field->set(L, request->r, 3);
    return 0;
}

/* For error messages and debugging; works on an object whose request is over. */
static int request_tostring(lua_State *L)
{
    lp_request *request = luaL_checkudata(L, 1, TYPE_NAME);

    lua_pushfstring(L, "request: %p%s", (void *)request, request->r ? "" : " (over)");
    return 1;
}

/* [-0, +0, m] Adds a list of properties to the table on top. */
static void add_fields(lua_State *L, const lp_field *field)
{
    for (; field->name; field++) {
        if (field->kind == LP_FIELD_METHOD) {
            lua_pushinteger(L, (lua_Integer)field->offset);
            lua_pushcclosure(L, field->method, 1);
        } else {
            lua_pushlightuserdata(L, (void *)(uintptr_t)field);
        }
        lua_setfield(L, -2, field->name);
    }
}

void lp_request_install(lua_State *L)
{
    luaL_newmetatable(L, TYPE_NAME);
    lua_newtable(L);
    add_fields(L, lp_fields);
    add_fields(L, lp_output_methods);
    add_fields(L, lp_input_methods);
    add_fields(L, lp_util_methods);
    lua_pushvalue(L, -1);
    lua_pushcclosure(L, request_index, 1);
    lua_setfield(L, -3, "__index");
    lua_pushcclosure(L, request_newindex, 1);
    lua_setfield(L, -2, "__newindex");
    lua_pushcfunction(L, request_tostring);
    lua_setfield(L, -2, "__tostring");
    lua_pushliteral(L, TYPE_NAME); /* what getmetatable(r) gives */
    lua_setfield(L, -2, "__metatable");
    lua_pop(L, 1);
    lp_table_install(L);
}

lp_request *lp_request_make(lua_State *L)
{
    lp_request *made = lua_newuserdatauv(L, sizeof *made, LP_TABLE_KINDS);

    made->r = NULL;
    made->out = NULL;
    made->body = NULL;
    luaL_setmetatable(L, TYPE_NAME);
    return made;
}

HOT_PATH void lp_request_close(lp_vm *vm)
{
    lp_request *request = vm->request;

    if (!request) {
        return;
    }
    if (request->body) {
        body_close(request->body);
        request->body = NULL;
    }
    request->r = NULL;
    if (vm->keeps_state) {
        vm->request = NULL; /* the script may have kept it: the next request gets another */
    }
}
