/* SPDX-License-Identifier: Apache-2.0
 * Setters for directives: text to number, range, message. */
#include "modules/common/conf_value.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <apr_strings.h>

typedef struct unit {
    const char *name;
    apr_int64_t factor;
} unit;

static const unit sizes[] = {{"", 1},
                             {"B", 1},
                             {"K", 1024},
                             {"KB", 1024},
                             {"M", 1024 * 1024},
                             {"MB", 1024 * 1024},
                             {"G", 1024 * 1024 * 1024},
                             {"GB", 1024 * 1024 * 1024},
                             {NULL, 0}};

static const unit durations[] = {{"us", 1},
                                 {"ms", 1000},
                                 {"s", APR_USEC_PER_SEC},
                                 {"", APR_USEC_PER_SEC},
                                 {"min", 60 * (apr_int64_t)APR_USEC_PER_SEC},
                                 {"h", 3600 * (apr_int64_t)APR_USEC_PER_SEC},
                                 {NULL, 0}};

static const unit counts[] = {{"", 1}, {NULL, 0}};

static apr_status_t parse(const char *text, const unit *units, apr_int64_t *value)
{
    char *end;
    apr_int64_t n;

    if (!isdigit((unsigned char)*text))
        return APR_EINVAL;
    errno = 0;
    n = strtoll(text, &end, 10);
    if (errno)
        return APR_ERANGE;
    for (; units->name; units++) {
        if (strcasecmp(end, units->name) != 0)
            continue;
        if (n > APR_INT64_MAX / units->factor)
            return APR_ERANGE;
        *value = n * units->factor;
        return APR_SUCCESS;
    }
    return APR_EINVAL;
}

apr_status_t conf_parse_count(const char *text, apr_int64_t *value)
{
    return parse(text, counts, value);
}

apr_status_t conf_parse_size(const char *text, apr_int64_t *value)
{
    return parse(text, sizes, value);
}

apr_status_t conf_parse_duration(const char *text, apr_int64_t *value)
{
    return parse(text, durations, value);
}

/* `value` in the largest unit that gives a whole number: 65536 is "64K". */
static const char *in_words(apr_pool_t *p, apr_int64_t value, const unit *units)
{
    const unit *best = NULL;

    for (; units->name; units++)
        if (value != 0 && value % units->factor == 0 && (!best || units->factor > best->factor))
            best = units;
    if (!best)
        return apr_psprintf(p, "%" APR_INT64_T_FMT, value);
    return apr_psprintf(p, "%" APR_INT64_T_FMT "%s", value / best->factor, best->name);
}

static void *field(cmd_parms *cmd, void *dir)
{
    const conf_slot *slot = cmd->info;
    void *conf = slot->owner ? ap_get_module_config(cmd->server->module_config, slot->owner) : dir;

    return (char *)conf + slot->offset;
}

/* NULL, or the message; `what` says how a good value looks. */
static const char *parse_in_range(cmd_parms *cmd, const char *text, const unit *units,
                                  const char *what, apr_int64_t *value)
{
    const conf_slot *slot = cmd->info;
    apr_status_t rv = parse(text, units, value);

    if (rv == APR_EINVAL)
        return apr_psprintf(cmd->pool, "%s: \"%s\" is not %s", cmd->cmd->name, text, what);
    if (rv != APR_SUCCESS || *value < slot->low || *value > slot->high)
        return apr_psprintf(cmd->pool, "%s: \"%s\" is out of range, which is %s to %s",
                            cmd->cmd->name, text, in_words(cmd->pool, slot->low, units),
                            in_words(cmd->pool, slot->high, units));
    return NULL;
}

const char *conf_set_count(cmd_parms *cmd, void *dir, const char *text)
{
    apr_int64_t value;
    const char *error = parse_in_range(cmd, text, counts, "a whole number", &value);

    if (!error)
        *(int *)field(cmd, dir) = (int)value;
    return error;
}

const char *conf_set_size(cmd_parms *cmd, void *dir, const char *text)
{
    return parse_in_range(cmd, text, sizes, "a size (bytes, or a number with K, M or G)",
                          field(cmd, dir));
}

const char *conf_set_duration(cmd_parms *cmd, void *dir, const char *text)
{
    return parse_in_range(cmd, text, durations,
                          "a duration (seconds, or a number with ms, s, min or h)",
                          field(cmd, dir));
}

const char *conf_set_word(cmd_parms *cmd, void *dir, const char *text)
{
    const conf_slot *slot = cmd->info;
    const char *all = "";
    int i;

    for (i = 0; slot->words[i]; i++) {
        if (strcasecmp(text, slot->words[i]) == 0) {
            *(int *)field(cmd, dir) = i;
            return NULL;
        }
        all = apr_pstrcat(cmd->pool, all, i ? ", " : "", slot->words[i], NULL);
    }
    return apr_psprintf(cmd->pool, "%s: \"%s\" is not one of: %s", cmd->cmd->name, text, all);
}

const char *conf_set_flag(cmd_parms *cmd, void *dir, int on)
{
    *(int *)field(cmd, dir) = on != 0;
    return NULL;
}
