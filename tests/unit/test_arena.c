/* SPDX-License-Identifier: Apache-2.0
 * arena: small blocks lie together, keep their bytes, and are used again. */
#include "tests/unit/unit.h"
#include "modules/common/arena.h"

#include <stdlib.h>
#include <string.h>

#define BYTES ((size_t)8192)

static int is_inside(const arena *a, const void *block)
{
    return (const char *)block >= a->start && (const char *)block < a->start + BYTES;
}

static void fill(void *block, size_t size, size_t seed)
{
    for (size_t i = 0; i < size; i++)
        ((unsigned char *)block)[i] = (unsigned char)(seed + i);
}

static void assert_filled(const void *block, size_t size, size_t seed)
{
    for (size_t i = 0; i < size; i++)
        assert_int_equal(((const unsigned char *)block)[i], (unsigned char)(seed + i));
}

static void small_blocks_lie_inside_and_large_ones_do_not(void **state)
{
    arena a;
    void *small, *large;

    (void)state;
    assert_true(arena_make(&a, BYTES));
    small = arena_resize(&a, NULL, 0, ARENA_SMALL);
    large = arena_resize(&a, NULL, 0, ARENA_SMALL + 1);
    assert_true(is_inside(&a, small));
    assert_false(is_inside(&a, large));
    arena_free(&a, large, ARENA_SMALL + 1);
    arena_free(&a, small, ARENA_SMALL);
    arena_close(&a);
}

static void a_freed_block_is_the_next_of_its_size(void **state)
{
    arena a;
    void *first, *second;

    (void)state;
    assert_true(arena_make(&a, BYTES));
    first = arena_resize(&a, NULL, 0, 33);
    second = arena_resize(&a, NULL, 0, 48);
    arena_free(&a, first, 33);
    arena_free(&a, second, 48);
    assert_ptr_not_equal(arena_resize(&a, NULL, 0, 49), second);
    assert_ptr_equal(arena_resize(&a, NULL, 0, 40), second);
    assert_ptr_equal(arena_resize(&a, NULL, 0, 48), first);
    arena_close(&a);
}

static void blocks_are_aligned_and_do_not_overlap(void **state)
{
    void *blocks[ARENA_SMALL];
    arena a;

    (void)state;
    assert_true(arena_make(&a, BYTES)); /* too small for all: the rest is malloc's */
    for (size_t i = 0; i < ARENA_SMALL; i++) {
        blocks[i] = arena_resize(&a, NULL, 0, i + 1);
        assert_int_equal((size_t)blocks[i] % ARENA_STEP, 0);
        fill(blocks[i], i + 1, i);
    }
    assert_false(is_inside(&a, blocks[ARENA_SMALL - 1]));
    for (size_t i = 0; i < ARENA_SMALL; i++) {
        assert_filled(blocks[i], i + 1, i);
        arena_free(&a, blocks[i], i + 1);
    }
    arena_close(&a);
}

/* Every pair of sizes, growing and shrinking, inside and outside. */
static void resizing_keeps_the_bytes(void **state)
{
    static const size_t sizes[] = {1, 15, 16, 17, 100, 255, 256, 257, 300, 5000};
    const size_t count = sizeof sizes / sizeof *sizes;
    arena a;

    (void)state;
    assert_true(arena_make(&a, BYTES));
    for (size_t i = 0; i < count * count; i++) {
        size_t from = sizes[i / count], to = sizes[i % count];
        void *block = arena_resize(&a, NULL, 0, from);
        fill(block, from, i);
        block = arena_resize(&a, block, from, to);
        assert_filled(block, from < to ? from : to, i);
        fill(block, to, i);
        arena_free(&a, block, to);
    }
    arena_close(&a);
}

/* Random work beside a copy of what each block has to hold. */
static void many_blocks_keep_their_bytes(void **state)
{
    struct {
        void *block;
        size_t size;
    } held[200] = {{NULL, 0}};
    const size_t count = sizeof held / sizeof *held;
    unsigned seed = 1;
    arena a;

    (void)state;
    assert_true(arena_make(&a, BYTES));
    for (int step = 0; step < 100000; step++) {
        size_t i = (seed = seed * 1103515245u + 12345u) / 65536u % count;
        size_t size = (seed = seed * 1103515245u + 12345u) / 65536u % 400;

        if (held[i].block)
            assert_filled(held[i].block, held[i].size, i);
        if (size) {
            held[i].block = arena_resize(&a, held[i].block, held[i].size, size);
            fill(held[i].block, size, i);
        } else if (held[i].block) {
            arena_free(&a, held[i].block, held[i].size);
            held[i].block = NULL;
        }
        held[i].size = size;
    }
    for (size_t i = 0; i < count; i++)
        if (held[i].block)
            arena_free(&a, held[i].block, held[i].size);
    arena_close(&a);
}

static void nothing_is_an_arena_too(void **state)
{
    arena a = {0};
    void *block = arena_resize(&a, NULL, 0, 16);

    (void)state;
    fill(block, 16, 1);
    block = arena_resize(&a, block, 16, 64);
    assert_filled(block, 16, 1);
    arena_free(&a, block, 64);
    arena_close(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_blocks_lie_inside_and_large_ones_do_not),
        cmocka_unit_test(a_freed_block_is_the_next_of_its_size),
        cmocka_unit_test(blocks_are_aligned_and_do_not_overlap),
        cmocka_unit_test(resizing_keeps_the_bytes),
        cmocka_unit_test(many_blocks_keep_their_bytes),
        cmocka_unit_test(nothing_is_an_arena_too),
    };

    return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
