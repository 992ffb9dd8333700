/* SPDX-License-Identifier: Apache-2.0
 * The methods of r that read what the client sent: query string, forms, body.
 *
 * Parsing and reading are common's; here is only what scripts see of it. What the client did wrong
 * is told as nil and a message, and raises no error: it is not the script's fault. */
#include "modules/lua/request.h"
#include "modules/lua/limit.h"
#include "modules/common/conf_value.h"
#include "modules/common/form.h"
#include <apr_file_io.h>
#include <apr_strings.h>
#include <string.h>

/* Most bytes that r:parsebody() takes when the script names no limit, as in mod_lua. */
#define FORM_DEFAULT_LIMIT 8192

/* What r:requestbody(file) moves at a time. */
#define COPY_BYTES 8192

/* About what APR keeps for a file, and for why it could not be opened. */
#define FILE_BYTES 512

/* As much as the parser keeps for a form besides its fields. */
#define FORM_BYTES 128

/* [-0, +0, m] A form_callback: adds the field to the tables at 1 and 2 above `base`: its first
 * value, and the list of all. May leave with a Lua error: the parsers hold nothing but pool memory.
 */
/* Where a parser's callback finds the tables. */
typedef struct collector {
    lua_State *L;
    int base;
} collector;

static int add_field(void *baton, const form_field *field)
{
    const collector *c = baton;
    lua_State *L = c->L;

    lua_pushlstring(L, field->name.bytes, field->name.length);
    lua_pushlstring(L, field->value.bytes ? field->value.bytes : "", field->value.length);
    lua_pushvalue(L, -2);
    if (lua_rawget(L, c->base + 1) == LUA_TNIL) { /* stack: name, value, nil */
        lua_pop(L, 1);
        lua_pushvalue(L, -2);
        lua_pushvalue(L, -2);
        lua_rawset(L, c->base + 1);
        lua_pushvalue(L, -2);
        lua_createtable(L, 1, 0); /* name, value, name, list */
        lua_pushvalue(L, -3);
        lua_rawseti(L, -2, 1);
        lua_rawset(L, c->base + 2);
    } else {
        lua_pop(L, 1);
        lua_pushvalue(L, -2);
        lua_rawget(L, c->base + 2);
        lua_pushvalue(L, -2);
        lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
        lua_pop(L, 1);
    }
    lua_pop(L, 2);
    return 0;
}

/* [-0, +2, m] Pushes two empty tables for add_field. */
static collector push_tables(lua_State *L)
{
    collector c = {L, lua_gettop(L)};

    luaL_checkstack(L, 10, NULL);
    lua_newtable(L);
    lua_newtable(L);
    return c;
}

/* [-0, +2, m] What a method returns that could not do it. */
static int push_failure(lua_State *L, const char *text)
{
    lua_pushnil(L);
    lua_pushstring(L, text);
    return 2;
}

/* r:parseargs(): name -> first value, name -> list of values; or nil and what is wrong. */
static int request_parseargs(lua_State *L)
{
    request_rec *r = lp_request_check(L, 1)->r;
    collector c = push_tables(L);
    form_error error = FORM_OK;

    if (r->args) {
        lp_request_charge(L, 2 * strlen(r->args));
        error = form_parse_urlencoded(r->pool, r->args, strlen(r->args), NULL, add_field, &c);
    }
    return error == FORM_OK ? 2 : push_failure(L, form_error_text(error));
}

/* The tighter of LuaBodyLimit and the script's own limit; 0 is none, in both. */
static apr_off_t body_limit(lua_State *L, lua_Integer wanted)
{
    const lp_conf *conf = lp_vm_of(L)->conf;
    apr_off_t limit = (apr_off_t)PICK(conf, &lp_defaults, body_limit);

    return wanted > 0 && (!limit || wanted < limit) ? (apr_off_t)wanted : limit;
}

/* The reader of the request's body; the first call decides its limit. */
static body_reader *reader_of(lua_State *L, lp_request *request, lua_Integer wanted)
{
    if (!request->body) {
        request->body = body_open(request->r, body_limit(L, wanted));
        body_set_watch(request->body, lp_vm_of(L)->watch);
    }
    return request->body;
}

/* All of the body; waits for the client. */
static body_error read_all(lua_State *L, lp_request *request, lua_Integer most, char **bytes,
                           apr_size_t *length)
{
    body_reader *body = reader_of(L, request, most);
    body_error failed;

    lp_limit_away(L);
    failed = body_read_all(body, bytes, length);
    lp_limit_back(L);
    return failed;
}

/* r:parsebody([most]): as parseargs, of the body of a form. One of another type stays unread. */
static int request_parsebody(lua_State *L)
{
    lp_request *request = lp_request_check(L, 1);
    request_rec *r = request->r;
    lua_Integer most = luaL_optinteger(L, 2, FORM_DEFAULT_LIMIT);
    const char *type = apr_table_get(r->headers_in, "Content-Type");
    collector c = push_tables(L);
    form_error error;
    char *bytes;
    apr_size_t length;
    body_error failed;

    if (!body_expected(r) || (type && form_kind_of(type) == FORM_OTHER)) {
        return 2;
    }
    lp_request_charge(L, FORM_BYTES);
    failed = read_all(L, request, most, &bytes, &length);
    if (failed != BODY_OK) {
        return push_failure(L, body_error_text(failed));
    }
    error = form_kind_of(type) == FORM_MULTIPART
                ? form_parse_multipart(r->pool, type, bytes, length, NULL, add_field, &c)
                : form_parse_urlencoded(r->pool, bytes, length, NULL, add_field, &c);
    return error == FORM_OK ? 2 : push_failure(L, form_error_text(error));
}

/* Writes the rest of the body to `file`. NULL, or what is wrong. */
static const char *copy_body(request_rec *r, body_reader *body, apr_file_t *file, apr_off_t *copied)
{
    char buffer[COPY_BYTES];
    char reason[120];

    for (*copied = 0;;) {
        apr_size_t length = sizeof buffer;
        body_error failed = body_read(body, buffer, &length);
        apr_status_t rv;
        if (failed != BODY_OK) {
            return body_error_text(failed);
        }
        if (length == 0) {
            return NULL;
        }
        rv = apr_file_write_full(file, buffer, length, NULL);
        if (rv != APR_SUCCESS) {
            return apr_pstrdup(r->pool, apr_strerror(rv, reason, sizeof reason));
        }
        *copied += (apr_off_t)length;
    }
}

/* r:requestbody(file): the number of bytes written. A body that fails leaves no file behind. */
static int body_to_file(lua_State *L, lp_request *request, const char *name, lua_Integer most)
{
    request_rec *r = request->r;
    body_reader *body;
    apr_file_t *file;
    apr_off_t copied;
    const char *fault;
    char reason[120];
    apr_status_t rv;

    lp_request_charge(L, 2 * strlen(name) + FILE_BYTES);
    rv = apr_file_open(&file, name, APR_WRITE | APR_CREATE | APR_TRUNCATE | APR_BINARY,
                       APR_FPROT_OS_DEFAULT, r->pool);
    if (rv != APR_SUCCESS) {
        return push_failure(
            L, apr_psprintf(r->pool, "%s: %s", name, apr_strerror(rv, reason, sizeof reason)));
    }
    body = reader_of(L, request, most);
    lp_limit_away(L);
    fault = copy_body(r, body, file, &copied);
    lp_limit_back(L);
    rv = apr_file_close(file);
    if (!fault && rv != APR_SUCCESS) {
        fault = apr_pstrdup(r->pool, apr_strerror(rv, reason, sizeof reason));
    }
    if (fault) {
        apr_file_remove(name, r->pool);
        return push_failure(L, fault);
    }
    lua_pushinteger(L, (lua_Integer)copied);
    return 1;
}

/* r:requestbody([file [, most]]): the body, nil when the request has none, or nil and what is wrong
 * with it. */
static int request_requestbody(lua_State *L)
{
    lp_request *request = lp_request_check(L, 1);
    const char *file = luaL_optstring(L, 2, NULL);
    lua_Integer most = luaL_optinteger(L, 3, 0);
    body_error failed;
    char *bytes;
    apr_size_t length;

    if (!body_expected(request->r)) {
        return 0;
    }
    if (file) {
        return body_to_file(L, request, file, most);
    }
    failed = read_all(L, request, most, &bytes, &length);
    if (failed != BODY_OK) {
        return push_failure(L, body_error_text(failed));
    }
    lua_pushlstring(L, bytes, length);
    body_close(request->body); /* Lua has its copy: not twice the memory until the request ends */
    return 1;
}

#define METHOD(name)                                          \
    {                                                         \
#name, LP_FIELD_METHOD, 0, NULL, NULL, request_##name \
    }

const lp_field lp_input_methods[] = {METHOD(parseargs),
                                     METHOD(parsebody),
                                     METHOD(requestbody),
                                     {NULL, LP_FIELD_METHOD, 0, NULL, NULL, NULL}};
