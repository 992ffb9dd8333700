/* SPDX-License-Identifier: Apache-2.0
 * The object that scripts see as `r`.
 *
 * It may outlive its request as a Lua value; its pointer is cleared then, and every access raises
 * "request is over". Under LuaScope once no value survives a use, so a VM keeps one object and its
 * tables for all its requests; in longer scopes each request gets its own. */
#ifndef INTERPOOL_LUA_REQUEST_H
#define INTERPOOL_LUA_REQUEST_H

#include "modules/common/body.h"
#include "modules/common/output.h"
#include "modules/lua/vm.h"

/* The tables of a request that scripts see as such; also the index of the user value that holds the
 * object. */
typedef enum {
    LP_TABLE_HEADERS_IN = 1,
    LP_TABLE_HEADERS_OUT,
    LP_TABLE_ERR_HEADERS_OUT,
    LP_TABLE_NOTES,
    LP_TABLE_SUBPROCESS_ENV
} lp_table_kind;
#define LP_TABLE_KINDS 5

typedef struct lp_request {
    request_rec *r;    /* NULL: over */
    output *out;       /* the call's */
    body_reader *body; /* once the script asked for it */
} lp_request;

/* [-0, +0, m] Makes the metatable, and the lookup table behind it, in a new VM. */
void lp_request_install(lua_State *L);

/* [-0, +1, m] Pushes a new object, of no request yet. */
lp_request *lp_request_make(lua_State *L);

/* [-0, +0, -] The request is over: its object knows it no more. */
void lp_request_close(lp_vm *vm);

/* [-0, +0, v] The live request that is the argument at `index`; raises an error for anything else.
 */
lp_request *lp_request_check(lua_State *L, int index);

/* [-0, +0, v] Counts bytes that a call takes from the request's pool, which gives nothing back
 * before the request ends, against LuaMemoryLimit. */
void lp_request_charge(lua_State *L, apr_size_t bytes);

/* A property of r. Kinds that lie in request_rec have its offset. */
typedef enum {
    LP_FIELD_TEXT,   /* const char *, nil when NULL */
    LP_FIELD_INT,    /* int */
    LP_FIELD_FLAG,   /* int, as boolean */
    LP_FIELD_TIME,   /* apr_time_t, in seconds */
    LP_FIELD_TABLE,  /* offset is an lp_table_kind */
    LP_FIELD_METHOD, /* call is a lua_CFunction; offset is its upvalue */
    LP_FIELD_CALL    /* get pushes the value */
} lp_field_kind;

typedef struct lp_field {
    const char *name;
    lp_field_kind kind;
    apr_size_t offset;
    int (*get)(lua_State *L, request_rec *r); /* returns the number of values pushed */
    void (*set)(lua_State *L, request_rec *r,
                int value); /* the index of the value; NULL: read only */
    lua_CFunction method;
} lp_field;

/* Lists that end with a NULL name: fields.c, output.c (methods that answer or log), input.c
 * (methods that read), util.c (the rest). */
extern const lp_field lp_fields[];
extern const lp_field lp_output_methods[];
extern const lp_field lp_input_methods[];
extern const lp_field lp_util_methods[];

/* Gives a status that httpd has no words for its own line; it would send 500 instead. */
void lp_status_line(request_rec *r, int status);

#endif
