/* SPDX-License-Identifier: Apache-2.0
 * The memory of one interpreter: small blocks from one piece of memory, others from malloc.
 *
 * An interpreter makes and frees the same few kinds of small objects all the time. In a place of
 * their own they lie close together, and taking one is a few instructions instead of malloc's many
 * lines of code. The place never grows: what does not fit comes from malloc, which also gives
 * memory back.
 */
#ifndef INTERPOOL_ARENA_H
#define INTERPOOL_ARENA_H

#include <stddef.h>

/* Blocks up to ARENA_SMALL bytes are kept by size, in steps of ARENA_STEP. */
#define ARENA_STEP  ((size_t)16)
#define ARENA_SMALL ((size_t)256)

typedef struct arena {
    void *free[ARENA_SMALL / ARENA_STEP]; /* lists of freed blocks, one for each size */
    char *fresh;                          /* what was never handed out ... */
    char *end;                            /* ... ends here */
    char *start;
} arena;

/* All zero is an arena too: one that has no place. False: no memory. */
int arena_make(arena *a, size_t bytes);

/* Frees the place, and with it all blocks that lie there. Those of malloc must be freed before. */
void arena_close(arena *a);

/* As realloc(); `size` is not 0, `old` is what was asked for last (0 for no block). NULL: no memory
 * (never when size <= old), and the block is as it was. */
void *arena_resize(arena *a, void *block, size_t old, size_t size);

void arena_free(arena *a, void *block, size_t old);

#endif
