/* SPDX-License-Identifier: Apache-2.0
 * Small blocks. See arena.h.
 *
 * Where a block came from its address tells, so its size only says to which list it goes back. */
#include "modules/common/arena.h"
#include "modules/common/hot.h"
#include <stdlib.h>
#include <string.h>

int arena_make(arena *a, size_t bytes)
{
    memset(a, 0, sizeof *a);
    a->start = malloc(bytes);
    a->fresh = a->start;
    a->end = a->start ? a->start + bytes : NULL;
    return a->start != NULL;
}

void arena_close(arena *a)
{
    free(a->start);
    memset(a, 0, sizeof *a);
}

static size_t rounded(size_t size)
{
    return (size + ARENA_STEP - 1) / ARENA_STEP * ARENA_STEP;
}

/* The list for blocks of this size. */
static void **list_of(arena *a, size_t size)
{
    return &a->free[(size - 1) / ARENA_STEP];
}

static int is_inside(const arena *a, const void *block)
{
    return (const char *)block >= a->start && (const char *)block < a->end;
}

/* A small block: one that was freed, or a fresh one, or malloc's. */
static void *take(arena *a, size_t size)
{
    void **list = list_of(a, size);
    void *block = *list;

    if (block) {
        memcpy(list, block, sizeof *list); /* the next of the list */
        return block;
    }
    if ((size_t)(a->end - a->fresh) < rounded(size)) {
        return malloc(size);
    }
    block = a->fresh;
    a->fresh += rounded(size);
    return block;
}

/* Moves a block of the place; when it shrinks and there is no other for it, it stays. */
COLD_PATH static void *move(arena *a, void *block, size_t old, size_t size)
{
    void *moved = size > ARENA_SMALL ? malloc(size) : take(a, size);

    if (!moved) {
        return size <= old ? block : NULL;
    }
    memcpy(moved, block, old < size ? old : size);
    arena_free(a, block, old);
    return moved;
}

HOT_PATH void *arena_resize(arena *a, void *block, size_t old, size_t size)
{
    if (!block) {
        return size > ARENA_SMALL ? malloc(size) : take(a, size);
    }
    if (!is_inside(a, block)) {
        void *moved = realloc(block, size);
        return moved || size > old ? moved : block;
    }
    return rounded(old) == rounded(size) ? block : move(a, block, old, size);
}

HOT_PATH void arena_free(arena *a, void *block, size_t old)
{
    if (is_inside(a, block)) {
        void **list = list_of(a, old);

        memcpy(block, list, sizeof *list);
        *list = block;
    } else {
        free(block);
    }
}
