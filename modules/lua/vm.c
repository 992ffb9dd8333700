/* SPDX-License-Identifier: Apache-2.0
 * Making, closing and sweeping a VM; its allocator. See vm.h. */
#include "modules/lua/vm.h"
#include "modules/lua/apache2.h"
#include "modules/lua/files.h"
#include "modules/lua/finalizer.h"
#include "modules/lua/guards.h"
#include "modules/lua/isolate.h"
#include "modules/lua/limit.h"
#include "modules/lua/lists.h"
#include "modules/lua/request.h"
#include "modules/lua/require.h"
#include "modules/lua/run.h"
#include "modules/lua/script.h"
#include <http_log.h>
#include <stdlib.h>
#include <string.h>

APLOG_USE_MODULE(luapool);

const char lp_keys[LP_KEY_COUNT];

/* Garbage that is at least worth a collection after the response; memory that a VM must not keep.
 * The status board learns of changes larger than REPORT_STEP. */
#define SWEEP_BYTES ((apr_size_t)128 * 1024)
#define NEEDS_BYTES ((apr_size_t)4 * 1024 * 1024)
#define BLOAT_BYTES ((apr_size_t)8 * 1024 * 1024)
#define REPORT_STEP 16384

/* What finalizers may take beyond the limit when a VM is closed, which is often full then. */
#define CLOSE_BYTES ((apr_size_t)1024 * 1024)

/* Of a cache, mostly. */
#define LINE_BYTES 64

/* What a VM's small blocks have: about what it holds before it is swept. The tools that look for
 * errors in the use of memory know malloc's blocks only. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WATCHED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(WATCHED)
#define ARENA_BYTES 0
#else
#define ARENA_BYTES ((apr_size_t)192 * 1024)
#endif

/* lua_Alloc with a count and a cap. Shrinking and freeing never fail. A size may be anything: a
 * script can ask for -1 bytes of a file. */
HOT_PATH static void *allocate(void *baton, void *block, size_t old, size_t size)
{
    lp_vm *vm = baton;
    apr_size_t after;
    void *moved;

    if (!block) {
        old = 0; /* Lua tells the kind of the object instead */
    }
    if (size == 0) {
        if (block) {
            arena_free(&vm->memory, block, old);
        }
        vm->used -= old;
        return NULL;
    }
    after = vm->used + (size - old); /* smaller than before when it is past the largest number */
    if (size > old && (after > vm->limit || after < vm->used) && vm->limit) {
        vm->refused = 1;
        return NULL;
    }
    moved = arena_resize(&vm->memory, block, old, size);
    if (moved) {
        vm->used = after;
    }
    return moved;
}

/* Every call that can raise an error runs in protected mode: this is a fault of the module. */
static int on_panic(lua_State *L)
{
    ap_log_error(APLOG_MARK, APLOG_EMERG, 0, lp_vm_of(L)->world->server,
                 "LP022: an error outside protected mode: %s",
                 lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "(no message)");
    return 0;
}

/* lua_WarnFunction: warn() and errors in finalizers go to the error log, once they are on. */
static void on_warning(void *baton, const char *piece, int more)
{
    lp_vm *vm = baton;
    size_t space = sizeof vm->warning - vm->warning_length - 1;
    size_t length = strlen(piece);

    if (!more && !vm->warning_length && *piece == '@') {
        vm->warnings = strcmp(piece, "@on") == 0 || (vm->warnings && strcmp(piece, "@off") != 0);
        return;
    }
    length = length < space ? length : space;
    memcpy(vm->warning + vm->warning_length, piece, length);
    vm->warning_length += length;
    if (!more) {
        vm->warning[vm->warning_length] = '\0';
        vm->warning_length = 0;
        if (vm->warnings) {
            ap_log_error(APLOG_MARK, APLOG_WARNING, 0, vm->world->server, "LP023: %s", vm->warning);
        }
    }
}

/* Scripts leave little, and lp_vm_sweep() takes it away after the response; a collection during a
 * request begins only when the VM has grown to four times its size. Measured on a hello, in
 * instructions per request: 7,870 so, 8,100 in generational mode, 8,380 with smaller steps. */
#define PAUSE 400

/* The other parameters, of both modes, are those that Lua begins with. */
void lp_vm_tune(lua_State *L)
{
    lua_gc(L, LUA_GCRESTART);
    lua_gc(L, LUA_GCGEN, 20, 100);
    lua_gc(L, LUA_GCINC, PAUSE, 100, 13);
    lua_gc(L, LUA_GCCOLLECT);
}

/* In protected mode: everything that a new VM has. The order matters: facades come last, before the
 * entry function, which takes them as upvalues. */
static int furnish(lua_State *L)
{
    luaL_checkversion(L);
    luaL_openlibs(L);
    lp_finalizer_install(L);
    lp_apache2_install(L);
    lp_guards_install(L);
    lp_lists_install(L);
    lp_limit_install(L);
    lp_require_install(L);
    lp_script_install(L);
    lp_isolate_install(L);
    lp_isolate_reseed(L);
    lp_request_install(L);
    lp_run_install(L);
    lua_gc(L, LUA_GCINC, PAUSE, 0, 0);
    lua_gc(L, LUA_GCCOLLECT);
    return LP_VM_STACK;
}

/* The board shows the sum over all VMs of a child. */
static void report(lp_vm *vm, apr_size_t used)
{
    if (vm->world->shown) {
        __atomic_add_fetch(vm->world->shown, used - vm->reported, __ATOMIC_RELAXED);
        vm->reported = used;
    }
}

/* All of a VM but Lua's part; NULL: no memory. */
static lp_vm *make_frame(const lp_vm_world *world)
{
    void *block;
    lp_vm *vm;

    if (posix_memalign(&block, LINE_BYTES, sizeof *vm) != 0) {
        return NULL;
    }
    vm = memset(block, 0, sizeof *vm);
    vm->world = world;
    if (ARENA_BYTES && !arena_make(&vm->memory, ARENA_BYTES)) {
        free(vm);
        return NULL;
    }
    return vm;
}

static void free_frame(lp_vm *vm)
{
    arena_close(&vm->memory);
    free(vm);
}

/* No memory limit yet: that comes with each use, from its configuration. */
lp_vm *lp_vm_make(const lp_vm_world *world)
{
    lp_vm *vm = make_frame(world);
    lua_State *L = vm ? lua_newstate(allocate, vm) : NULL;

    if (!L) {
        if (vm) {
            free_frame(vm);
        }
        ap_log_error(APLOG_MARK, APLOG_ERR, APR_ENOMEM, world->server, "LP020: no memory for a VM");
        return NULL;
    }
    vm->L = vm->running = L;
    *(lp_vm **)lua_getextraspace(L) = vm; /* coroutines get a copy */
    lua_atpanic(L, on_panic);
    lua_setwarnf(L, on_warning, vm);
    lua_pushcfunction(L, furnish);
    if (lua_pcall(L, 0, LP_VM_STACK, 0) != LUA_OK ||
        watchdog_add(world->dog, &vm->watch, lp_limit_expire, vm) != APR_SUCCESS) {
        ap_log_error(APLOG_MARK, APLOG_ERR, 0, world->server, "LP020: could not make a VM: %s",
                     lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "no watchdog");
        lp_vm_unmake(vm);
        return NULL;
    }
    vm->swept = vm->bare = vm->used;
    report(vm, vm->used);
    return vm;
}

/* What the VM's finalizers close must not wait for a program that a script started and forgot. */
static void let_programs_go(lua_State *L)
{
    lua_pushcfunction(L, lp_files_let_go);
    lua_pcall(L, 0, 0, 0); /* lack of memory at worst: then some are waited for */
    lua_settop(L, LP_VM_STACK);
}

/* Scripts' finalizers may run: they are given a second. */
static void with_limit(lp_vm *vm, void (*work)(lua_State *L))
{
    if (vm->watch && vm->marks & LP_MARK_DROP) {
        lp_limit_enter(vm, APR_USEC_PER_SEC);
        work(vm->L);
        lp_limit_leave(vm);
    } else {
        work(vm->L);
    }
}

void lp_vm_unmake(lp_vm *vm)
{
    if (vm->limit) {
        vm->limit += CLOSE_BYTES;
    }
    if (vm->marks & LP_MARK_FILES) {
        let_programs_go(vm->L);
    }
    with_limit(vm, lua_close);
    if (vm->watch) {
        watchdog_remove(vm->watch);
    }
    report(vm, 0);
    lp_script_release_all(vm);
    lp_vm_forget_paths(vm);
    free_frame(vm);
}

/* free() takes NULL. */
void lp_vm_forget_paths(lp_vm *vm)
{
    free(vm->path_dir);
    free(vm->path_added);
    free(vm->cpath_added);
    vm->path_dir = vm->path_added = vm->cpath_added = NULL;
    vm->paths_for = 0;
}

/* As much garbage as there are live objects keeps the cost of marking those in proportion. */
HOT_PATH int lp_vm_wants_sweep(const lp_vm *vm)
{
    return vm->used > vm->swept + (vm->swept > SWEEP_BYTES ? vm->swept : SWEEP_BYTES);
}

static void collect(lua_State *L)
{
    lua_gc(L, LUA_GCCOLLECT);
}

void lp_vm_sweep(lp_vm *vm)
{
    if (!vm->begun) {
        lp_run_forget(vm);
    }
    with_limit(vm, collect);
    vm->swept = vm->used;
    if (vm->used > vm->reported + REPORT_STEP || vm->used + REPORT_STEP < vm->reported) {
        report(vm, vm->used);
    }
}

HOT_PATH int lp_vm_needs_sweep(const lp_vm *vm)
{
    apr_size_t most = NEEDS_BYTES;

    if (vm->limit && (vm->limit - vm->kept) / 4 < most) {
        most = (vm->limit - vm->kept) / 4;
    }
    return vm->used > vm->swept + most;
}

HOT_PATH int lp_vm_is_bloated(const lp_vm *vm)
{
    return vm->used > BLOAT_BYTES && (!vm->limit || vm->used > (vm->limit - vm->kept) / 2);
}
