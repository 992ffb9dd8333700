/* SPDX-License-Identifier: Apache-2.0
 * Setters for directives that take a count, a size, a duration, a switch or a word.
 *
 * A directive is one row of its module's command table, with its range:
 *
 *   AP_INIT_TAKE1("LuaPoolMax", conf_set_count,
 *                 CONF_SERVER_SLOT(luapool_module, lp_server_conf, pool.max, 1, 100000),
 *                 RSRC_CONF, "most VMs in a child"),
 *
 * Every field starts as CONF_UNSET and is merged with PICK; a field's type is given at its setter.
 * These functions know no directive's name and no module: the message gets the name from httpd. */
#ifndef INTERPOOL_CONF_VALUE_H
#define INTERPOOL_CONF_VALUE_H

#include <httpd.h>
#include <http_config.h>

#define CONF_UNSET (-1)

/* The value of field `f` after merging `add` (the inner section) over `base`. */
#define PICK(add, base, f) ((add)->f != CONF_UNSET ? (add)->f : (base)->f)

/* Where a value goes and which ones are allowed. With `owner` it goes to that module's server
 * configuration, else to the per-directory one. Durations' bounds are in microseconds. */
typedef struct conf_slot {
    module *owner;
    apr_size_t offset;
    apr_int64_t low, high;
    const char *const *words; /* for conf_set_word: NULL-terminated */
} conf_slot;

#define CONF_SLOT(type, field, low, high) \
    ((void *)&(const conf_slot){NULL, APR_OFFSETOF(type, field), low, high, NULL})
#define CONF_SERVER_SLOT(owner, type, field, low, high) \
    ((void *)&(const conf_slot){&owner, APR_OFFSETOF(type, field), low, high, NULL})
#define CONF_WORD_SLOT(type, field, words) \
    ((void *)&(const conf_slot){NULL, APR_OFFSETOF(type, field), 0, 0, words})
#define CONF_SERVER_WORD_SLOT(owner, type, field, words) \
    ((void *)&(const conf_slot){&owner, APR_OFFSETOF(type, field), 0, 0, words})

/* For AP_INIT_TAKE1 (conf_set_flag: AP_INIT_FLAG). Each returns NULL or the message that stops the
 * start-up: what was given, what is allowed. */
const char *conf_set_count(cmd_parms *cmd, void *dir, const char *text); /* int: "12" */
const char *conf_set_size(cmd_parms *cmd, void *dir, const char *text);  /* apr_int64_t: "64M" */
const char *conf_set_duration(cmd_parms *cmd, void *dir,
                              const char *text);                        /* apr_int64_t: "500ms" */
const char *conf_set_word(cmd_parms *cmd, void *dir, const char *text); /* int: index in words */
const char *conf_set_flag(cmd_parms *cmd, void *dir, int on);           /* int: 0 or 1 */

/* The parsers behind them; APR_EINVAL for anything that is not wholly a value, APR_ERANGE when it
 * does not fit. Sizes: bytes, or K, M, G (powers of 1024; case does not matter; "KB" too).
 * Durations: us, ms, s, min, h; without a unit seconds. The result is in bytes / microseconds. */
apr_status_t conf_parse_count(const char *text, apr_int64_t *value);
apr_status_t conf_parse_size(const char *text, apr_int64_t *value);
apr_status_t conf_parse_duration(const char *text, apr_int64_t *value);

#endif
