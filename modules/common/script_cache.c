/* SPDX-License-Identifier: Apache-2.0
 * The bytes of script files: a hash by path under one lock, files read without it.
 *
 * A version is one block of malloc, so that it can outlive the cache and the pool. */
#include "modules/common/script_cache.h"
#include "modules/common/hot.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <apr_file_io.h>
#include <apr_hash.h>

#define IDENTITY       (APR_FINFO_MTIME | APR_FINFO_SIZE | APR_FINFO_INODE | APR_FINFO_DEV)
#define CHECK_INTERVAL APR_USEC_PER_SEC

/* A script as the cache sees it; `s` comes first, so that one pointer is both. */
typedef struct version {
    script s;
    unsigned holders;   /* atomic; the cache is one while it is in the hash */
    apr_time_t checked; /* when the file was last asked; guarded by the cache's lock */
    apr_time_t used;    /* when it was last asked for; guarded by the cache's lock */
    char text[];        /* path, NUL, bytes, NUL */
} version;

struct script_cache {
    pthread_mutex_t lock; /* guards all below, and each version's `checked` and `used` */
    apr_hash_t *versions; /* path -> version */
    apr_size_t bytes;     /* of all versions in the hash */
    apr_uint64_t generations;
};

apr_status_t script_cache_make(script_cache **made, apr_pool_t *parent)
{
    script_cache *cache = apr_pcalloc(parent, sizeof(*cache));
    int rv = pthread_mutex_init(&cache->lock, NULL);

    if (rv)
        return rv;
    cache->versions = apr_hash_make(parent);
    *made = cache;
    return APR_SUCCESS;
}

HOT_PATH int script_matches(const script *s, const apr_finfo_t *finfo)
{
    return s->mtime == finfo->mtime && s->size == finfo->size && s->inode == finfo->inode &&
           s->device == finfo->device;
}

const script *script_hold(const script *s)
{
    __atomic_add_fetch(&((version *)s)->holders, 1, __ATOMIC_RELAXED);
    return s;
}

void script_release(const script *s)
{
    if (s && __atomic_sub_fetch(&((version *)s)->holders, 1, __ATOMIC_ACQ_REL) == 0)
        free((version *)s);
}

/* With the lock held. */
static int is_fresh(version *v, const apr_finfo_t *finfo, script_freshness freshness,
                    apr_time_t now)
{
    if (freshness != SCRIPT_STAT)
        return freshness == SCRIPT_FOREVER;
    if (finfo)
        return script_matches(&v->s, finfo);
    if (now >= v->checked && now - v->checked < CHECK_INTERVAL)
        return 1;
    v->checked = now; /* this caller goes and looks; the others use what there is */
    return 0;
}

/* A holder's reference to the cached version that `finfo` describes, or NULL. */
static version *find_same(script_cache *cache, const char *path, const apr_finfo_t *finfo,
                          apr_time_t now)
{
    version *v;

    pthread_mutex_lock(&cache->lock);
    v = apr_hash_get(cache->versions, path, APR_HASH_KEY_STRING);
    if (v && script_matches(&v->s, finfo)) {
        v->checked = v->used = now;
        script_hold(&v->s);
    } else {
        v = NULL;
    }
    pthread_mutex_unlock(&cache->lock);
    return v;
}

static apr_size_t size_of(const version *v)
{
    return sizeof(*v) + strlen(v->s.path) + 1 + (apr_size_t)v->s.size + 1;
}

/* With the lock held. The hash keeps the key it first saw, and the key dies with its version: so
 * the old entry goes before a new one comes. Returns the old version, for the caller to release. */
static version *replace(script_cache *cache, const char *path, version *with)
{
    version *old = apr_hash_get(cache->versions, path, APR_HASH_KEY_STRING);

    if (old) {
        apr_hash_set(cache->versions, path, APR_HASH_KEY_STRING, NULL);
        cache->bytes -= size_of(old);
    }
    if (with) {
        apr_hash_set(cache->versions, with->s.path, APR_HASH_KEY_STRING, with);
        cache->bytes += size_of(with);
    }
    return old;
}

/* With the lock held, which a cache that is full pays with a look at each entry. */
static version *unused_for_longest(script_cache *cache)
{
    version *oldest = NULL;
    apr_hash_index_t *i;

    for (i = apr_hash_first(NULL, cache->versions); i; i = apr_hash_next(i)) {
        version *v;

        apr_hash_this(i, NULL, NULL, (void **)&v);
        if (!oldest || v->used < oldest->used)
            oldest = v;
    }
    return oldest;
}

/* With the lock held: makes room for one more version. */
static void make_room(script_cache *cache, const version *v)
{
    while (apr_hash_count(cache->versions) &&
           (apr_hash_count(cache->versions) >= SCRIPT_CACHE_FILES ||
            cache->bytes + size_of(v) > SCRIPT_CACHE_BYTES))
        script_release(&replace(cache, unused_for_longest(cache)->s.path, NULL)->s);
}

static void forget(script_cache *cache, const char *path)
{
    version *old;

    pthread_mutex_lock(&cache->lock);
    old = replace(cache, path, NULL);
    pthread_mutex_unlock(&cache->lock);
    if (old)
        script_release(&old->s);
}

/* Gives `v` its number and puts it into the cache, unless another thread was faster: then `v` is
 * freed and the other's is used. Returns the version to use, held for the caller. */
static version *enter(script_cache *cache, version *v, const apr_finfo_t *finfo,
                      script_freshness freshness)
{
    version *old = NULL;

    pthread_mutex_lock(&cache->lock);
    v->s.generation = ++cache->generations;
    if (freshness != SCRIPT_NEVER) {
        version *there = apr_hash_get(cache->versions, v->s.path, APR_HASH_KEY_STRING);

        if (there && (freshness == SCRIPT_FOREVER || script_matches(&there->s, finfo))) {
            old = v;
            v = there;
        } else {
            old = replace(cache, v->s.path, NULL);
            make_room(cache, v);
            replace(cache, v->s.path, v);
        }
        script_hold(&v->s);
    }
    pthread_mutex_unlock(&cache->lock);
    if (old)
        script_release(&old->s);
    return v;
}

/* Reads an open file, whose `finfo` was taken before: when it changes meanwhile, the next look at
 * it finds another time stamp and reads it again. */
static apr_status_t read_version(apr_file_t *file, const char *path, const apr_finfo_t *finfo,
                                 apr_time_t now, version **read)
{
    apr_size_t path_size = strlen(path) + 1;
    version *v = malloc(sizeof(*v) + path_size + finfo->size + 1);
    char *bytes;
    apr_status_t rv;

    if (!v)
        return APR_ENOMEM;
    memcpy(v->text, path, path_size);
    bytes = v->text + path_size;
    v->s = (script){.path = v->text,
                    .bytes = bytes,
                    .mtime = finfo->mtime,
                    .size = finfo->size,
                    .inode = finfo->inode,
                    .device = finfo->device};
    v->holders = 1;
    v->checked = v->used = now;
    rv = apr_file_read_full(file, bytes, finfo->size, &v->s.length);
    if (rv != APR_SUCCESS && !APR_STATUS_IS_EOF(rv)) {
        free(v);
        return rv;
    }
    bytes[v->s.length] = '\0';
    *read = v;
    return APR_SUCCESS;
}

/* Opening does not wait for the other end of a named pipe, and only a regular file is read. */
static apr_status_t open_script(const char *path, apr_file_t **file, apr_finfo_t *finfo,
                                apr_pool_t *p)
{
    apr_status_t rv =
        apr_file_open(file, path, APR_FOPEN_READ | APR_FOPEN_BINARY | APR_FOPEN_NONBLOCK,
                      APR_FPROT_OS_DEFAULT, p);

    if (rv == APR_SUCCESS)
        rv = apr_file_info_get(finfo, IDENTITY | APR_FINFO_TYPE, *file);
    if (rv != APR_SUCCESS)
        return rv;
    if (finfo->filetype != APR_REG)
        return APR_EINVAL;
    return finfo->size > SCRIPT_MAX_BYTES ? APR_ENOSPC : APR_SUCCESS;
}

static apr_status_t load(script_cache *cache, const char *path, script_freshness freshness,
                         apr_time_t now, const script **found)
{
    apr_pool_t *p;
    apr_file_t *file;
    apr_finfo_t finfo;
    version *v = NULL;
    apr_status_t rv = apr_pool_create(&p, NULL);

    if (rv != APR_SUCCESS)
        return rv;
    rv = open_script(path, &file, &finfo, p);
    if (rv == APR_SUCCESS && freshness == SCRIPT_STAT)
        v = find_same(cache, path, &finfo, now);
    if (rv == APR_SUCCESS && !v) {
        rv = read_version(file, path, &finfo, now, &v);
        if (rv == APR_SUCCESS)
            v = enter(cache, v, &finfo, freshness);
    }
    apr_pool_destroy(p);
    if (rv == APR_SUCCESS)
        *found = &v->s;
    else
        forget(cache, path);
    return rv;
}

apr_status_t script_cache_get(script_cache *cache, const char *path, const apr_finfo_t *finfo,
                              script_freshness freshness, apr_time_t now, const script **found)
{
    version *v;
    int fresh;

    pthread_mutex_lock(&cache->lock);
    v = apr_hash_get(cache->versions, path, APR_HASH_KEY_STRING);
    fresh = v && is_fresh(v, finfo, freshness, now);
    if (fresh) {
        v->used = now;
        script_hold(&v->s);
    }
    pthread_mutex_unlock(&cache->lock);
    if (!fresh)
        return load(cache, path, freshness, now, found);
    *found = &v->s;
    return APR_SUCCESS;
}

void script_cache_clear(script_cache *cache)
{
    apr_hash_index_t *i;

    pthread_mutex_lock(&cache->lock);
    for (i = apr_hash_first(NULL, cache->versions); i; i = apr_hash_next(i)) {
        version *v;

        apr_hash_this(i, NULL, NULL, (void **)&v);
        script_release(&replace(cache, v->s.path, NULL)->s);
    }
    pthread_mutex_unlock(&cache->lock);
}
