/* SPDX-License-Identifier: Apache-2.0
 * The time limit, and the guards of coroutines and xpcall that it needs. See limit.h.
 *
 * Three parties: the watchdog's thread, which only sends a signal; the signal's handler, on the
 * thread that runs the script, which decides and sets the hook; the hook, which raises the error.
 * What the handler reads (the thread's `current`, the VM's `outer` and `running`) is written by its
 * own thread only. A signal that comes too late finds another VM or none, which is not overdue. */
#include "modules/lua/limit.h"
#include "modules/lua/guards.h"
#include "modules/common/conf_value.h"
#include <http_log.h>
#include <string.h>

APLOG_USE_MODULE(luapool);

/* The signal that stops scripts; 0: none was free. */
static int limit_signal;

/* What a thread knows of the VMs that it runs. */
typedef struct lp_thread {
    lp_vm *current; /* whose script runs; those that wait for it follow through `outer` */
    pthread_t self; /* once the signal is unblocked */
    int unblocked;
} lp_thread;
static __thread lp_thread this_thread;

/* Runs at each instruction of an overdue script, and where a C function is called: also by one,
 * such as table.sort. */
static void raise_overdue(lua_State *L, lua_Debug *ar)
{
    const lp_vm *vm = lp_vm_of(L);
    apr_int64_t limit;

    (void)ar;
    if (!vm->overdue || this_thread.current != vm) { /* it came late, for a use that has ended */
        lua_sethook(L, NULL, 0, 0);
        return;
    }
    luaL_where(L, 0);
    if (vm->conf) {
        limit = PICK(vm->conf, &lp_defaults, time_limit);
        lua_pushfstring(L, "%sstopped after %f seconds (LuaTimeLimit)", lua_tostring(L, -1),
                        (lua_Number)limit / (lua_Number)APR_USEC_PER_SEC);
    } else {
        lua_pushfstring(L, "%sstopped: a finalizer takes too long", lua_tostring(L, -1));
    }
    lua_error(L);
}

/* Also safe in the signal handler: lua_sethook() is. */
static void stop(lp_vm *vm, lua_State *L)
{
    vm->overdue = 1;
    lua_sethook(L, raise_overdue, LUA_MASKCOUNT | LUA_MASKCALL, 1);
}

/* The signal's handler: in the thread that runs the script, between any two of its machine
 * instructions. lua_sethook() is made for that. */
static void on_signal(int signal)
{
    (void)signal;
    for (lp_vm *vm = this_thread.current; vm; vm = vm->outer) {
        if (watch_overdue(vm->watch)) {
            stop(vm, vm->running);
        }
    }
}

/* Real-time signals, from the end that others seldom take; elsewhere one that does nothing by
 * itself. */
#ifdef SIGRTMIN
#define FIRST_SIGNAL (SIGRTMAX - 2)
#define LAST_SIGNAL  SIGRTMIN
#else
#define FIRST_SIGNAL SIGURG
#define LAST_SIGNAL  SIGURG
#endif

apr_status_t lp_limit_init(server_rec *s)
{
    struct sigaction action, old;

    /* Without SA_RESTART: a script that waits in open() or read(), for a named pipe or a program's
     * output, is to come back. httpd's own calls try again. */
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    sigemptyset(&action.sa_mask);
    for (int i = FIRST_SIGNAL; i >= LAST_SIGNAL; i--) {
        if (sigaction(i, NULL, &old) == 0 && old.sa_handler == SIG_DFL &&
            sigaction(i, &action, NULL) == 0) {
            limit_signal = i;
            return APR_SUCCESS;
        }
    }
    ap_log_error(APLOG_MARK, APLOG_WARNING, 0, s,
                 "LP021: no signal is free, so LuaTimeLimit has no effect");
    return APR_ENOTIMPL;
}

/* A C function that does not come back, such as a pattern match that tries everything, executes no
 * instruction that could raise the error. All there is to do is to say so, once. */
#define STUCK_AFTER (apr_time_from_sec(10) / WATCHDOG_REPEAT)

void lp_limit_expire(void *baton)
{
    lp_vm *vm = baton;

    if (!limit_signal || __atomic_load_n(&vm->away, __ATOMIC_SEQ_CST)) {
        return;
    }
    if (__atomic_add_fetch(&vm->signals, 1, __ATOMIC_RELAXED) == STUCK_AFTER) {
        ap_log_error(APLOG_MARK, APLOG_ALERT, 0, vm->world->server,
                     "LP025: a script still runs 10 seconds after its LuaTimeLimit, inside a C "
                     "function that can't be stopped; its thread is lost until the child is killed "
                     "(server-status shows the request)");
    }
    pthread_kill(__atomic_load_n(&vm->thread, __ATOMIC_RELAXED), limit_signal);
}

/* The MPMs block signals in their threads. */
COLD_PATH static void unblock_signal(lp_thread *mine)
{
    sigset_t set;

    sigemptyset(&set);
    if (limit_signal) {
        sigaddset(&set, limit_signal);
    }
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    mine->self = pthread_self();
    mine->unblocked = 1;
}

/* The order matters: once the watch is armed the handler may run. */
HOT_PATH void lp_limit_enter(lp_vm *vm, apr_interval_time_t limit)
{
    lp_thread *mine = &this_thread;

    if (!mine->unblocked) {
        unblock_signal(mine);
    }
    __atomic_store_n(&vm->thread, mine->self, __ATOMIC_RELAXED);
    vm->running = vm->L;
    vm->overdue = 0;
    __atomic_store_n(&vm->signals, 0, __ATOMIC_RELAXED);
    vm->outer = mine->current;
    vm->on = mine;
    mine->current = vm;
    watch_arm(vm->watch, limit);
}

HOT_PATH void lp_limit_leave(lp_vm *vm)
{
    watch_disarm(vm->watch);
    vm->on->current = vm->outer;
    vm->outer = NULL;
}

int lp_limit_nested(void)
{
    return this_thread.current != NULL;
}

void lp_limit_away(lua_State *L)
{
    __atomic_store_n(&lp_vm_of(L)->away, 1, __ATOMIC_SEQ_CST);
}

void lp_limit_back(lua_State *L)
{
    lp_vm *vm = lp_vm_of(L);

    __atomic_store_n(&vm->away, 0, __ATOMIC_SEQ_CST);
    if (watch_overdue(vm->watch)) {
        stop(vm, L);
    }
}

/* Says that `L` runs from here on. A deadline may have passed while another coroutine ran, which
 * got the hook. */
static void runs(lua_State *L)
{
    lp_vm *vm = lp_vm_of(L);

    vm->running = L;
    if (vm->overdue) {
        stop(vm, L);
    }
}

/* What keeps `co` from being resumed with so many arguments; NULL: nothing. */
static const char *fault_of(lua_State *co, int arguments)
{
    lua_Debug ar;

    if (lua_status(co) == LUA_OK && lua_getstack(co, 0, &ar)) {
        return "cannot resume non-suspended coroutine";
    }
    if (lua_status(co) != LUA_YIELD && (lua_status(co) != LUA_OK || lua_gettop(co) == 0)) {
        return "cannot resume dead coroutine";
    }
    return lua_checkstack(co, arguments) ? NULL : "too many arguments to resume";
}

/* [-arguments, +0, -] Resumes `co`, in which there is no fault: then lua_resume() itself raises no
 * error, for the messages that it may need are there (see lp_limit_install). With one the VM would
 * take `co` for the one that runs. */
static int resume(lua_State *L, lua_State *co, int arguments, int *results)
{
    int status;

    lua_xmove(L, co, arguments);
    runs(co);
    status = lua_resume(co, L, arguments, results);
    runs(L);
    return status;
}

static int guarded_resume(lua_State *L)
{
    lua_State *co = lua_tothread(L, 1);
    int arguments = lua_gettop(L) - 1;
    int results, status;
    const char *fault;

    if (!co) {
        return lp_guard_pass(L); /* raises an error */
    }
    fault = fault_of(co, arguments);
    if (!fault) {
        status = resume(L, co, arguments, &results);
        if (status != LUA_OK && status != LUA_YIELD) {
            lua_pushboolean(L, 0);
            lua_xmove(co, L, 1);
            return 2;
        }
        if (lua_checkstack(L, results + 1)) {
            lua_pushboolean(L, 1);
            lua_xmove(co, L, results);
            return results + 1;
        }
        lua_pop(co, results);
        fault = "too many results to resume";
    }
    lua_pushboolean(L, 0);
    lua_pushstring(L, fault);
    return 2;
}

/* coroutine.close runs the pending __close metamethods in the coroutine, be it suspended or ended
 * by an error. */
static int guarded_close(lua_State *L)
{
    lua_State *co = lua_tothread(L, 1);
    int results;

    if (!co || lua_status(co) == LUA_OK) { /* running, finished or not begun: nothing is pending */
        return lp_guard_pass(L);
    }
    if (lp_vm_of(L)->overdue) {
        return luaL_error(L, "stopped");
    }
    runs(co);
    results = lp_guard_pass(L);
    runs(L);
    return results;
}

/* After a failed resume: closes what is pending in `co`, and raises its error in `L`. */
static int raise_from(lua_State *L, lua_State *co)
{
    int status = lua_status(co);

    if (status != LUA_OK && status != LUA_YIELD && !lp_vm_of(L)->overdue) {
        runs(co);
#if LUA_VERSION_RELEASE_NUM >= 50406
        status = lua_closethread(co, L);
#else
        status = lua_resetthread(co);
#endif
        runs(L);
    }
    lua_xmove(co, L, 1);
    if (status != LUA_ERRMEM && lua_type(L, -1) == LUA_TSTRING) {
        luaL_where(L, 1);
        lua_insert(L, -2);
        lua_concat(L, 2);
    }
    return lua_error(L);
}

/* The function that coroutine.wrap gives; upvalue: the coroutine. */
static int resume_wrapped(lua_State *L)
{
    lua_State *co = lua_tothread(L, lua_upvalueindex(1));
    int arguments = lua_gettop(L);
    int results, status;
    const char *fault = fault_of(co, arguments);

    if (fault) {
        return luaL_error(L, "%s", fault);
    }
    status = resume(L, co, arguments, &results);
    if (status != LUA_OK && status != LUA_YIELD) {
        return raise_from(L, co);
    }
    if (!lua_checkstack(L, results)) {
        lua_pop(co, results);
        return luaL_error(L, "too many results to resume");
    }
    lua_xmove(co, L, results);
    return results;
}

/* The original's function would not say which coroutine runs. */
static int guarded_wrap(lua_State *L)
{
    lua_State *co;

    luaL_checktype(L, 1, LUA_TFUNCTION);
    co = lua_newthread(L);
    lua_pushvalue(L, 1);
    lua_xmove(L, co, 1);
    lua_pushcclosure(L, resume_wrapped, 1);
    return 1;
}

/* Stands for a script's message handler (the upvalue). Called from the hook, Lua runs it without
 * hooks: nothing could stop it then. */
static int message_handler(lua_State *L)
{
    if (!lp_vm_of(L)->overdue) {
        lua_pushvalue(L, lua_upvalueindex(1));
        lua_insert(L, 1);
        lua_call(L, lua_gettop(L) - 1, 1);
    }
    return 1;
}

static int guarded_xpcall(lua_State *L)
{
    if (lua_isfunction(L, 2)) {
        lua_pushvalue(L, 2);
        lua_pushcclosure(L, message_handler, 1);
        lua_replace(L, 2);
    }
    return lp_guard_pass(L);
}

/* The finalizer may require a module while the VM compiles one. */
void lp_limit_call(lua_State *L)
{
    lua_State *co = lua_newthread(L);
    lp_vm *vm = lp_vm_of(L);
    const script *held = vm->held;
    int results, status;

    lua_insert(L, -3); /* the coroutine stays, so that it is not collected */
    lua_insert(L, -2);
    lua_xmove(L, co, 1);
    vm->held = NULL;
    status = resume(L, co, 1, &results);
    script_release(vm->held);
    vm->held = held;
    if (status != LUA_OK && status != LUA_YIELD) {
        lua_xmove(co, L, 1);
        lua_error(L);
    }
    lua_pop(L, 1);
}

static const lp_guard guards[] = {{"coroutine", "resume", guarded_resume},
                                  {"coroutine", "wrap", guarded_wrap},
                                  {"coroutine", "close", guarded_close},
                                  {"_G", "xpcall", guarded_xpcall},
                                  {NULL, NULL, NULL}};

void lp_limit_install(lua_State *L)
{
    static const char *const messages[] = {"C stack overflow", "error in error handling"};

    lp_guards_put(L, guards);
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++) {
        lua_pushstring(L, messages[i]);
        luaL_ref(L, LUA_REGISTRYINDEX); /* short strings exist once */
    }
}
