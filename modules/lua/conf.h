/* SPDX-License-Identifier: Apache-2.0
 * The directives: what an administrator may set, where, and how sections merge.
 *
 * Everything about a directive is in conf.[ch]; the rest of the module only reads these structs. */
#ifndef INTERPOOL_LUA_CONF_H
#define INTERPOOL_LUA_CONF_H

#include <httpd.h>
#include <http_config.h>

extern module AP_MODULE_DECLARE_DATA luapool_module;

/* How long the state of a VM lives (LuaScope), the default first. */
typedef enum {
    LP_SCOPE_ONCE,    /* one call of one function */
    LP_SCOPE_REQUEST, /* all calls of one file in one request */
    LP_SCOPE_CONN,    /* ... on one connection */
    LP_SCOPE_THREAD,  /* ... by one thread of the server */
    LP_SCOPE_SERVER   /* ... by whoever gets one of the file's VMs */
} lp_scope;

typedef enum {
    LP_INHERIT_PARENT_FIRST,
    LP_INHERIT_PARENT_LAST,
    LP_INHERIT_NONE
} lp_inherit;

typedef enum {
    LP_MODE_POOL,  /* idle VMs are kept */
    LP_MODE_FRESH, /* each use makes a VM and closes it: for measurements */
    LP_MODE_LOCK   /* one VM in a child, behind a lock: for measurements */
} lp_mode;

/* Per directory (and location, file, virtual host). CONF_UNSET until merged. */
typedef struct lp_conf {
    int scope;      /* lp_scope */
    int server_min; /* LuaScope server MIN MAX: VMs kept and most VMs of one file */
    int server_max;
    int freshness;            /* script_freshness */
    int inherit;              /* lp_inherit */
    const char *root;         /* LuaRoot; NULL: none */
    const char *package_path; /* the LuaPackagePath templates joined with ';', or NULL */
    const char *package_cpath;
    apr_int64_t memory_limit; /* bytes a VM may hold, 0: none */
    apr_int64_t time_limit;   /* microseconds a call may last, 0: none */
    apr_int64_t body_limit;   /* bytes of request body a script may read, 0: none */
    int error_details;
    int allow_bytecode;
} lp_conf;

/* Of the whole server: only the main server's values count. */
typedef struct lp_server_conf {
    int mode;                 /* lp_mode */
    int min;                  /* VMs made in advance and kept */
    int max_idle;             /* 0: as many as a child has threads */
    int max;                  /* 0: as many as a child has threads */
    int max_uses;             /* 0: no bound */
    apr_int64_t idle_timeout; /* microseconds */
    apr_int64_t wait_timeout;
} lp_server_conf;

extern const command_rec lp_directives[];

void *lp_conf_make(apr_pool_t *p, char *directory);
void *lp_conf_merge(apr_pool_t *p, void *base, void *add);
void *lp_server_conf_make(apr_pool_t *p, server_rec *s);
void *lp_server_conf_merge(apr_pool_t *p, void *base, void *add);

/* What holds where nobody set a thing: PICK(conf, &lp_defaults, field). */
extern const lp_conf lp_defaults;

/* The main server's values with defaults in place; `threads` are those of a child. */
lp_server_conf lp_server_conf_of(server_rec *s, int threads);

/* NULL, or why these values contradict each other. */
const char *lp_server_conf_check(const lp_server_conf *conf);

#endif
