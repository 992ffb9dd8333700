/* SPDX-License-Identifier: Apache-2.0
 * The directives: one row of a table each; setters only where the shared ones don't do.
 *
 * What mod_lua has may stand wherever mod_lua allows it, .htaccess files too. Limits may not:
 * whoever may write a .htaccess file is whom they are for. The pool belongs to the main server,
 * since a child has one for all virtual hosts. */
#include "modules/lua/conf.h"
#include "modules/common/conf_value.h"
#include "modules/common/script_cache.h"
#include <apr_strings.h>

#define MEGABYTE (1024 * 1024)

const lp_conf lp_defaults = {
    .scope = LP_SCOPE_ONCE,
    .server_min = 1,
    .server_max = 1,
    .freshness = SCRIPT_STAT,
    .inherit = LP_INHERIT_PARENT_FIRST,
    .memory_limit = 64 * MEGABYTE,
    .time_limit = APR_TIME_C(300) * APR_USEC_PER_SEC,
    .body_limit = 64 * MEGABYTE,
    .error_details = 0,
    .allow_bytecode = 0,
};

/* Everything unset, so that merging can tell what a section says from what it leaves alone. */
void *lp_conf_make(apr_pool_t *p, char *directory)
{
    lp_conf *conf = apr_pcalloc(p, sizeof *conf);
    (void)directory;
    conf->scope = conf->server_min = conf->server_max = CONF_UNSET;
    conf->freshness = conf->inherit = CONF_UNSET;
    conf->memory_limit = conf->time_limit = conf->body_limit = CONF_UNSET;
    conf->error_details = conf->allow_bytecode = CONF_UNSET;
    return conf;
}

/* Joins the search paths of two sections in the order that LuaInherit asks for. */
static const char *merge_path(apr_pool_t *p, int inherit, const char *base, const char *add)
{
    if (inherit == LP_INHERIT_NONE || !base) {
        return add;
    }
    if (!add) {
        return base;
    }
    return inherit == LP_INHERIT_PARENT_LAST ? apr_pstrcat(p, add, ";", base, NULL)
                                             : apr_pstrcat(p, base, ";", add, NULL);
}

/* httpd merges for each request where sections apply to it, so this copies one struct and joins
 * paths only where both sections have some. */
void *lp_conf_merge(apr_pool_t *p, void *base_conf, void *add_conf)
{
    const lp_conf *base = base_conf;
    const lp_conf *add = add_conf;
    lp_conf *conf = apr_pmemdup(p, add, sizeof *conf);

    /* MIN and MAX belong to the LuaScope line that they stand on. */
    if (add->scope == CONF_UNSET) {
        conf->scope = base->scope;
        conf->server_min = base->server_min;
        conf->server_max = base->server_max;
    }
    conf->freshness = PICK(add, base, freshness);
    conf->inherit = PICK(add, base, inherit);
    conf->root = add->root ? add->root : base->root;
    conf->package_path = merge_path(p, conf->inherit, base->package_path, add->package_path);
    conf->package_cpath = merge_path(p, conf->inherit, base->package_cpath, add->package_cpath);
    conf->memory_limit = PICK(add, base, memory_limit);
    conf->time_limit = PICK(add, base, time_limit);
    conf->body_limit = PICK(add, base, body_limit);
    conf->error_details = PICK(add, base, error_details);
    conf->allow_bytecode = PICK(add, base, allow_bytecode);
    return conf;
}

void *lp_server_conf_make(apr_pool_t *p, server_rec *s)
{
    lp_server_conf *conf = apr_palloc(p, sizeof *conf);
    (void)s;
    conf->mode = conf->min = conf->max_idle = conf->max = conf->max_uses = CONF_UNSET;
    conf->idle_timeout = conf->wait_timeout = CONF_UNSET;
    return conf;
}

/* A virtual host has no pool of its own. */
void *lp_server_conf_merge(apr_pool_t *p, void *base, void *add)
{
    (void)p;
    (void)add;
    return base;
}

#define OR_DEFAULT(value, otherwise) ((value) != CONF_UNSET ? (value) : (otherwise))

lp_server_conf lp_server_conf_of(server_rec *s, int threads)
{
    lp_server_conf conf =
        *(lp_server_conf *)ap_get_module_config(s->module_config, &luapool_module);

    conf.mode = OR_DEFAULT(conf.mode, LP_MODE_POOL);
    conf.min = OR_DEFAULT(conf.min, 1);
    if (conf.max == CONF_UNSET) { /* the same lines serve every MPM: make room for what was asked */
        conf.max = threads > conf.min ? threads : conf.min;
        conf.max = conf.max > conf.max_idle ? conf.max : conf.max_idle;
    }
    conf.max_idle = OR_DEFAULT(conf.max_idle, conf.max);
    conf.max_uses = OR_DEFAULT(conf.max_uses, 0);
    conf.idle_timeout = OR_DEFAULT(conf.idle_timeout, apr_time_from_sec(300));
    conf.wait_timeout = OR_DEFAULT(conf.wait_timeout, apr_time_from_sec(5));
    return conf;
}

/* Each value alone is in range already: conf_set_count saw to that. */
const char *lp_server_conf_check(const lp_server_conf *conf)
{
    if (conf->min > conf->max) {
        return "LuaPoolMin is larger than LuaPoolMax";
    }
    if (conf->max_idle > conf->max) {
        return "LuaPoolMaxIdle is larger than LuaPoolMax";
    }
    if (conf->min > conf->max_idle) {
        return "LuaPoolMin is larger than LuaPoolMaxIdle";
    }
    return NULL;
}

/* One number of LuaScope's line. */
static const char *scope_number(cmd_parms *cmd, const char *text, int *number)
{
    apr_int64_t value;

    if (conf_parse_count(text, &value) != APR_SUCCESS || value < 1 || value > 100000) {
        return apr_psprintf(cmd->pool,
                            "LuaScope server: '%s' is not a number of VMs from 1 to 100000", text);
    }
    *number = (int)value;
    return NULL;
}

/* LuaScope WORD [MIN [MAX]]. As in mod_lua a MAX below MIN is raised to it. */
static const char *set_scope(cmd_parms *cmd, void *dir, const char *word, const char *min,
                             const char *max)
{
    static const char *const words[] = {"once", "request", "conn", "thread", "server"};
    lp_conf *conf = dir;
    const char *error = NULL;
    int i;

    for (i = 0; i < 5 && strcasecmp(word, words[i]) != 0; i++) {
    }
    if (i == 5) {
        return apr_psprintf(cmd->pool,
                            "LuaScope: '%s' is none of once, request, conn, thread, server", word);
    }
    if (min && i != LP_SCOPE_SERVER) {
        return apr_psprintf(cmd->pool, "LuaScope %s takes no numbers; only server does", word);
    }
    conf->scope = i;
    conf->server_min = conf->server_max = 1;
    if (min) {
        error = scope_number(cmd, min, &conf->server_min);
    }
    if (max && !error) {
        error = scope_number(cmd, max, &conf->server_max);
    }
    if (conf->server_max < conf->server_min) {
        conf->server_max = conf->server_min;
    }
    return error;
}

/* LuaPackagePath and LuaPackageCPath: `slot` holds the field's offset. The lines add up. */
static const char *add_path(cmd_parms *cmd, void *dir, const char *path)
{
    const conf_slot *slot = cmd->info;
    const char **field = (const char **)((char *)dir + slot->offset);
    const char *whole = ap_server_root_relative(cmd->pool, path);

    if (!strchr(path, '?')) {
        return apr_psprintf(cmd->pool, "%s: '%s' has no '?' where the module's name goes",
                            cmd->cmd->name, path);
    }
    if (!whole) {
        return apr_psprintf(cmd->pool, "%s: '%s' is no valid path", cmd->cmd->name, path);
    }
    *field = *field ? apr_pstrcat(cmd->pool, *field, ";", whole, NULL) : whole;
    return NULL;
}

/* Relative to ServerRoot, like every path in a configuration. */
static const char *set_root(cmd_parms *cmd, void *dir, const char *path)
{
    lp_conf *conf = dir;

    conf->root = ap_server_root_relative(cmd->pool, path);
    return conf->root ? NULL : apr_psprintf(cmd->pool, "LuaRoot: '%s' is no valid path", path);
}

/* The pool is one for the whole server, so these setters refuse a virtual host. */
static const char *pool_count(cmd_parms *cmd, void *dir, const char *text)
{
    const char *error = ap_check_cmd_context(cmd, NOT_IN_VIRTUALHOST);
    return error ? error : conf_set_count(cmd, dir, text);
}

static const char *pool_duration(cmd_parms *cmd, void *dir, const char *text)
{
    const char *error = ap_check_cmd_context(cmd, NOT_IN_VIRTUALHOST);
    return error ? error : conf_set_duration(cmd, dir, text);
}

static const char *pool_word(cmd_parms *cmd, void *dir, const char *text)
{
    const char *error = ap_check_cmd_context(cmd, NOT_IN_VIRTUALHOST);
    return error ? error : conf_set_word(cmd, dir, text);
}

static const char *const freshness_words[] = {"stat", "forever", "never", NULL};
static const char *const inherit_words[] = {"parent-first", "parent-last", "none", NULL};
static const char *const mode_words[] = {"pool", "fresh", "lock", NULL};

/* Where a row's value goes: to the section's struct, or to the server's. */
#define SLOT(field, low, high) CONF_SLOT(lp_conf, field, low, high)
#define POOL(field, low, high) CONF_SERVER_SLOT(luapool_module, lp_server_conf, field, low, high)
#define MOST_SECONDS           (APR_TIME_C(86400) * APR_USEC_PER_SEC)
#define MOST_BYTES             (APR_INT64_C(1) << 40)

const command_rec lp_directives[] = {
    /* mod_lua's */
    AP_INIT_TAKE123("LuaScope", set_scope, NULL, OR_ALL,
                    "how long state lives: once, request, conn, thread, or server [min] [max]"),
    AP_INIT_TAKE1("LuaCodeCache", conf_set_word,
                  CONF_WORD_SLOT(lp_conf, freshness, freshness_words), OR_ALL,
                  "when a script is read again: stat (when it changed), forever, never"),
    AP_INIT_TAKE1("LuaInherit", conf_set_word, CONF_WORD_SLOT(lp_conf, inherit, inherit_words),
                  OR_ALL, "how sections' search paths merge: parent-first, parent-last, none"),
    AP_INIT_TAKE1("LuaRoot", set_root, NULL, OR_ALL, "the folder of relative script names"),
    AP_INIT_TAKE1("LuaPackagePath", add_path, SLOT(package_path, 0, 0), OR_ALL,
                  "one more template for package.path, such as /srv/lua/?.lua"),
    AP_INIT_TAKE1("LuaPackageCPath", add_path, SLOT(package_cpath, 0, 0), OR_ALL,
                  "one more template for package.cpath, such as /srv/lua/?.so"),
    /* limits */
    AP_INIT_TAKE1("LuaMemoryLimit", conf_set_size, SLOT(memory_limit, 0, MOST_BYTES),
                  RSRC_CONF | ACCESS_CONF, "most memory of a VM (64M; 0: no limit)"),
    AP_INIT_TAKE1("LuaTimeLimit", conf_set_duration, SLOT(time_limit, 0, MOST_SECONDS),
                  RSRC_CONF | ACCESS_CONF, "most time a script may run (300s; 0: no limit)"),
    AP_INIT_TAKE1("LuaBodyLimit", conf_set_size, SLOT(body_limit, 0, MOST_BYTES),
                  RSRC_CONF | ACCESS_CONF, "most bytes of a request body (64M; 0: no limit)"),
    AP_INIT_FLAG("LuaErrorDetails", conf_set_flag, SLOT(error_details, 0, 1),
                 RSRC_CONF | ACCESS_CONF, "whether clients see message and traceback (Off)"),
    AP_INIT_FLAG("LuaAllowBytecode", conf_set_flag, SLOT(allow_bytecode, 0, 1),
                 RSRC_CONF | ACCESS_CONF, "whether precompiled chunks may be loaded (Off)"),
    /* the pool */
    AP_INIT_TAKE1("LuaPoolMode", pool_word,
                  CONF_SERVER_WORD_SLOT(luapool_module, lp_server_conf, mode, mode_words),
                  RSRC_CONF,
                  "pool (of idle VMs), fresh (a VM for each use), lock (one VM behind a lock)"),
    AP_INIT_TAKE1("LuaPoolMin", pool_count, POOL(min, 0, 100000), RSRC_CONF,
                  "VMs that a child makes in advance and keeps (1)"),
    AP_INIT_TAKE1("LuaPoolMaxIdle", pool_count, POOL(max_idle, 0, 100000), RSRC_CONF,
                  "most idle VMs of a child (LuaPoolMax)"),
    AP_INIT_TAKE1("LuaPoolMax", pool_count, POOL(max, 1, 100000), RSRC_CONF,
                  "most VMs of a child (its number of threads)"),
    AP_INIT_TAKE1("LuaPoolMaxRequests", pool_count, POOL(max_uses, 0, APR_INT32_MAX), RSRC_CONF,
                  "uses after which a VM is closed (0: no bound)"),
    AP_INIT_TAKE1("LuaPoolIdleTimeout", pool_duration, POOL(idle_timeout, 0, MOST_SECONDS),
                  RSRC_CONF, "idle time after which a VM is closed (300s; 0: never)"),
    AP_INIT_TAKE1("LuaPoolWaitTimeout", pool_duration, POOL(wait_timeout, 0, MOST_SECONDS),
                  RSRC_CONF, "how long a request waits for a VM, then 503 (5s; 0: not at all)"),
    {NULL, {NULL}, NULL, 0, RAW_ARGS, NULL}};
