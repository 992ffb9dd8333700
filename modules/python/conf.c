/* SPDX-License-Identifier: Apache-2.0
 * The directives: their table, their setters, merging, and what follows from them for a request.
 *
 * httpd merges sections for each request (once for a kept connection, where it can), so a merge
 * copies pointers: lists of handlers are immutable once their section has been read, and tables are
 * overlaid only when both sides have one. Sections are merged inside out as well as outside in
 * (<Files> with each other first), which is why an unset option leaves a mark in the table instead
 * of a gap.
 *
 * Each handler of the configuration has a number, counted over all sections. It is the handler's
 * place in the table that every interpreter keeps of functions, so a request finds its function by
 * one index, without hashing a name. What .htaccess says is read for each request and has none. */
#include "modules/python/conf.h"

#include <apr_fnmatch.h>
#include <apr_lib.h>
#include <apr_strings.h>

#include "modules/common/conf_value.h"
#include "modules/common/hot.h"

APLOG_USE_MODULE(pypool);

const char *const pp_phase_names[PP_PHASES] = {"PythonHandler"};

/* The object a handler's module is asked for when the directive names none. */
static const char *const default_objects[PP_PHASES] = {"handler"};

/* Handlers in the server's configuration. Counted while the parent reads it, then constant: the
 * children have it from the fork. */
static int handler_count;

/* The parent reads its configuration again at each restart, in a module that may or may not have
 * been loaded anew. */
void pp_conf_begin(void)
{
    handler_count = 0;
}

int pp_conf_handler_count(void)
{
    return handler_count;
}

HOT_PATH pp_conf *pp_conf_of(request_rec *r)
{
    return ap_get_module_config(r->per_dir_config, &pypool_module);
}

pp_server_conf *pp_server_conf_of(server_rec *s)
{
    return ap_get_module_config(s->module_config, &pypool_module);
}

/* `section` is not kept: what matters of it differs by directive, see place_handler(). */
void *pp_conf_create(apr_pool_t *p, char *section)
{
    pp_conf *conf = apr_pcalloc(p, sizeof(*conf));

    (void)section;
    conf->per_directory = conf->per_directive = CONF_UNSET;
    conf->debug = conf->auto_reload = CONF_UNSET;
    conf->gil = conf->interpreters = conf->exclusive = CONF_UNSET;
    conf->pool_wait = conf->time_limit = conf->body_limit = CONF_UNSET;
    return conf;
}

void *pp_server_conf_create(apr_pool_t *p, server_rec *s)
{
    pp_server_conf *conf = apr_pcalloc(p, sizeof(*conf));

    (void)s;
    conf->memory_limit = CONF_UNSET;
    return conf;
}

/* Runs for each request that crosses sections, so it copies only where both sides set something. */
static apr_table_t *merge_tables(apr_pool_t *p, apr_table_t *base, apr_table_t *add)
{
    apr_table_t *merged;

    if (!base || !add)
        return add ? add : base;
    merged = apr_table_copy(p, base);
    apr_table_overlap(merged, add, APR_OVERLAP_TABLES_SET);
    return merged;
}

/* A place is a phase and an extension. */
static int same_place(const pp_handlers *a, const pp_handlers *b)
{
    return a->phase == b->phase &&
           (a->extension == b->extension ||
            (a->extension && b->extension && !strcmp(a->extension, b->extension)));
}

/* The list of the same phase and extension as `place`, or NULL. */
static const pp_handlers *find_place(const pp_handlers *list, const pp_handlers *place)
{
    while (list && !same_place(list, place))
        list = list->next;
    return list;
}

/* The inner section's handlers of a phase replace the outer one's. */
static const pp_handlers *merge_handlers(apr_pool_t *p, const pp_handlers *base,
                                         const pp_handlers *add)
{
    const pp_handlers *merged = add;

    if (!add || !base)
        return add ? add : base;
    for (; base; base = base->next) {
        pp_handlers *copy;

        if (find_place(add, base))
            continue;
        copy = apr_pmemdup(p, base, sizeof(*base));
        copy->next = merged;
        merged = copy;
    }
    return merged;
}

/* By comparison with one that no directive has touched: the structure has no gaps. */
void pp_conf_end(server_rec *s)
{
    const pp_conf *untouched = pp_conf_create(s->process->pconf, NULL);

    for (; s; s = s->next) {
        pp_conf *conf = ap_get_module_config(s->lookup_defaults, &pypool_module);

        conf->is_empty = !memcmp(conf, untouched, sizeof(*conf));
    }
}

/* The result may share everything with either side: neither is changed any more. */
HOT_PATH void *pp_conf_merge(apr_pool_t *p, void *base_, void *add_)
{
    const pp_conf *base = base_, *add = add_;
    pp_conf *conf;

    if (base->is_empty)
        return add_;
    conf = apr_palloc(p, sizeof(*conf));
    conf->is_empty = 0;
    conf->handlers = merge_handlers(p, base->handlers, add->handlers);
    conf->options = merge_tables(p, base->options, add->options);
    conf->directives = merge_tables(p, base->directives, add->directives);
    conf->path = add->path ? add->path : base->path;
    conf->interpreter = add->interpreter ? add->interpreter : base->interpreter;
    conf->per_directory = PICK(add, base, per_directory);
    conf->per_directive = PICK(add, base, per_directive);
    conf->debug = PICK(add, base, debug);
    conf->auto_reload = PICK(add, base, auto_reload);
    conf->gil = PICK(add, base, gil);
    conf->interpreters = PICK(add, base, interpreters);
    conf->exclusive = PICK(add, base, exclusive);
    conf->pool_wait = PICK(add, base, pool_wait);
    conf->time_limit = PICK(add, base, time_limit);
    conf->body_limit = PICK(add, base, body_limit);
    return conf;
}

/* For req.get_config(). */
static void note_directive(cmd_parms *cmd, pp_conf *conf, const char *value)
{
    if (!conf->directives)
        conf->directives = apr_table_make(cmd->pool, 4);
    apr_table_set(conf->directives, cmd->cmd->name, value);
}

/* There memory and numbers last for one request only. */
static int in_htaccess(cmd_parms *cmd)
{
    return ap_check_cmd_context(cmd, NOT_IN_HTACCESS) != NULL;
}

/* The first argument of the section that `d` opens. */
/* The directive's text still has the bracket that closes the section's first line. */
static const char *section_argument(apr_pool_t *p, const ap_directive_t *d)
{
    const char *args = d->args;
    char *word = ap_getword_conf(p, &args);
    apr_size_t len = strlen(word);

    if (len && word[len - 1] == '>')
        word[len - 1] = '\0';
    return word;
}

/* How many names `path` consists of. */
static int count_parts(const char *path)
{
    int parts = 0;

    for (; *path; path++)
        parts += *path == '/' && path[1];
    return parts;
}

/* <Directory>: its path is where modules are looked for, unless it stands for many. */
static void place_in_directory(apr_pool_t *p, pp_handler *h, const ap_directive_t *d)
{
    const char *path = section_argument(p, d);
    char *full;

    if (!strcmp(path, "~") || !ap_cstr_casecmp(d->directive, "<DirectoryMatch")) {
        h->by_file = 1;
        return;
    }
    /* The form httpd gives it, so that req.hlist.directory is a prefix of req.filename. */
    if (apr_filepath_merge(&full, NULL, path, APR_FILEPATH_TRUENAME, p) != APR_SUCCESS)
        full = apr_pstrdup(p, path);
    if (!*full || full[strlen(full) - 1] != '/')
        full = apr_pstrcat(p, full, "/", NULL);
    h->directory = full;
    if (apr_fnmatch_test(full))
        h->components = count_parts(full);
}

/* Finds the section whose directory or location a handler belongs to. */
static void place_handler(cmd_parms *cmd, pp_handler *h)
{
    const ap_directive_t *d;

    h->section = cmd->path ? cmd->path : "";
    if (in_htaccess(cmd)) {
        h->directory = ap_make_dirstr_parent(cmd->pool, cmd->directive->filename);
        h->section = h->directory;
        return;
    }
    /* <Files> and <If> stand inside of what has a place; at server level nothing has. */
    for (d = cmd->directive->parent; d; d = d->parent) {
        if (!ap_cstr_casecmpn(d->directive, "<Directory", 10)) {
            place_in_directory(cmd->pool, h, d);
            return;
        }
        if (!ap_cstr_casecmpn(d->directive, "<Location", 9)) {
            h->location = section_argument(cmd->pool, d);
            return;
        }
    }
}

/* NULL when `spec` is not of the form module[::object]. */
static pp_handler *make_handler(cmd_parms *cmd, pp_phase phase, const char *spec)
{
    pp_handler *h = apr_pcalloc(cmd->pool, sizeof(*h));
    const char *colons = strstr(spec, "::");

    h->spec = spec;
    h->module = colons ? apr_pstrmemdup(cmd->pool, spec, colons - spec) : spec;
    h->object = colons ? colons + 2 : default_objects[phase];
    if (!*h->module || !*h->object)
        return NULL;
    place_handler(cmd, h);
    /* Without a number it is looked up by name each time: a place in the cache would never end. */
    h->id = in_htaccess(cmd) ? -1 : handler_count++;
    return h;
}

/* Adds `items` to the handlers of (phase, extension) in this section. */
static void add_handlers(cmd_parms *cmd, pp_conf *conf, pp_phase phase, const char *extension,
                         apr_array_header_t *items)
{
    pp_handlers key = {conf->handlers, phase, extension, items};
    const pp_handlers *old = find_place(conf->handlers, &key);

    if (old)
        apr_array_cat(old->items, items);
    else
        conf->handlers = apr_pmemdup(cmd->pool, &key, sizeof(key));
}

/* PythonHandler and its like: module[::object] ... [| .ext ...]. Directives of one section add to
 * each other, by extension. */
static const char *set_handler(cmd_parms *cmd, void *conf, const char *args)
{
    pp_phase phase = (pp_phase)(apr_size_t)cmd->info;
    apr_array_header_t *items = apr_array_make(cmd->pool, 1, sizeof(pp_handler *));
    const char *word;
    int extensions = 0;

    while (*(word = ap_getword_conf(cmd->pool, &args)) && strcmp(word, "|")) {
        pp_handler *h = make_handler(cmd, phase, word);

        if (!h) /* "::object" or "module::" */
            return apr_psprintf(cmd->pool, "%s: \"%s\" is not of the form module[::object]",
                                cmd->cmd->name, word);
        APR_ARRAY_PUSH(items, pp_handler *) = h;
    }
    if (!items->nelts)
        return apr_psprintf(cmd->pool, "%s: a module is missing", cmd->cmd->name);
    if (!*word) {
        add_handlers(cmd, conf, phase, NULL, items);
        return NULL;
    }
    for (; *(word = ap_getword_conf(cmd->pool, &args)); extensions++) {
        if (*word != '.')
            return apr_psprintf(cmd->pool, "%s: the extension \"%s\" does not begin with a dot",
                                cmd->cmd->name, word);
        add_handlers(cmd, conf, phase, word, apr_array_copy(cmd->pool, items));
    }
    return extensions ? NULL : apr_psprintf(cmd->pool, "%s: no extension after |", cmd->cmd->name);
}

/* A directive whose value scripts can see. */
static const char *set_text(cmd_parms *cmd, void *conf, const char *value)
{
    note_directive(cmd, conf, value);
    return ap_set_string_slot(cmd, conf, value);
}

/* Likewise, as "1" or "0", which is what mod_python shows. */
static const char *set_flag(cmd_parms *cmd, void *conf, int on)
{
    note_directive(cmd, conf, on ? "1" : "0");
    return ap_set_flag_slot(cmd, conf, on);
}

/* An empty value stays in the table, so that it can undo an outer section's when they merge. */
static const char *set_option(cmd_parms *cmd, void *conf_, const char *key, const char *value)
{
    pp_conf *conf = conf_;

    if (!conf->options)
        conf->options = apr_table_make(cmd->pool, 4);
    apr_table_set(conf->options, key, value ? value : "");
    return NULL;
}

/* auto|N [exclusive] */
static const char *set_interpreters(cmd_parms *cmd, void *conf_, const char *count,
                                    const char *word)
{
    pp_conf *conf = conf_;
    apr_int64_t value = 0;

    if (ap_cstr_casecmp(count, "auto") &&
        (conf_parse_count(count, &value) != APR_SUCCESS || value < 1 || value > 1000))
        return apr_psprintf(cmd->pool, "%s: \"%s\" is neither auto nor a number from 1 to 1000",
                            cmd->cmd->name, count);
    if (word && ap_cstr_casecmp(word, "exclusive"))
        return apr_psprintf(cmd->pool, "%s: the second word can only be exclusive, not \"%s\"",
                            cmd->cmd->name, word);
    conf->interpreters = (int)value;
    conf->exclusive = word != NULL;
    return NULL;
}

/* What Python needs before it starts: there is one for all virtual hosts. */
static const char *set_server_text(cmd_parms *cmd, void *conf, const char *value)
{
    const char *wrong = ap_check_cmd_context(cmd, GLOBAL_ONLY);

    (void)conf;
    return wrong ? wrong : ap_set_string_slot(cmd, pp_server_conf_of(cmd->server), value);
}

/* One module's name; the lines and their words add up. */
static const char *add_denied(cmd_parms *cmd, void *conf, const char *name)
{
    const char *wrong = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    pp_server_conf *server = pp_server_conf_of(cmd->server);

    (void)conf;
    if (!wrong)
        server->deny = server->deny ? apr_pstrcat(cmd->pool, server->deny, " ", name, NULL) : name;
    return wrong;
}

/* Python would start without the packages that were meant, and say nothing. */
static const char *set_home(cmd_parms *cmd, void *conf, const char *folder)
{
    if (!ap_is_directory(cmd->temp_pool, folder))
        return apr_psprintf(cmd->pool, "PythonHome: there is no folder %s", folder);
    return set_server_text(cmd, conf, folder);
}

/* What Python needs to start. With hardly more than that, making an interpreter fails at places
 * where CPython ends the process. */
#define LEAST_MEMORY ((apr_int64_t)32 << 20)

static const char *set_memory_limit(cmd_parms *cmd, void *conf, const char *text)
{
    const char *wrong = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    apr_int64_t limit;

    if (!wrong)
        wrong = conf_set_size(cmd, conf, text);
    limit = pp_server_conf_of(cmd->server)->memory_limit;
    if (!wrong && limit > 0 && limit < LEAST_MEMORY)
        wrong = apr_psprintf(cmd->pool,
                             "PythonMemoryLimit: \"%s\" is less than 32M, which Python "
                             "may need to start; 0 is no limit",
                             text);
    return wrong;
}

#define SLOT(field)        ((void *)APR_OFFSETOF(pp_conf, field))
#define SERVER_SLOT(field) ((void *)APR_OFFSETOF(pp_server_conf, field))
#define SECTIONS           (RSRC_CONF | ACCESS_CONF)
#define HOUR               ((apr_int64_t)3600 * APR_USEC_PER_SEC)

/* In the order of PP_GIL_*. */
static const char *const gil_words[] = {"auto", "own", "shared", "main", NULL};

const command_rec pp_commands[] = {
    AP_INIT_RAW_ARGS("PythonHandler", set_handler, (void *)PP_CONTENT, OR_ALL,
                     "module[::object] ... [| .ext ...]: functions that answer requests"),
    AP_INIT_TAKE1("PythonPath", set_text, SLOT(path), OR_ALL,
                  "a Python expression: the list that becomes sys.path"),
    AP_INIT_TAKE12("PythonOption", set_option, NULL, OR_ALL,
                   "key [value] for req.get_options(); without a value the key is unset"),
    AP_INIT_FLAG("PythonDebug", set_flag, SLOT(debug), OR_ALL, "whether clients see tracebacks"),
    AP_INIT_FLAG("PythonAutoReload", set_flag, SLOT(auto_reload), OR_ALL,
                 "whether edited modules are loaded anew"),
    AP_INIT_TAKE1("PythonInterpreter", set_text, SLOT(interpreter), OR_ALL,
                  "the name of the application"),
    AP_INIT_FLAG("PythonInterpPerDirectory", set_flag, SLOT(per_directory), OR_ALL,
                 "an application for each directory of requested files"),
    AP_INIT_FLAG("PythonInterpPerDirective", set_flag, SLOT(per_directive), OR_ALL,
                 "an application for each section with a handler directive"),
    AP_INIT_TAKE1("PythonGIL", conf_set_word, CONF_WORD_SLOT(pp_conf, gil, gil_words), SECTIONS,
                  "auto, own, shared or main"),
    AP_INIT_TAKE12("PythonInterpreters", set_interpreters, NULL, SECTIONS,
                   "auto or the most interpreters of an application in a child; [exclusive]"),
    AP_INIT_TAKE1("PythonPoolWaitTimeout", conf_set_duration,
                  CONF_SLOT(pp_conf, pool_wait, 0, 24 * HOUR), SECTIONS,
                  "how long a request waits for an exclusive interpreter"),
    AP_INIT_TAKE1("PythonTimeLimit", conf_set_duration,
                  CONF_SLOT(pp_conf, time_limit, 0, 24 * HOUR), SECTIONS,
                  "how long a request's handlers may run; 0 = no limit"),
    AP_INIT_TAKE1("PythonBodyLimit", conf_set_size,
                  CONF_SLOT(pp_conf, body_limit, 0, APR_INT64_MAX), SECTIONS,
                  "how much of a request body is read; 0 = no limit"),
    AP_INIT_TAKE1("PythonMemoryLimit", set_memory_limit,
                  CONF_SERVER_SLOT(pypool_module, pp_server_conf, memory_limit, 0, APR_INT64_MAX),
                  RSRC_CONF, "memory of all Python objects in a child; 0 = no limit"),
    AP_INIT_TAKE1("PythonHome", set_home, SERVER_SLOT(home), RSRC_CONF,
                  "a virtual environment, or the prefix of an installation"),
    AP_INIT_ITERATE("PythonOwnGILDeny", add_denied, NULL, RSRC_CONF,
                    "modules that may not be loaded where an interpreter has its own GIL"),
    {NULL, {NULL}, NULL, 0, NO_ARGS, NULL}};

/* "a.tar.gz" has .tar.gz (what follows the first dot, as mod_python has it) and .gz. */
static int has_extension(const char *file, const char *extension)
{
    apr_size_t len = strlen(file), want = strlen(extension);
    const char *first = strchr(file, '.');

    return (first && !strcmp(first, extension)) ||
           (len > want && !strcmp(file + len - want, extension));
}

/* mod_python declines where extensions are named and none fits: those files are served as they
 * are. */
int pp_conf_has(const pp_conf *conf, pp_phase phase)
{
    const pp_handlers *h = conf->handlers;

    while (h && h->phase != phase)
        h = h->next;
    return h != NULL;
}

/* A list for the file's extension wins over the one for all files. The path is looked at only when
 * some list has an extension. */
HOT_PATH const pp_handlers *pp_conf_handlers(const pp_conf *conf, pp_phase phase,
                                             const request_rec *r)
{
    const pp_handlers *h, *any = NULL;
    const char *file = NULL;

    for (h = conf->handlers; h; h = h->next) {
        if (h->phase != phase)
            continue;
        if (!h->extension) {
            any = h;
            continue;
        }
        if (!file)
            file = r->filename ? apr_filepath_name_get(r->filename) : "";
        if (has_extension(file, h->extension))
            return h;
    }
    return any;
}

/* <Directory /home/(any)/www> serves /home/joe/www/deep/x.py: the first three parts of the path, as
 * httpd compares them one by one. */
HOT_PATH const char *pp_conf_directory(const pp_handler *h, request_rec *r)
{
    const char *end = r->filename;
    int parts = h->components;

    if (h->by_file)
        return r->filename ? ap_make_dirstr_parent(r->pool, r->filename) : NULL;
    if (!parts || !end)
        return parts ? NULL : h->directory;
    while (*end && (parts || *end != '/'))
        parts -= *end++ == '/';
    return apr_pstrcat(r->pool, apr_pstrmemdup(r->pool, r->filename, end - r->filename), "/", NULL);
}

HOT_PATH const char *pp_conf_application(const pp_conf *conf, const pp_handler *h, request_rec *r)
{
    /* The first that is set, as in mod_python. */
    if (conf->interpreter)
        return conf->interpreter;
    if (conf->per_directory == 1 && r->filename)
        return r->finfo.filetype == APR_DIR ? r->filename
                                            : ap_make_dirstr_parent(r->pool, r->filename);
    if (conf->per_directive == 1 && *h->section)
        return h->section;
    return r->server->server_hostname ? r->server->server_hostname : "main_interpreter";
}
