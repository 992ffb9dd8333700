/* SPDX-License-Identifier: Apache-2.0
 * The bytes of script files, kept by path, with a generation number that changes when a file does.
 *
 * It decides whether a file is the same as before. It knows nothing of compiling: whoever compiles
 * keeps the result beside the generation it came from. Thread-safe; a child has one cache. It holds
 * the scripts that were asked for, within bounds: when another one comes, those that were not used
 * for longest leave. A script that is gone leaves when it is next asked for. */
#ifndef INTERPOOL_SCRIPT_CACHE_H
#define INTERPOOL_SCRIPT_CACHE_H

#include <apr_file_info.h>
#include <apr_pools.h>
#include <apr_time.h>

typedef struct script_cache script_cache;

typedef enum {
    SCRIPT_STAT,    /* read again when mtime, size, inode or device differ */
    SCRIPT_FOREVER, /* read once, as long as the cache has room for it */
    SCRIPT_NEVER    /* read at every use */
} script_freshness;

/* One version of a file. Nothing in it changes; it lives until the last script_release. */
typedef struct script {
    const char *path;
    const char *bytes; /* may hold NULs; a NUL that is not counted follows */
    apr_size_t length;
    apr_uint64_t generation; /* one number per version of a file in this process, never 0 */
    apr_time_t mtime;
    apr_off_t size;
    apr_ino_t inode;
    apr_dev_t device;
} script;

/* The largest file that is taken for a script; a larger one is APR_ENOSPC. */
#define SCRIPT_MAX_BYTES (64 * 1024 * 1024)

/* The bounds: a site's scripts fit many times over. They are there because a path has many names
 * ("a.lua", "./a.lua"), which scripts may choose. What somebody else holds is not counted. */
#define SCRIPT_CACHE_FILES 4096
#define SCRIPT_CACHE_BYTES (2 * (apr_size_t)SCRIPT_MAX_BYTES)

/* The cache lives as long as `parent`; scripts still held then stay valid until released. What the
 * cache itself holds is not freed with `parent` (a child that ends on a signal may be inside
 * malloc): script_cache_clear does that, for a process that goes on. */
apr_status_t script_cache_make(script_cache **cache, apr_pool_t *parent);
void script_cache_clear(script_cache *cache);

/* Finds or reads the script at `path` (absolute). The caller must script_release it.
 *
 * `finfo`: what the server already knows about the file, such as &r->finfo (it needs
 * APR_FINFO_MTIME, SIZE, INODE and DEV); NULL: the file is asked, at most once a second by `now`
 * (wall clock). When the cached version is fresh, this takes one short lock, and makes no system
 * call and no allocation. Files are read without the lock. Two edits within the file system's time
 * stamp (4 ms on ext4) that leave the size alone are taken for one. Errors: what opening or reading
 * said; APR_EINVAL for what is not a regular file; APR_ENOSPC. */
apr_status_t script_cache_get(script_cache *cache, const char *path, const apr_finfo_t *finfo,
                              script_freshness freshness, apr_time_t now, const script **found);

/* Whether `finfo` describes the very version `s`: lets a holder skip the cache (no lock at all). */
int script_matches(const script *s, const apr_finfo_t *finfo);

/* One more holder; one holder less. Both are atomic and take no lock. */
const script *script_hold(const script *s);
void script_release(const script *s);

#endif
