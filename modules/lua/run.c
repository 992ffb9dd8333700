/* SPDX-License-Identifier: Apache-2.0
 * One call of a script's function. See run.h.
 *
 * All of it happens inside one protected call of the entry function, so that any error of the Lua
 * API, lack of memory too, ends here and nowhere else. */
#include "modules/lua/run.h"
#include "modules/lua/isolate.h"
#include "modules/lua/limit.h"
#include "modules/lua/request.h"
#include "modules/lua/require.h"
#include "modules/lua/script.h"
#include "modules/lua/traceback.h"
#include "modules/common/conf_value.h"
#include <apr_strings.h>
#include <string.h>

/* The function that is called, a global of the script. */
#define FUNCTION "handle"

/* Upvalues of the entry function; those that each use needs come first. */
enum {
    UP_FUNCTION = 1, /* its name */
    UP_GLOBALS,      /* the globals of the use, or of the last one */
    UP_CHUNK,        /* the chunk that ran last */
    UP_REQUEST,      /* the object r */
    UP_LOCKED,       /* the locked globals */
    UP_LOADED,       /* the locked package.loaded */
    UP_METATABLE,    /* for the globals of a use */
    UP_G,            /* "_G" */
    UP_COUNT = UP_G
};
#define UP(name) lua_upvalueindex(UP_##name)

/* [-0, +0, m] Makes the globals of a use, and puts them in place under each of their names. */
COLD_PATH static void make_globals(lua_State *L)
{
    lua_createtable(L, 0, 4);
    lua_pushvalue(L, UP(METATABLE));
    lua_setmetatable(L, -2);
    for (int up = UP_LOCKED; up <= UP_LOADED; up++) {
        lua_pushvalue(L, UP(G));
        lua_pushvalue(L, -2);
        lua_rawset(L, lua_upvalueindex(up));
    }
    lp_vm_of(L)->globals = lua_topointer(L, -1);
    lua_pushvalue(L, -1);
    lua_rawseti(L, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
    lua_replace(L, UP(GLOBALS));
}

/* Whether the globals of the last use are as good as new ones once they are empty
 * (modules/README.md says why). */
static int may_be_kept(const lp_vm *vm)
{
    return vm->written <= LP_WRITTEN_MOST && !vm->foreign;
}

/* [-0, +0, -] Takes away what the last use put in its globals, which lie at `index`. */
static void empty_globals(lua_State *L, int index)
{
    lua_pushnil(L);
    while (lua_next(L, index)) {
        lua_pop(L, 1);
        lua_pushvalue(L, -1);
        lua_pushnil(L);
        lua_rawset(L, index);
    }
}

/* [-0, +0, m] Gives the VM globals for a new use: a new table, or the last use's. */
static void begin_use(lua_State *L, lp_vm *vm, const lp_call *call)
{
    if (!may_be_kept(vm)) {
        make_globals(L);
    } else if (vm->written == 1 && vm->only_handle) { /* the usual case in little time */
        lua_pushvalue(L, UP(FUNCTION));
        lua_pushnil(L);
        lua_rawset(L, UP(GLOBALS));
    } else if (vm->written) {
        empty_globals(L, UP(GLOBALS));
    }
    vm->written = 0;
    vm->only_handle = 0;
    vm->ran_count = 0;
    vm->chunk = 0;
    lp_require_paths(L, call->script, call->conf);
    vm->begun = 1;
}

/* [-0, +0, e] Runs the script's chunk, which defines its functions. In a new use it is mostly the
 * one that ran last. */
static void run_chunk(lua_State *L, lp_vm *vm, lp_call *call)
{
    const script *s = call->script;

    if (vm->last == s->generation && vm->ran_count == 0) {
        lua_pushvalue(L, UP(CHUNK));
        lua_pushvalue(L, UP(GLOBALS));
        lp_script_enter(L, s->generation);
    } else {
        call->tag = "LP002";
        if (lp_script_push(L, s) != LUA_OK) {
            lua_error(L);
        }
        call->tag = "LP001";
        lua_pushvalue(L, -1);
        lua_replace(L, UP(CHUNK));
        vm->last = lp_script_is_text(s) ? s->generation : 0;
    }
    lua_call(L, 0, 0);
    vm->chunk = s->generation;
}

/* [-0, +1, e] Pushes the function to call. A metatable may have it, if the script made one. */
static void push_function(lua_State *L, lp_vm *vm, lp_call *call)
{
    lua_pushvalue(L, UP(FUNCTION));
    if (lua_rawget(L, UP(GLOBALS)) == LUA_TFUNCTION) {
        vm->only_handle = vm->written == 1;
        return;
    }
    lua_pop(L, 1);
    lua_pushvalue(L, UP(FUNCTION));
    if (lua_gettable(L, UP(GLOBALS)) != LUA_TFUNCTION) {
        call->tag = "LP003";
        luaL_error(L, "%s has no function '" FUNCTION "'", call->script->path);
    }
}

/* [-0, +1, m] Pushes the object r, for a request whose response goes to `out`. */
static void push_request(lua_State *L, lp_vm *vm, output *out)
{
    if (vm->request) {
        lua_pushvalue(L, UP(REQUEST));
    } else {
        lp_request *made = lp_request_make(L);
        lua_pushvalue(L, -1);
        lua_replace(L, UP(REQUEST));
        vm->request = made;
    }
    vm->request->r = out->r;
    vm->request->out = out;
}

/* [-0, +0, e] */
static int check_late(lua_State *L, lp_call *call, int status)
{
    if (output_is_late(&call->out, status)) {
        call->tag = "LP004";
        luaL_error(L, FUNCTION " returned %d when a part of its response had been sent", status);
    }
    return status;
}

/* [-0, +0, e] The status that the value on top stands for. Nothing, nil and booleans are OK, as in
 * mod_lua: `return r:puts(...)` is often written. */
static int status_of(lua_State *L, lp_call *call)
{
    lua_Integer status;
    int is_integer;

    if (lua_isnil(L, -1) || lua_isboolean(L, -1)) {
        return OK;
    }
    status = lua_tointegerx(L, -1, &is_integer);
    if (lua_type(L, -1) == LUA_TNUMBER && is_integer) {
        if (status == OK || status == DECLINED || status == DONE) {
            return check_late(L, call, (int)status);
        }
        if (ap_is_HTTP_VALID_RESPONSE(status) && !ap_is_HTTP_INFO(status)) {
            lp_status_line(call->r, (int)status);
            return check_late(L, call, status == HTTP_OK ? OK : (int)status);
        }
    }
    call->tag = "LP004";
    if (lua_type(L, -1) == LUA_TNUMBER) {
        return luaL_error(L, FUNCTION " returned %s, which is no status", lua_tostring(L, -1));
    }
    return luaL_error(
        L, FUNCTION " returned a %s; it must return an integer such as apache2.OK, or nothing",
        luaL_typename(L, -1));
}

/* The entry function. The call to make is in the VM; scripts that get hold of this function through
 * debug.getinfo find none there. */
HOT_PATH static int enter(lua_State *L)
{
    lp_vm *vm = lp_vm_of(L);
    lp_call *call = vm->call;

    if (!call) {
        return luaL_error(L, "not to be called by scripts");
    }
    vm->call = NULL;
    call->tag = "LP001";
    if (!vm->begun) {
        begin_use(L, vm, call);
    }
    if (vm->chunk != call->script->generation) {
        run_chunk(L, vm, call);
    }
    push_function(L, vm, call);
    push_request(L, vm, &call->out);
    lua_call(L, 1, 1);
    call->status = status_of(L, call);
    return 0;
}

/* The message handler: describes the error while its stack is there. The description is in r->pool,
 * and needs no memory of Lua's; so only the first is made, since a script can find this function
 * (from __tostring) and call it. */
static int on_error(lua_State *L)
{
    lp_call *call = lp_vm_of(L)->called;

    if (call && !call->failure->message) {
        call->failure->message = "an error in the handling of an error";
        lp_traceback(L, call->r->pool, call->failure);
        call->failure->tag = call->tag;
    }
    return 1;
}

/* Which limit ended the call, if one did. Such a VM is closed: its state may be in pieces, and it
 * is full. A script may have caught the lack of memory and failed for another reason. */
static void find_limit(lp_vm *vm, const lp_call *call, int status, failure *f)
{
    if (vm->overdue) {
        f->tag = "LP006";
        f->kind = FAILURE_FATAL;
        f->status = HTTP_SERVICE_UNAVAILABLE;
        f->message = apr_psprintf(call->r->pool, "stopped after %g seconds (LuaTimeLimit)",
                                  (double)PICK(call->conf, &lp_defaults, time_limit) /
                                      (double)APR_USEC_PER_SEC);
    } else if (vm->refused && (status != LUA_ERRRUN || strstr(f->message, "not enough memory"))) {
        f->tag = "LP005";
        f->kind = FAILURE_FATAL;
        f->message = apr_psprintf(
            call->r->pool, "not enough memory (LuaMemoryLimit is %" APR_INT64_T_FMT " bytes)",
            (apr_int64_t)(vm->limit - vm->kept));
    }
}

COLD_PATH static void describe(lp_vm *vm, lp_call *call, int status, failure *f)
{
    f->kind = status == LUA_ERRRUN ? FAILURE_SCRIPT : FAILURE_FATAL;
    if (!f->tag) {
        f->tag = call->tag ? call->tag : "LP001";
    }
    if (!f->message) {
        f->message = lua_type(vm->L, -1) == LUA_TSTRING
                         ? apr_pstrdup(call->r->pool, lua_tostring(vm->L, -1))
                         : "an error in the handling of an error";
    }
    if (!f->script) {
        f->script = call->path;
    }
    find_limit(vm, call, status, f);
}

/* The memory limit of a call. What lies in the VM when its use begins (compiled files, mostly) is
 * none of the use's: a limit small enough for the script itself must not depend on who came before.
 */
HOT_PATH static void set_memory_limit(lp_vm *vm, const lp_conf *conf)
{
    const apr_size_t limit = (apr_size_t)PICK(conf, &lp_defaults, memory_limit);

    if (!vm->begun) {
        vm->kept = vm->used > vm->bare ? vm->used - vm->bare : 0;
    }
    vm->limit = limit ? limit + vm->kept : 0;
    vm->lent = 0;
    vm->refused = 0;
}

HOT_PATH int lp_run(lp_vm *vm, lp_call *call, failure *f)
{
    const lp_conf *conf = call->conf;
    lua_State *L = vm->L;
    int status;

    memset(f, 0, sizeof *f);
    call->failure = f;
    call->status = OK;
    call->tag = NULL;
    vm->call = vm->called = call;
    vm->conf = conf;
    vm->now = call->r->request_time;
    set_memory_limit(vm, conf);
    lp_limit_enter(vm, PICK(conf, &lp_defaults, time_limit));
    lua_pushvalue(L, LP_VM_ENTRY);
    status = lua_pcall(L, 0, 0, LP_VM_ON_ERROR);
    lp_limit_leave(vm);
    if (status != LUA_OK) {
        describe(vm, call, status, f);
        lua_settop(L, LP_VM_STACK);
    }
    lp_request_close(vm);
    if (vm->held) {
        script_release(vm->held);
        vm->held = NULL;
    }
    vm->call = vm->called = NULL;
    vm->conf = NULL;
    return call->status;
}

HOT_PATH int lp_run_end(lp_vm *vm)
{
    vm->begun = 0;
    return lp_isolate_repair(vm);
}

/* [-0, +0, m] Takes the globals of the last use from the places where they hang: besides the entry
 * function (at index 1), the registry and the locked tables. */
static void drop_globals(lua_State *L)
{
    int top = lua_gettop(L);
    lp_vm *vm = lp_vm_of(L);

    vm->written = LP_WRITTEN_MOST + 1;
    vm->globals = NULL;
    lua_pushnil(L);
    lua_setupvalue(L, 1, UP_GLOBALS);
    lp_facade_push_locked(L, LP_FACADE_LOADED);
    lp_facade_push_locked(L, LP_FACADE_GLOBALS);
    for (int table = top + 1; table <= top + 2; table++) {
        lua_pushboolean(L, 0);
        lua_setfield(L, table, "_G");
    }
    lua_rawseti(L, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
    lua_settop(L, top);
}

/* For a protected call with the entry function. A chunk may hang on to globals that its script made
 * (_ENV = ...), the last one also when it is among the kept ones no more. */
static int forget(lua_State *L)
{
    lp_vm *vm = lp_vm_of(L);

    lua_getupvalue(L, 1, UP_GLOBALS);
    if (may_be_kept(vm)) {
        empty_globals(L, 2);
        vm->written = 0;
    } else {
        drop_globals(L);
    }
    vm->last = 0;
    lua_pushnil(L);
    lua_setupvalue(L, 1, UP_CHUNK);
    lp_script_forget_globals(L);
    lp_require_trim(L);
    lp_script_trim(L);
    return 0;
}

void lp_run_forget(lp_vm *vm)
{
    lua_pushcfunction(vm->L, forget);
    lua_pushvalue(vm->L, LP_VM_ENTRY);
    lua_pcall(vm->L, 1, 0, 0); /* lack of memory at worst: then less is collected */
    lua_settop(vm->L, LP_VM_STACK);
}

void lp_run_install(lua_State *L)
{
    lp_vm_of(L)->written = LP_WRITTEN_MOST + 1; /* there are no globals yet */
    lua_pushliteral(L, FUNCTION);
    for (int up = UP_GLOBALS; up <= UP_REQUEST; up++) {
        lua_pushnil(L);
    }
    lp_facade_push_locked(L, LP_FACADE_GLOBALS);
    lp_facade_push_locked(L, LP_FACADE_LOADED);
    lp_facade_push_metatable(L, LP_FACADE_GLOBALS);
    lua_pushliteral(L, "_G");
    lua_pushcclosure(L, enter, UP_COUNT);
    lua_pushcfunction(L, on_error);
}
