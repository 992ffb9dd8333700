/* SPDX-License-Identifier: Apache-2.0
 * Closing files that scripts forgot. See files.h.
 *
 * To close what io.popen opened is to wait until the program ends, and nothing interrupts that. The
 * request is over by then and its time limit too, so a thread of its own waits. */
#include "modules/lua/files.h"
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>

/* Programs that are waited for at once in a child. A script that forgets more than that waits for
 * its own. */
#define PROGRAMS_MOST 64

/* Enough for pclose(), also with a sanitizer in it. */
#define STACK_BYTES ((size_t)PTHREAD_STACK_MIN + (size_t)256 * 1024)

static int programs_left; /* atomic */

static void *close_program(void *file)
{
    pclose(file);
    __atomic_sub_fetch(&programs_left, 1, __ATOMIC_RELAXED);
    return NULL;
}

/* A child that ends unloads its modules, and a thread may still be in this one. */
static int stay_loaded(void)
{
    Dl_info module;

    return dladdr(&programs_left, &module) &&
           dlopen(module.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

/* Starts a thread that nobody joins and no signal reaches. */
static int start_closing(FILE *file)
{
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, old;
    int failed;

    if (!stay_loaded() || pthread_attr_init(&attributes)) {
        return 0;
    }
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    failed = pthread_create(&thread, &attributes, close_program, file);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attributes);
    return !failed;
}

static void leave_program(FILE *file)
{
    int left = __atomic_add_fetch(&programs_left, 1, __ATOMIC_RELAXED);

    if (left > PROGRAMS_MOST || !start_closing(file)) {
        close_program(file);
    }
}

/* In place of the function that Lua closes such a file by. */
static int close_unwaited(lua_State *L)
{
    leave_program(((luaL_Stream *)lua_touserdata(L, 1))->f);
    lua_pushboolean(L, 1);
    return 1;
}

void lp_files_install(lua_State *L)
{
    lua_getfield(L, LUA_REGISTRYINDEX, "_IO_input");
    lua_rawsetp(L, LUA_REGISTRYINDEX, LP_KEY(STDIN));
    lua_getfield(L, LUA_REGISTRYINDEX, "_IO_output");
    lua_rawsetp(L, LUA_REGISTRYINDEX, LP_KEY(STDOUT));
    lua_newtable(L); /* weak, so that it keeps no file open longer than Lua would */
    lua_createtable(L, 0, 1);
    lua_pushliteral(L, "k");
    lua_setfield(L, -2, "__mode");
    lua_setmetatable(L, -2);
    lua_rawsetp(L, LUA_REGISTRYINDEX, LP_KEY(FILES));
}

void lp_files_note(lua_State *L, int results, int programs)
{
    int last = lua_gettop(L);

    luaL_checkstack(L, 4, NULL);
    for (int i = last - results + 1; i <= last; i++) {
        if (luaL_testudata(L, i, LUA_FILEHANDLE)) {
            lua_rawgetp(L, LUA_REGISTRYINDEX, LP_KEY(FILES));
            lua_pushvalue(L, i);
            lua_pushvalue(L, i);
            lua_rawget(L, -3); /* io.input(file) returns one that may be noted */
            lua_pushboolean(L, programs || lua_toboolean(L, -1));
            lua_replace(L, -2);
            lua_rawset(L, -3);
            lua_pop(L, 1);
        }
    }
}

/* [-0, +0, m] What is noted of programs will be closed without waiting. */
int lp_files_let_go(lua_State *L)
{
    int table = lua_gettop(L) + 1;

    lua_rawgetp(L, LUA_REGISTRYINDEX, LP_KEY(FILES));
    lua_pushnil(L);
    while (lua_next(L, table)) {
        luaL_Stream *stream = luaL_testudata(L, table + 1, LUA_FILEHANDLE);

        if (lua_toboolean(L, -1) && stream && stream->closef) {
            stream->closef = close_unwaited;
        }
        lua_pop(L, 1);
    }
    lua_settop(L, table - 1);
    return 0;
}

/* [-0, +0, e] Closes the file at `index` if it is open, as its finalizer would. */
static void close_file(lua_State *L, int index)
{
    luaL_Stream *stream = luaL_testudata(L, index, LUA_FILEHANDLE);
    lua_CFunction closef;

    if (!stream || !stream->closef) {
        return;
    }
    closef = stream->closef;
    stream->closef = NULL;
    lua_pushcfunction(L, closef);
    lua_pushvalue(L, index);
    lua_call(L, 1, 0);
}

/* [-0, +0, e] Makes `field` of the registry the standard file kept at `key` again. */
static void repair_default_file(lua_State *L, const char *field, const void *key)
{
    lua_getfield(L, LUA_REGISTRYINDEX, field);
    lua_rawgetp(L, LUA_REGISTRYINDEX, key);
    if (!lua_rawequal(L, -1, -2)) {
        lua_setfield(L, LUA_REGISTRYINDEX, field);
        close_file(L, lua_gettop(L));
        lua_pop(L, 1);
        return;
    }
    lua_pop(L, 2);
}

void lp_files_repair(lua_State *L)
{
    int top = lua_gettop(L);

    lp_files_let_go(L);
    lua_rawgetp(L, LUA_REGISTRYINDEX, LP_KEY(FILES));
    lua_pushnil(L);
    while (lua_next(L, top + 1)) {
        lua_pop(L, 1);
        close_file(L, top + 2);
        lua_pushvalue(L, top + 2);
        lua_pushnil(L);
        lua_rawset(L, top + 1);
    }
    lua_settop(L, top);
    repair_default_file(L, "_IO_input", LP_KEY(STDIN));
    repair_default_file(L, "_IO_output", LP_KEY(STDOUT));
}
