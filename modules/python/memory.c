/* SPDX-License-Identifier: Apache-2.0
 * PythonMemoryLimit: wrappers around Python's raw allocator and its arena allocator.
 *
 * Two of Python's allocation domains end in malloc: "raw", which also gets every object that is
 * too large for a pool, and the arenas, from which small objects are cut. A free-threaded build
 * has its own allocator for objects; there only the raw domain is counted. The counter is one
 * relaxed atomic: arenas and large objects are rare, so threads seldom meet on it. */
#include "modules/python/memory.h"

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdlib.h>

#if defined(__APPLE__)
#include <malloc/malloc.h>
#define block_size(p) malloc_size(p)
#elif defined(__FreeBSD__)
#include <malloc_np.h>
#define block_size(p) malloc_usable_size(p)
#else
#include <malloc.h>

#include "modules/common/hot.h"
#define block_size(p) malloc_usable_size(p)
#endif

#define RESERVE          (4 << 20) /* a few arenas */
#define DESCRIBE_RESERVE (16 << 20)

static apr_int64_t used, most;
static PyMemAllocatorEx next_raw;
static PyObjectArenaAllocator next_arena;
static __thread int exempt;
static __thread int describes;
static __thread int refused; /* something, since pp_memory_begin */

HOT_PATH apr_int64_t pp_memory_used(void)
{
    return __atomic_load_n(&used, __ATOMIC_RELAXED);
}

int pp_memory_has_room(int made)
{
    apr_int64_t now = pp_memory_used();

    return !most || now + now / made <= most / 2;
}

void pp_memory_exempt(int on)
{
    exempt += on ? 1 : -1;
}

void pp_memory_describe(int on)
{
    describes = on;
}

HOT_PATH void pp_memory_begin(void)
{
    refused = 0;
}

/* What malloc really gave is counted, since that is known again when it is freed. */
static void count(apr_int64_t bytes)
{
    __atomic_fetch_add(&used, bytes, __ATOMIC_RELAXED);
}

/* After its first refusal a call may have a little more, so that the exception gets its traceback
 * and what handles it can run. */
static int fits(size_t bytes)
{
    apr_int64_t over;

    if (!most || exempt)
        return 1;
    if (bytes > (size_t)most)
        return 0;
    over = pp_memory_used() + (apr_int64_t)bytes - most;
    return over <= 0 || (describes && over <= DESCRIBE_RESERVE) || (refused && over <= RESERVE);
}

/* What Python turns into MemoryError. */
static void *refuse(void)
{
    refused = 1;
    return NULL;
}

static void *raw_malloc(void *context, size_t bytes)
{
    void *block;

    (void)context;
    if (!fits(bytes))
        return refuse();
    block = next_raw.malloc(next_raw.ctx, bytes);
    if (block)
        count((apr_int64_t)block_size(block));
    return block;
}

static void *raw_calloc(void *context, size_t number, size_t size)
{
    void *block;

    (void)context;
    if ((size && number > SIZE_MAX / size) || !fits(number * size))
        return refuse();
    block = next_raw.calloc(next_raw.ctx, number, size);
    if (block)
        count((apr_int64_t)block_size(block));
    return block;
}

/* Only growth is refused: shrinking a block must never fail. */
static void *raw_realloc(void *context, void *old, size_t bytes)
{
    size_t before = old ? block_size(old) : 0;
    void *block;

    (void)context;
    if (bytes > before && !fits(bytes - before))
        return refuse();
    block = next_raw.realloc(next_raw.ctx, old, bytes);
    if (block)
        count((apr_int64_t)block_size(block) - (apr_int64_t)before);
    return block;
}

static void raw_free(void *context, void *block)
{
    (void)context;
    if (block)
        count(-(apr_int64_t)block_size(block));
    next_raw.free(next_raw.ctx, block);
}

static void *arena_alloc(void *context, size_t bytes)
{
    void *arena;

    (void)context;
    if (!fits(bytes))
        return NULL; /* not final: Python asks raw_malloc for the one object then */
    arena = next_arena.alloc(next_arena.ctx, bytes);
    if (arena)
        count((apr_int64_t)bytes);
    return arena;
}

static void arena_free(void *context, void *arena, size_t bytes)
{
    (void)context;
    count(-(apr_int64_t)bytes);
    next_arena.free(next_arena.ctx, arena, bytes);
}

void pp_memory_start(apr_int64_t limit)
{
    PyMemAllocatorEx raw = {NULL, raw_malloc, raw_calloc, raw_realloc, raw_free};
    PyObjectArenaAllocator arena = {NULL, arena_alloc, arena_free};

    /* Blocks made before this are counted down when they are freed: some kilobytes, to our favour.
     */
    most = limit;
    PyMem_GetAllocator(PYMEM_DOMAIN_RAW, &next_raw);
    PyObject_GetArenaAllocator(&next_arena);
    PyMem_SetAllocator(PYMEM_DOMAIN_RAW, &raw);
    PyObject_SetArenaAllocator(&arena);
}
