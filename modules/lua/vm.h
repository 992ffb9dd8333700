/* SPDX-License-Identifier: Apache-2.0
 * One Lua VM: making it, closing it, counting its memory. It knows nothing of requests.
 *
 * A VM is used by one thread at a time. What C code needs to know of it lies in struct lp_vm, found
 * from any of its threads (coroutines) in constant time; what Lua values it needs are upvalues of
 * the module's C functions, or lie in the slots of the registry named here. */
#ifndef INTERPOOL_LUA_VM_H
#define INTERPOOL_LUA_VM_H

#include "modules/common/hot.h"
#include "modules/common/idle_pool.h"
#include "modules/common/script_cache.h"
#include "modules/common/watchdog.h"
#include "modules/common/arena.h"
#include "modules/lua/conf.h"
#include <lua.h>
#include <lauxlib.h>
#include <lualib.h>
#include <pthread.h>
#include <signal.h>

/* What a use did that the next one would see. Set by the functions in isolate.c and the libraries
 * that can do it; lp_isolate_repair() undoes it, or says that the VM must go. */
typedef enum {
    LP_MARK_FACADES = 1 << 0,   /* wrote to a library's table (vm->dirty says which) */
    LP_MARK_STRINGS = 1 << 1,   /* got hold of the metatable of strings */
    LP_MARK_FILES = 1 << 2,     /* opened a file, or changed a default file */
    LP_MARK_RANDOM = 1 << 3,    /* set math.random's seed */
    LP_MARK_COLLECTOR = 1 << 4, /* stopped or tuned the garbage collector */
    LP_MARK_DROP = 1 << 5       /* something that can't be undone, or not cheaply */
} lp_mark;

/* Modules that ran in the present use; one that runs twice is compiled anew the second time. */
#define LP_RAN_MAX 32

/* Scripts that a VM finds again without asking the script cache. */
#define LP_RECENT 16

/* The next use may have the table of globals when this one put so few keys there, and only through
 * its metatable; any larger number means that it may not. */
#define LP_WRITTEN_MOST 16

struct lp_request;
struct lp_call;

/* What all VMs of a child have in common. */
typedef struct lp_vm_world {
    script_cache *scripts;
    watchdog *dog;
    apr_uint64_t *shown; /* the sum of their bytes, in shared memory; or NULL */
    server_rec *server;  /* for messages */
} lp_vm_world;

/* Aligned to a cache line. What each use touches comes first. */
typedef struct lp_vm {
    idle_item item; /* first: idle_pool's */
    lua_State *L;   /* the main thread */
    const lp_vm_world *world;
    struct lp_call *call;       /* between run.c and its entry function */
    struct lp_call *called;     /* the call in progress, or NULL */
    struct lp_request *request; /* the userdata that scripts see as r */

    /* the use in progress */
    const lp_conf *conf;
    apr_time_t now;         /* when its request came in */
    apr_uint64_t chunk;     /* generation of the script whose chunk ran in it */
    apr_uint64_t last;      /* generation of the chunk that the entry function keeps, or 0 */
    apr_uint64_t paths_for; /* generation of the script that package.path was made for last */
    char *path_added;       /* ... with LuaPackagePath and LuaPackageCPath ... */
    char *cpath_added;      /* ... as they were then; malloc'ed or NULL */
    const void *globals;    /* the address of the table of its globals */
    int begun;              /* its globals are in place */
    int keeps_state;        /* its state outlives the request: nothing of r may be reused */
    int closes_later;       /* not by who gives it up, see lp_child_retire() */
    unsigned written;       /* new globals so far, see LP_WRITTEN_MOST */
    int only_handle;        /* the first of them is `handle` */
    int ran_count;

    /* isolation */
    unsigned marks; /* lp_mark */
    unsigned dirty; /* bit n: facade n was written to */
    int foreign;    /* C libraries were opened, which may call a script's functions at any time */
    int warnings;   /* warn("@on") is in effect */

    /* memory, kept by the allocator */
    int refused;      /* the allocator said no in this call */
    apr_size_t used;  /* bytes held now */
    apr_size_t limit; /* most bytes, 0: no limit */
    apr_size_t swept; /* bytes held after the last collection */
    apr_size_t bare;  /* bytes that it held when it was new */
    apr_size_t kept;  /* bytes that earlier uses left, which `limit` has on top of LuaMemoryLimit */
    apr_size_t lent;  /* bytes that httpd keeps for the present use, see lp_request_charge() */

    /* the deadline, see limit.c */
    watch *watch;
    struct lp_thread *on;          /* the thread that runs the VM while the watch is armed ... */
    pthread_t thread;              /* ... as the watchdog knows it */
    lua_State *volatile running;   /* the coroutine that runs, L when none does */
    volatile sig_atomic_t overdue; /* the deadline has passed: every instruction raises */
    int away;                      /* httpd waits for the client, see lp_limit_away() */
    int signals;                   /* how often the watchdog tried to stop it */
    struct lp_vm *outer;           /* the VM whose script waits for this one on this thread */

    arena memory;

    apr_uint64_t ran[LP_RAN_MAX];    /* generations of the chunks that ran in the use */
    const script *recent[LP_RECENT]; /* scripts it served lately, each held; place: the inode's */
    unsigned found;                  /* what was added to the table of found modules ... */
    unsigned compiled;               /* ... and to that of chunks, since they were empty */
    const script *held;              /* a module's file that is being compiled */
    char *path_dir;      /* the folder that package.path was made for; malloc'ed or NULL */
    apr_size_t reported; /* what of `used` world->shown holds */
    char warning[256];   /* what warn() has of its message so far */
    apr_size_t warning_length;
} lp_vm;

/* What the module keeps in the registry: the address of an element of lp_keys is the key, so that
 * no library's name can meet it. Scripts can't reach the registry. */
typedef enum {
    LP_KEY_FACADES,  /* facade number -> the table that scripts see now */
    LP_KEY_CHUNKS,   /* generation -> compiled chunk */
    LP_KEY_VERSIONS, /* path -> generation of the chunk kept for it */
    LP_KEY_FOUND,    /* module name -> where it was found, see require.c */
    LP_KEY_FILES,    /* files opened in this use */
    LP_KEY_STRINGS,  /* copy of the metatable of strings */
    LP_KEY_STDIN,    /* default files, and the functions that repair */
    LP_KEY_STDOUT,
    LP_KEY_RESEED,
    LP_KEY_FINALIZED, /* table -> the userdata that is finalized in its place */
    LP_KEY_COPIES,    /* metatable of a userdata -> what scripts get in its place */
    LP_KEY_COUNT
} lp_key;
extern const char lp_keys[LP_KEY_COUNT];
#define LP_KEY(name) ((const void *)&lp_keys[LP_KEY_##name])

/* NULL when memory is short; the reason is logged. */
lp_vm *lp_vm_make(const lp_vm_world *world);
void lp_vm_unmake(lp_vm *vm);

/* The VM that `L` belongs to. */
static inline lp_vm *lp_vm_of(lua_State *L)
{
    return *(lp_vm **)lua_getextraspace(L);
}

/* What lies on the main thread's stack between uses. */
enum {
    LP_VM_ENTRY = 1, /* the entry function, see run.c */
    LP_VM_ON_ERROR,  /* its message handler */
    LP_VM_STACK = LP_VM_ON_ERROR
};

/* The next lp_require_paths() starts from nothing. */
void lp_vm_forget_paths(lp_vm *vm);

/* [-0, +0, -] Sets the collector as the VM began with it. */
void lp_vm_tune(lua_State *L);

/* Whether so much garbage may lie there that a collection is worth its time, which belongs after
 * the response; or so much that it must not wait. */
int lp_vm_wants_sweep(const lp_vm *vm);
int lp_vm_needs_sweep(const lp_vm *vm);

/* [-0, +0, -] Collects all garbage. Between uses, what the last one left is garbage. */
void lp_vm_sweep(lp_vm *vm);

/* Whether the VM holds so much that closing it is the better way to free it. */
int lp_vm_is_bloated(const lp_vm *vm);

#endif
