/* SPDX-License-Identifier: Apache-2.0
 * The methods of r that write the response or the error log.
 *
 * What is written is collected (common/output), and sent when the VM has gone back to its pool, if
 * it is not too much or the script flushes before. */
#include "modules/lua/request.h"
#include "modules/lua/limit.h"
#include <http_log.h>

APLOG_USE_MODULE(luapool);

/* May wait for the client. */
static apr_status_t pass(lua_State *L, output *out)
{
    apr_status_t rv;

    lp_limit_away(L);
    rv = output_pass(out);
    lp_limit_back(L);
    return rv;
}

/* False: the connection is gone. */
static int put(lua_State *L, output *out, const char *bytes, size_t length)
{
    if (!output_is_open(out) || out->r->connection->aborted) {
        return 0;
    }
    if (output_hold(out, bytes, length)) {
        return 1;
    }
    output_lend(out, bytes, length);
    return pass(L, out) == APR_SUCCESS;
}

/* [-0, +2, m] A script that goes on writing should stop; one that looks at nothing does no harm. */
static int fail_aborted(lua_State *L)
{
    lua_pushnil(L);
    lua_pushliteral(L, "the client closed the connection");
    return 2;
}

/* r:puts(s, ...): strings and numbers, whatever bytes they hold. True, or nil and why not. */
HOT_PATH static int request_puts(lua_State *L)
{
    output *out = lp_request_check(L, 1)->out;
    int last = lua_gettop(L);

    for (int i = 2; i <= last; i++) {
        size_t length;
        const char *bytes = luaL_checklstring(L, i, &length);
        if (!put(L, out, bytes, length)) {
            return fail_aborted(L);
        }
    }
    lua_pushboolean(L, 1);
    return 1;
}

/* r:write(s): the number of bytes, or nil and why not. */
static int request_write(lua_State *L)
{
    output *out = lp_request_check(L, 1)->out;
    size_t length;
    const char *bytes = luaL_checklstring(L, 2, &length);

    if (!put(L, out, bytes, length)) {
        return fail_aborted(L);
    }
    lua_pushinteger(L, (lua_Integer)length);
    return 1;
}

/* r:flush(): whether the client is still there. */
static int request_flush(lua_State *L)
{
    output *out = lp_request_check(L, 1)->out;
    int sent = output_is_open(out);

    if (sent) {
        output_flush(out);
        sent = pass(L, out) == APR_SUCCESS;
    }
    lua_pushboolean(L, sent);
    return 1;
}

/* r:info(text) and the like; the level is the upvalue. The entry carries the script's line, as
 * httpd's own carry theirs (at debug and below). */
static int request_log(lua_State *L)
{
    request_rec *r = lp_request_check(L, 1)->r;
    int level = (int)lua_tointeger(L, lua_upvalueindex(1));
    const char *text = luaL_checkstring(L, 2);
    lua_Debug ar;

    if (!APLOG_R_IS_LEVEL(r, level)) { /* before anything is done for the entry */
        return 0;
    }
    if (!lua_getstack(L, 1, &ar) || !lua_getinfo(L, "Sl", &ar)) {
        ar.short_src[0] = '\0';
        ar.currentline = 0;
    }
    ap_log_rerror_(ar.short_src, ar.currentline, APLOG_MODULE_INDEX, level, 0, r, "%s", text);
    return 0;
}

/* Rows: name, kind, upvalue, -, -, function. */
#define METHOD(name)                                          \
    {                                                         \
#name, LP_FIELD_METHOD, 0, NULL, NULL, request_##name \
    }
#define LOG(name, level)                                               \
    {                                                                  \
#name, LP_FIELD_METHOD, APLOG_##level, NULL, NULL, request_log \
    }

const lp_field lp_output_methods[] = {
    METHOD(puts),        METHOD(write),
    METHOD(flush),       LOG(emerg, EMERG),
    LOG(alert, ALERT),   LOG(crit, CRIT),
    LOG(err, ERR),       LOG(warn, WARNING),
    LOG(notice, NOTICE), LOG(info, INFO),
    LOG(debug, DEBUG),   LOG(trace1, TRACE1),
    LOG(trace2, TRACE2), LOG(trace3, TRACE3),
    LOG(trace4, TRACE4), LOG(trace5, TRACE5),
    LOG(trace6, TRACE6), LOG(trace7, TRACE7),
    LOG(trace8, TRACE8), {NULL, LP_FIELD_METHOD, 0, NULL, NULL, NULL}};
