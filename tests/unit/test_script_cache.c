/* SPDX-License-Identifier: Apache-2.0
 * script_cache: when a file is read again, what a holder keeps, what is refused. */
#include "tests/unit/unit.h"
#include "modules/common/script_cache.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <apr_file_io.h>
#include <apr_strings.h>

#define SECOND APR_USEC_PER_SEC
#define NOW    (1700000000 * SECOND)

/* A folder with one script in it, and a cache. */
typedef struct place {
    apr_pool_t *p;
    script_cache *cache;
    char *folder;
    char *path;
    int edits;
} place;

static int make_place(void **state)
{
    apr_pool_t *p;
    place *here;
    const char *temp;

    if (unit_start((void **)&p))
        return -1;
    here = apr_pcalloc(p, sizeof(*here));
    here->p = p;
    apr_temp_dir_get(&temp, p);
    here->folder = apr_pstrcat(p, temp, "/script_cache.XXXXXX", NULL);
    if (!mkdtemp(here->folder) || script_cache_make(&here->cache, p) != APR_SUCCESS)
        return -1;
    here->path = apr_pstrcat(p, here->folder, "/a.lua", NULL);
    *state = here;
    return 0;
}

static int remove_place(void **state)
{
    place *here = *state;

    script_cache_clear(here->cache);
    unlink(here->path);
    rmdir(here->folder);
    apr_pool_destroy(here->p);
    return 0;
}

static void write_bytes(const char *path, const char *bytes, apr_size_t length)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, length, f), length);
    assert_int_equal(fclose(f), 0);
}

/* Writes the script, with a time stamp that no earlier edit had. */
static void edit(place *here, const char *text)
{
    write_bytes(here->path, text, strlen(text));
    apr_file_mtime_set(here->path, NOW + ++here->edits * SECOND, here->p);
}

static apr_finfo_t finfo_of(place *here)
{
    apr_finfo_t finfo;

    assert_int_equal(apr_stat(&finfo, here->path,
                              APR_FINFO_MTIME | APR_FINFO_SIZE | APR_FINFO_INODE | APR_FINFO_DEV,
                              here->p),
                     APR_SUCCESS);
    return finfo;
}

static const script *get(place *here, const apr_finfo_t *finfo, script_freshness freshness,
                         apr_time_t now)
{
    const script *s = NULL;

    assert_int_equal(script_cache_get(here->cache, here->path, finfo, freshness, now, &s),
                     APR_SUCCESS);
    assert_non_null(s);
    return s;
}

static apr_status_t error_of(place *here, const char *path)
{
    const script *s;

    return script_cache_get(here->cache, path, NULL, SCRIPT_STAT, NOW, &s);
}

static void reads_a_script(void **state)
{
    place *here = *state;
    const script *s;

    edit(here, "return 1");
    s = get(here, NULL, SCRIPT_STAT, NOW);
    assert_string_equal(s->path, here->path);
    assert_int_equal(s->length, 8);
    assert_int_equal(s->size, 8);
    assert_string_equal(s->bytes, "return 1");
    assert_int_not_equal(s->generation, 0);
    script_release(s);
}

static void counts_bytes_and_keeps_nuls(void **state)
{
    place *here = *state;
    const script *s;

    write_bytes(here->path, "a\0b", 3);
    s = get(here, NULL, SCRIPT_STAT, NOW);
    assert_int_equal(s->length, 3);
    assert_memory_equal(s->bytes, "a\0b", 4);
    script_release(s);
}

static void takes_an_empty_file(void **state)
{
    place *here = *state;
    const script *s;

    edit(here, "");
    s = get(here, NULL, SCRIPT_STAT, NOW);
    assert_int_equal(s->length, 0);
    assert_string_equal(s->bytes, "");
    script_release(s);
}

static void asks_no_file_when_the_finfo_matches(void **state)
{
    place *here = *state;
    const script *first, *second;
    apr_finfo_t finfo;

    edit(here, "one");
    finfo = finfo_of(here);
    first = get(here, &finfo, SCRIPT_STAT, NOW);
    unlink(here->path);
    second = get(here, &finfo, SCRIPT_STAT, NOW + 1000 * SECOND);
    assert_ptr_equal(first, second);
    script_release(first);
    script_release(second);
}

static void reads_again_when_the_time_stamp_differs(void **state)
{
    place *here = *state;
    const script *first, *second;
    apr_finfo_t finfo;

    edit(here, "one");
    finfo = finfo_of(here);
    first = get(here, &finfo, SCRIPT_STAT, NOW);
    edit(here, "two");
    finfo = finfo_of(here);
    second = get(here, &finfo, SCRIPT_STAT, NOW);
    assert_string_equal(second->bytes, "two");
    assert_int_not_equal(first->generation, second->generation);
    script_release(first);
    script_release(second);
}

static void reads_again_when_the_size_differs(void **state)
{
    place *here = *state;
    const script *first, *second;
    apr_finfo_t finfo;

    edit(here, "one");
    finfo = finfo_of(here);
    first = get(here, &finfo, SCRIPT_STAT, NOW);
    edit(here, "three");
    apr_file_mtime_set(here->path, finfo.mtime, here->p);
    finfo = finfo_of(here);
    second = get(here, &finfo, SCRIPT_STAT, NOW);
    assert_string_equal(second->bytes, "three");
    script_release(first);
    script_release(second);
}

static void reads_again_when_another_file_took_the_name(void **state)
{
    place *here = *state;
    const script *first, *second;
    char *other = apr_pstrcat(here->p, here->folder, "/b.lua", NULL);
    apr_finfo_t finfo;

    edit(here, "one");
    finfo = finfo_of(here);
    first = get(here, &finfo, SCRIPT_STAT, NOW);
    write_bytes(other, "two", 3);
    apr_file_mtime_set(other, finfo.mtime, here->p);
    assert_int_equal(rename(other, here->path), 0);
    finfo = finfo_of(here);
    second = get(here, &finfo, SCRIPT_STAT, NOW);
    assert_string_equal(second->bytes, "two");
    script_release(first);
    script_release(second);
}

static void keeps_old_bytes_for_who_holds_them(void **state)
{
    place *here = *state;
    const script *first, *again, *second;

    edit(here, "one");
    first = get(here, NULL, SCRIPT_STAT, NOW);
    again = script_hold(first);
    edit(here, "two");
    second = get(here, NULL, SCRIPT_STAT, NOW + 2 * SECOND);
    script_release(first);
    assert_string_equal(again->bytes, "one");
    assert_string_equal(again->path, here->path);
    script_cache_clear(here->cache);
    assert_string_equal(again->bytes, "one");
    assert_string_equal(second->bytes, "two");
    script_release(again);
    script_release(second);
}

static void keeps_the_version_when_only_the_callers_knowledge_is_old(void **state)
{
    place *here = *state;
    const script *first, *second;
    apr_finfo_t finfo;

    edit(here, "one");
    finfo = finfo_of(here);
    finfo.mtime -= SECOND;
    first = get(here, NULL, SCRIPT_STAT, NOW);
    second = get(here, &finfo, SCRIPT_STAT, NOW);
    assert_ptr_equal(first, second);
    script_release(first);
    script_release(second);
}

static void asks_the_file_once_a_second(void **state)
{
    place *here = *state;
    const script *first, *same, *second;

    edit(here, "one");
    first = get(here, NULL, SCRIPT_STAT, NOW);
    edit(here, "two");
    same = get(here, NULL, SCRIPT_STAT, NOW + SECOND - 1);
    assert_ptr_equal(first, same);
    second = get(here, NULL, SCRIPT_STAT, NOW + SECOND);
    assert_string_equal(second->bytes, "two");
    script_release(first);
    script_release(same);
    script_release(second);
}

static void asks_the_file_when_the_clock_was_set_back(void **state)
{
    place *here = *state;
    const script *first, *second;

    edit(here, "one");
    first = get(here, NULL, SCRIPT_STAT, NOW);
    edit(here, "two");
    second = get(here, NULL, SCRIPT_STAT, NOW - 3600 * SECOND);
    assert_string_equal(second->bytes, "two");
    script_release(first);
    script_release(second);
}

static void reads_once_with_forever(void **state)
{
    place *here = *state;
    const script *first, *second;
    apr_finfo_t finfo;

    edit(here, "one");
    first = get(here, NULL, SCRIPT_FOREVER, NOW);
    edit(here, "three");
    finfo = finfo_of(here);
    second = get(here, &finfo, SCRIPT_FOREVER, NOW + 1000 * SECOND);
    assert_ptr_equal(first, second);
    script_release(first);
    script_release(second);
}

static void reads_at_every_use_with_never(void **state)
{
    place *here = *state;
    const script *first, *second;

    edit(here, "one");
    first = get(here, NULL, SCRIPT_NEVER, NOW);
    second = get(here, NULL, SCRIPT_NEVER, NOW);
    assert_ptr_not_equal(first, second);
    assert_int_not_equal(first->generation, second->generation);
    assert_string_equal(first->bytes, second->bytes);
    script_release(first);
    script_release(second);
}

static void matches_exactly_one_version(void **state)
{
    place *here = *state;
    const script *s;
    apr_finfo_t finfo;

    edit(here, "one");
    finfo = finfo_of(here);
    s = get(here, &finfo, SCRIPT_STAT, NOW);
    assert_true(script_matches(s, &finfo));
    finfo.inode++;
    assert_false(script_matches(s, &finfo));
    finfo.inode--;
    finfo.device++;
    assert_false(script_matches(s, &finfo));
    script_release(s);
}

static void forgets_a_script_that_is_gone(void **state)
{
    place *here = *state;
    const script *s;

    edit(here, "one");
    script_release(get(here, NULL, SCRIPT_STAT, NOW));
    unlink(here->path);
    assert_int_equal(
        script_cache_get(here->cache, here->path, NULL, SCRIPT_STAT, NOW + 2 * SECOND, &s),
        APR_ENOENT);
    assert_int_equal(script_cache_get(here->cache, here->path, NULL, SCRIPT_FOREVER, NOW, &s),
                     APR_ENOENT);
}

static void says_why_there_is_no_script(void **state)
{
    place *here = *state;

    assert_int_equal(error_of(here, here->path), APR_ENOENT);
    assert_int_equal(error_of(here, here->folder), APR_EINVAL);
}

static void does_not_wait_for_a_named_pipe(void **state)
{
    place *here = *state;

    assert_int_equal(mkfifo(here->path, 0600), 0);
    assert_int_equal(error_of(here, here->path), APR_EINVAL);
}

static void refuses_a_file_that_is_too_large(void **state)
{
    place *here = *state;

    edit(here, "");
    assert_int_equal(truncate(here->path, SCRIPT_MAX_BYTES + 1), 0);
    assert_int_equal(error_of(here, here->path), APR_ENOSPC);
}

#define READERS 4
#define READS   2000

typedef struct reader {
    place *here;
    int torn, failed;
} reader;

/* Each version is one letter over and over: a mixture would be a version that never was. */
static void *read_many(void *data)
{
    reader *mine = data;
    int i;

    for (i = 0; i < READS; i++) {
        const script *s;
        size_t k;

        if (script_cache_get(mine->here->cache, mine->here->path, NULL, SCRIPT_STAT,
                             NOW + 2 * i * SECOND, &s) != APR_SUCCESS) {
            mine->failed++;
            continue;
        }
        for (k = 1; k < s->length; k++)
            mine->torn += s->bytes[k] != s->bytes[0];
        script_release(s);
    }
    return NULL;
}

static void gives_each_thread_a_whole_version_while_the_file_changes(void **state)
{
    place *here = *state;
    char *other = apr_pstrcat(here->p, here->folder, "/b.lua", NULL);
    char text[512];
    pthread_t threads[READERS];
    reader readers[READERS];
    int i;

    edit(here, "a");
    for (i = 0; i < READERS; i++) {
        readers[i] = (reader){.here = here};
        assert_int_equal(pthread_create(&threads[i], NULL, read_many, &readers[i]), 0);
    }
    for (i = 0; i < 200; i++) {
        memset(text, 'a' + i % 26, sizeof(text));
        write_bytes(other, text, 1 + i % sizeof(text));
        assert_int_equal(rename(other, here->path), 0);
    }
    for (i = 0; i < READERS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(readers[i].failed, 0);
        assert_int_equal(readers[i].torn, 0);
    }
}

/* A name of the script, one for each i up to the number of entries: "/." and "/" lead nowhere. */
static apr_uint64_t generation_of_name(place *here, int i, apr_time_t now)
{
    const char *path = here->folder;
    apr_uint64_t generation;
    const script *s;
    int bit;

    for (bit = 1; bit <= SCRIPT_CACHE_FILES; bit <<= 1)
        path = apr_pstrcat(here->p, path, i & bit ? "/." : "/", NULL);
    path = apr_pstrcat(here->p, path, "/a.lua", NULL);
    assert_int_equal(script_cache_get(here->cache, path, NULL, SCRIPT_FOREVER, now, &s),
                     APR_SUCCESS);
    generation = s->generation;
    script_release(s);
    return generation;
}

static void forgets_what_was_not_used_for_longest(void **state)
{
    place *here = *state;
    apr_uint64_t used, unused;
    const script *held;
    int i;

    edit(here, "return 1");
    held = get(here, NULL, SCRIPT_FOREVER, NOW);
    used = generation_of_name(here, 0, NOW);
    unused = generation_of_name(here, 1, NOW + 1);
    for (i = 2; i < SCRIPT_CACHE_FILES; i++) {
        assert_int_equal(generation_of_name(here, 0, NOW + i), used);
        generation_of_name(here, i, NOW + i);
    }
    assert_int_equal(generation_of_name(here, 1, NOW + i), unused);
    assert_int_equal(generation_of_name(here, SCRIPT_CACHE_FILES, NOW + i + 1), unused + i - 1);
    assert_int_equal(generation_of_name(here, 0, NOW + i), used);
    assert_int_equal(generation_of_name(here, 1, NOW + i), unused);
    assert_int_equal(generation_of_name(here, 2, NOW + i + 2), unused + i); /* read again */
    assert_string_equal(held->bytes, "return 1");
    script_release(held);
}

static void keeps_within_its_bytes(void **state)
{
    place *here = *state;
    apr_uint64_t first, second;

    edit(here, "");
    assert_int_equal(truncate(here->path, SCRIPT_CACHE_BYTES / 2 - 100000), 0);
    first = generation_of_name(here, 0, NOW);
    second = generation_of_name(here, 1, NOW + 1);
    assert_int_equal(generation_of_name(here, 0, NOW + 2), first);
    assert_int_equal(generation_of_name(here, 2, NOW + 3), second + 1);
    assert_int_equal(generation_of_name(here, 0, NOW + 4), first);
    assert_int_equal(generation_of_name(here, 1, NOW + 5), second + 2);
}

#define PLACE_TEST(f) cmocka_unit_test_setup_teardown(f, make_place, remove_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLACE_TEST(reads_a_script),
        PLACE_TEST(counts_bytes_and_keeps_nuls),
        PLACE_TEST(takes_an_empty_file),
        PLACE_TEST(asks_no_file_when_the_finfo_matches),
        PLACE_TEST(reads_again_when_the_time_stamp_differs),
        PLACE_TEST(reads_again_when_the_size_differs),
        PLACE_TEST(reads_again_when_another_file_took_the_name),
        PLACE_TEST(keeps_old_bytes_for_who_holds_them),
        PLACE_TEST(keeps_the_version_when_only_the_callers_knowledge_is_old),
        PLACE_TEST(asks_the_file_once_a_second),
        PLACE_TEST(asks_the_file_when_the_clock_was_set_back),
        PLACE_TEST(reads_once_with_forever),
        PLACE_TEST(reads_at_every_use_with_never),
        PLACE_TEST(matches_exactly_one_version),
        PLACE_TEST(forgets_a_script_that_is_gone),
        PLACE_TEST(says_why_there_is_no_script),
        PLACE_TEST(does_not_wait_for_a_named_pipe),
        PLACE_TEST(refuses_a_file_that_is_too_large),
        PLACE_TEST(forgets_what_was_not_used_for_longest),
        PLACE_TEST(keeps_within_its_bytes),
        PLACE_TEST(gives_each_thread_a_whole_version_while_the_file_changes),
    };
    int failed;

    apr_initialize();
    failed = cmocka_run_group_tests_name("script_cache", tests, NULL, NULL);
    apr_terminate();
    return failed;
}
