/* SPDX-License-Identifier: Apache-2.0
 * The directives: what they set, how sections merge. Knows nothing of interpreters. */
#ifndef INTERPOOL_PYTHON_CONF_H
#define INTERPOOL_PYTHON_CONF_H

#include <httpd.h>
#include <http_config.h>
#include <apr_tables.h>

extern module AP_MODULE_DECLARE_DATA pypool_module;

/* One handler as written in a directive. */
typedef struct pp_handler {
    const char *spec;      /* "module::object" */
    const char *module;    /* "module" */
    const char *object;    /* "object", or the phase's default */
    const char *section;   /* path of the section around the directive, "" at server level */
    const char *directory; /* where its module is looked for first, ends with '/'; or NULL */
    const char *location;  /* the section's URL path when it is a <Location>, else NULL */
    int components;        /* > 0: `directory` has wildcards; so many parts of the file's path */
    int by_file;           /* the section is a regular expression: the file's own directory */
    int id;                /* index of its place in each interpreter's cache; -1 in .htaccess */
} pp_handler;

typedef enum pp_phase {
    PP_CONTENT, /* PythonHandler */
    PP_PHASES
} pp_phase;

/* The handlers of a phase, for one extension or (NULL) for all files. Never changed after the
 * section has been read, so sections share them. */
typedef struct pp_handlers {
    const struct pp_handlers *next;
    pp_phase phase;
    const char *extension;
    apr_array_header_t *items; /* of pp_handler * */
} pp_handlers;

/* How interpreters share the global interpreter lock. */
enum {
    PP_GIL_AUTO,
    PP_GIL_OWN,
    PP_GIL_SHARED,
    PP_GIL_MAIN
};

/* Of a directory, location, file, virtual host or server. Numbers are CONF_UNSET, pointers NULL,
 * until set; defaults are filled in by the pp_conf_* functions below. */
typedef struct pp_conf {
    const pp_handlers *handlers;
    apr_table_t *options;    /* PythonOption; an empty value unsets */
    apr_table_t *directives; /* what req.get_config() shows */
    const char *path;        /* PythonPath, an expression */
    const char *interpreter; /* PythonInterpreter */
    int per_directory;       /* PythonInterpPerDirectory */
    int per_directive;       /* PythonInterpPerDirective */
    int debug;               /* PythonDebug */
    int auto_reload;         /* PythonAutoReload */
    int gil;                 /* PythonGIL: PP_GIL_* */
    int interpreters;        /* PythonInterpreters: 0 = auto */
    int exclusive;           /* its second word */
    int is_empty;            /* nothing is set; known at server level only */
    apr_int64_t pool_wait;   /* PythonPoolWaitTimeout, microseconds */
    apr_int64_t time_limit;  /* PythonTimeLimit, microseconds, 0 = none */
    apr_int64_t body_limit;  /* PythonBodyLimit, bytes, 0 = none */
} pp_conf;

/* Of the whole server: the main server's values count. */
typedef struct pp_server_conf {
    const char *home;         /* PythonHome */
    const char *deny;         /* PythonOwnGILDeny: module names separated by spaces */
    apr_int64_t memory_limit; /* PythonMemoryLimit, bytes in each child, 0 = none */
} pp_server_conf;

extern const command_rec pp_commands[];
extern const char *const pp_phase_names[PP_PHASES];

void *pp_conf_create(apr_pool_t *p, char *section);
void *pp_conf_merge(apr_pool_t *p, void *base, void *add);
void *pp_server_conf_create(apr_pool_t *p, server_rec *s);

/* Before the configuration is read: no handler is known. */
void pp_conf_begin(void);
/* After it: remembers which servers set nothing outside of sections. */
void pp_conf_end(server_rec *s);
/* How many handlers the server's configuration (not .htaccess) names: ids are below it. */
int pp_conf_handler_count(void);

pp_conf *pp_conf_of(request_rec *r);
pp_server_conf *pp_server_conf_of(server_rec *s);

/* Whether any handler of `phase` is in effect, for whatever files. */
int pp_conf_has(const pp_conf *conf, pp_phase phase);
/* The handlers of `phase` for r's file, or NULL. */
const pp_handlers *pp_conf_handlers(const pp_conf *conf, pp_phase phase, const request_rec *r);
/* The directory in which the module of `h` is looked for first, or NULL; from r->pool at need. */
const char *pp_conf_directory(const pp_handler *h, request_rec *r);
/* The name of the application that serves `r`; from r->pool at need. */
const char *pp_conf_application(const pp_conf *conf, const pp_handler *h, request_rec *r);

/* The values in effect. */
static inline apr_int64_t pp_conf_or(apr_int64_t value, apr_int64_t otherwise)
{
    return value == -1 ? otherwise : value;
}
#define PP_DEFAULT_WAIT   (5 * APR_USEC_PER_SEC)
#define PP_DEFAULT_TIME   (300 * APR_USEC_PER_SEC)
#define PP_DEFAULT_BODY   ((apr_int64_t)64 << 20)
#define PP_DEFAULT_MEMORY ((apr_int64_t)1 << 30)

#endif
