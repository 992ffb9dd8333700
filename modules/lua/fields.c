/* SPDX-License-Identifier: Apache-2.0
 * The properties of r that are values.
 *
 * One row each in the table at the end: members of request_rec are read by their offset, the others
 * by a function; setters check what httpd relies on, since it checks nothing after them. Names,
 * types and what may be assigned are mod_lua's. */
#include "modules/lua/request.h"
#include "modules/common/header_check.h"
#include <http_core.h>
#include <http_protocol.h>
#include <http_request.h>
#include <http_ssl.h>
#include <apr_strings.h>
#include <stddef.h>
#include <string.h>

/* [-0, +0, v] The text at `value` in r->pool; C strings end at the first NUL, so none is allowed.
 */
static char *check_text(lua_State *L, request_rec *r, int value)
{
    size_t length;
    const char *text = luaL_checklstring(L, value, &length);

    if (strlen(text) != length) {
        luaL_error(L, "the value must not contain a NUL");
    }
    lp_request_charge(L, length + 1);
    return apr_pstrmemdup(r->pool, text, length);
}

/* Setters: [-0, +0, v], the value lies at index `value`. Strings move to r->pool, because Lua's are
 * gone after the use, while httpd logs the request later. */
static void set_uri(lua_State *L, request_rec *r, int value)
{
    r->uri = check_text(L, r, value);
}

static void set_args(lua_State *L, request_rec *r, int value)
{
    r->args = check_text(L, r, value);
}

static void set_filename(lua_State *L, request_rec *r, int value)
{
    r->filename = check_text(L, r, value);
}

static void set_handler(lua_State *L, request_rec *r, int value)
{
    r->handler = check_text(L, r, value);
}

static void set_user(lua_State *L, request_rec *r, int value)
{
    r->user = check_text(L, r, value);
}

static void set_ap_auth_type(lua_State *L, request_rec *r, int value)
{
    r->ap_auth_type = check_text(L, r, value);
}

/* ap_set_content_type() also tells filters that wait for the type; assigning the member would not.
 */
HOT_PATH static void set_content_type(lua_State *L, request_rec *r, int value)
{
    size_t length;
    const char *type = luaL_checklstring(L, value, &length);
    const char *fault = header_check_value(type, length);

    if (fault) {
        luaL_error(L, "content_type: %s", fault);
    }
    lp_request_charge(L, 2 * (length + 1)); /* httpd may keep a copy of its own */
    ap_set_content_type(r, apr_pstrmemdup(r->pool, type, length));
}

/* About what a status line of one's own takes. */
#define STATUS_LINE 24

/* ap_get_status_line() gives the line of 500 for what it does not know. */
void lp_status_line(request_rec *r, int status)
{
    if (strncmp(ap_get_status_line(status), "500", 3) != 0 || status == 500) {
        r->status_line = NULL;
    } else {
        r->status_line = apr_psprintf(r->pool, "%d Status %d", status, status);
    }
}

static void set_status(lua_State *L, request_rec *r, int value)
{
    lua_Integer status = luaL_checkinteger(L, value);

    if (!ap_is_HTTP_VALID_RESPONSE(status) || ap_is_HTTP_INFO(status)) {
        luaL_error(L, "%I is no HTTP status of a response", (LUAI_UACINT)status);
    }
    lp_request_charge(L, STATUS_LINE);
    r->status = (int)status;
    lp_status_line(r, r->status);
}

/* mod_lua reads a name and takes a number; so do scripts. */
static const char *const proxyreq_names[] = {"PROXYREQ_NONE", "PROXYREQ_PROXY", "PROXYREQ_REVERSE",
                                             "PROXYREQ_RESPONSE"};

static int get_proxyreq(lua_State *L, request_rec *r)
{
    if (r->proxyreq >= 0 && r->proxyreq <= PROXYREQ_RESPONSE) {
        lua_pushstring(L, proxyreq_names[r->proxyreq]);
        return 1;
    }
    return 0;
}

static void set_proxyreq(lua_State *L, request_rec *r, int value)
{
    lua_Integer kind = luaL_checkinteger(L, value);

    luaL_argcheck(L, kind >= PROXYREQ_NONE && kind <= PROXYREQ_RESPONSE, value,
                  "one of apache2.PROXYREQ_* expected");
    r->proxyreq = (int)kind;
}

/* Getters: [-0, +1, m] push the value, or return 0 for nil. */
static int get_document_root(lua_State *L, request_rec *r)
{
    lua_pushstring(L, ap_document_root(r));
    return 1;
}

static int get_context_document_root(lua_State *L, request_rec *r)
{
    lua_pushstring(L, ap_context_document_root(r));
    return 1;
}

static int get_context_prefix(lua_State *L, request_rec *r)
{
    lua_pushstring(L, ap_context_prefix(r));
    return 1;
}

static int get_server_name(lua_State *L, request_rec *r)
{
    lua_pushstring(L, ap_get_server_name(r));
    return 1;
}

static int get_port(lua_State *L, request_rec *r)
{
    lua_pushinteger(L, ap_get_server_port(r));
    return 1;
}

static int get_is_https(lua_State *L, request_rec *r)
{
    lua_pushboolean(L, ap_ssl_conn_is_ssl(r->connection));
    return 1;
}

static int get_is_initial_req(lua_State *L, request_rec *r)
{
    lua_pushboolean(L, ap_is_initial_req(r));
    return 1;
}

static int get_some_auth_required(lua_State *L, request_rec *r)
{
    lua_pushboolean(L, ap_some_auth_required(r));
    return 1;
}

static int get_auth_name(lua_State *L, request_rec *r)
{
    const char *name = ap_auth_name(r);

    lp_request_charge(L, name ? strlen(name) + 1 : 0); /* escaped anew each time */
    lua_pushstring(L, name ? name : "");
    return 1;
}

/* mod_lua gives "" where there is no password, and no name above. */
static int get_basic_auth_pw(lua_State *L, request_rec *r)
{
    const char *header = apr_table_get(r->headers_in, "Authorization");
    const char *password = NULL;
    int status;

    lp_request_charge(L, header ? 2 * strlen(header) : 0); /* decoded anew each time */
    status = ap_get_basic_auth_pw(r, &password);

    lua_pushstring(L, status == OK && password ? password : "");
    return 1;
}

/* A bit of Options or AllowOverride, and its name. */
typedef struct bit {
    int bits;
    const char *name;
} bit;

/* [-0, +1, m] The names of the bits that are set, with a space between. */
static int push_names(lua_State *L, int bits, const bit *names)
{
    luaL_Buffer text;
    int count = 0;

    luaL_buffinit(L, &text);
    for (; names->name; names++) {
        if ((bits & names->bits) == names->bits) {
            if (count++) {
                luaL_addchar(&text, ' ');
            }
            luaL_addstring(&text, names->name);
        }
    }
    luaL_pushresult(&text);
    return 1;
}

static int get_options(lua_State *L, request_rec *r)
{
    static const bit names[] = {{OPT_INDEXES, "Indexes"},
                                {OPT_INCLUDES, "Includes"},
                                {OPT_SYM_LINKS, "FollowSymLinks"},
                                {OPT_SYM_OWNER, "SymLinksIfOwnerMatch"},
                                {OPT_EXECCGI, "ExecCGI"},
                                {OPT_MULTI, "MultiViews"},
                                {0, NULL}};

    return push_names(L, ap_allow_options(r), names);
}

/* As AllowOverride has it: all of the groups have a name of their own. */
static int get_allowoverrides(lua_State *L, request_rec *r)
{
    static const bit names[] = {{OR_LIMIT, "Limit"},       {OR_OPTIONS, "Options"},
                                {OR_FILEINFO, "FileInfo"}, {OR_AUTHCFG, "AuthConfig"},
                                {OR_INDEXES, "Indexes"},   {0, NULL}};
    int overrides = ap_allow_overrides(r);

    if ((overrides & OR_ALL) == OR_ALL || !(overrides & OR_ALL)) {
        lua_pushstring(L, overrides & OR_ALL ? "All" : "None");
        return 1;
    }
    return push_names(L, overrides, names);
}

static int get_banner(lua_State *L, request_rec *r)
{
    (void)r;
    lua_pushstring(L, ap_get_server_banner());
    return 1;
}

static int get_server_built(lua_State *L, request_rec *r)
{
    (void)r;
    lua_pushstring(L, ap_get_server_built());
    return 1;
}

static int get_limit_req_body(lua_State *L, request_rec *r)
{
    lua_pushinteger(L, (lua_Integer)ap_get_limit_req_body(r));
    return 1;
}

static int get_remaining(lua_State *L, request_rec *r)
{
    lua_pushinteger(L, (lua_Integer)r->remaining);
    return 1;
}

static int get_status(lua_State *L, request_rec *r)
{
    lua_pushinteger(L, r->status);
    return 1;
}

/* Rows: name, kind, offset, getter, setter, method. */
#define TEXT(name, set)                                                    \
    {                                                                      \
#name, LP_FIELD_TEXT, offsetof(request_rec, name), NULL, set, NULL \
    }
#define TABLE(name, kind)                                        \
    {                                                            \
#name, LP_FIELD_TABLE, LP_TABLE_##kind, NULL, NULL, NULL \
    }
#define CALL(name, set)                                \
    {                                                  \
#name, LP_FIELD_CALL, 0, get_##name, set, NULL \
    }

const lp_field lp_fields[] = {
    TEXT(uri, set_uri),
    TEXT(args, set_args),
    TEXT(filename, set_filename),
    TEXT(handler, set_handler),
    TEXT(user, set_user),
    TEXT(ap_auth_type, set_ap_auth_type),
    TEXT(content_type, set_content_type),
    CALL(status, set_status),
    CALL(proxyreq, set_proxyreq),
    TEXT(method, NULL),
    TEXT(protocol, NULL),
    TEXT(hostname, NULL),
    TEXT(path_info, NULL),
    TEXT(unparsed_uri, NULL),
    TEXT(the_request, NULL),
    TEXT(range, NULL),
    TEXT(content_encoding, NULL),
    TEXT(canonical_filename, NULL),
    TEXT(useragent_ip, NULL),
    TEXT(log_id, NULL),
    CALL(document_root, NULL),
    CALL(context_prefix, NULL),
    CALL(context_document_root, NULL),
    CALL(server_name, NULL),
    CALL(auth_name, NULL),
    CALL(basic_auth_pw, NULL),
    CALL(options, NULL),
    CALL(allowoverrides, NULL),
    CALL(banner, NULL),
    CALL(server_built, NULL),
    CALL(port, NULL),
    CALL(limit_req_body, NULL),
    CALL(remaining, NULL),
    {"started", LP_FIELD_TIME, offsetof(request_rec, request_time), NULL, NULL, NULL},
    {"assbackwards", LP_FIELD_FLAG, offsetof(request_rec, assbackwards), NULL, NULL, NULL},
    CALL(is_https, NULL),
    CALL(is_initial_req, NULL),
    CALL(some_auth_required, NULL),
    TABLE(headers_in, HEADERS_IN),
    TABLE(headers_out, HEADERS_OUT),
    TABLE(err_headers_out, ERR_HEADERS_OUT),
    TABLE(notes, NOTES),
    TABLE(subprocess_env, SUBPROCESS_ENV),
    {NULL, LP_FIELD_TEXT, 0, NULL, NULL, NULL}};
