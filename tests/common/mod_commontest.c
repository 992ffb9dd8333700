/* SPDX-License-Identifier: Apache-2.0
 * A module that shows modules/common under a real httpd without any interpreter: each handler is
 * one part of it, driven by the query string. For tests/test_common.py only; never installed. */
#include "modules/common/body.h"
#include "modules/common/conf_value.h"
#include "modules/common/form.h"
#include "modules/common/report.h"
#include "modules/common/status_board.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <apr_strings.h>
#include <http_core.h>
#include <http_log.h>
#include <http_protocol.h>

static void *create_server(apr_pool_t *p, server_rec *s);
static void *merge_server(apr_pool_t *p, void *base_conf, void *add_conf);
static void register_hooks(apr_pool_t *p);
static const command_rec directives[];

AP_DECLARE_MODULE(commontest) = {
    STANDARD20_MODULE_STUFF, NULL, NULL, create_server, merge_server, directives,
    register_hooks,          0};

/* --- directives --- */

static const char *const colours[] = {"red", "green", NULL};

typedef struct server_conf {
    int count;
    apr_int64_t size;
    apr_int64_t duration;
    int colour;
} server_conf;

static void *create_server(apr_pool_t *p, server_rec *s)
{
    server_conf *c = apr_palloc(p, sizeof(*c));

    (void)s;
    *c = (server_conf){CONF_UNSET, CONF_UNSET, CONF_UNSET, CONF_UNSET};
    return c;
}

static void *merge_server(apr_pool_t *p, void *base_conf, void *add_conf)
{
    server_conf *base = base_conf, *add = add_conf, *c = apr_palloc(p, sizeof(*c));

    c->count = PICK(add, base, count);
    c->size = PICK(add, base, size);
    c->duration = PICK(add, base, duration);
    c->colour = PICK(add, base, colour);
    return c;
}

static const command_rec directives[] = {
    AP_INIT_TAKE1("CommonCount", conf_set_count,
                  CONF_SERVER_SLOT(commontest_module, server_conf, count, 1, 10), RSRC_CONF,
                  "a count"),
    AP_INIT_TAKE1("CommonSize", conf_set_size,
                  CONF_SERVER_SLOT(commontest_module, server_conf, size, 0, 1 << 30), RSRC_CONF,
                  "a size"),
    AP_INIT_TAKE1("CommonDuration", conf_set_duration,
                  CONF_SERVER_SLOT(commontest_module, server_conf, duration, 0,
                                   3600 * (apr_int64_t)APR_USEC_PER_SEC),
                  RSRC_CONF, "a duration"),
    AP_INIT_TAKE1("CommonColour", conf_set_word,
                  CONF_SERVER_WORD_SLOT(commontest_module, server_conf, colour, colours), RSRC_CONF,
                  "a word"),
    {.name = NULL}};

static int show_conf(request_rec *r)
{
    server_conf *c = ap_get_module_config(r->server->module_config, &commontest_module);

    ap_rprintf(r, "%d %" APR_INT64_T_FMT " %" APR_INT64_T_FMT " %d", c->count, c->size, c->duration,
               c->colour);
    return OK;
}

/* --- the status board --- */

typedef struct counters {
    apr_uint64_t served;
    apr_uint64_t longest;
    apr_uint64_t colour;
} counters;

static const status_column columns[] = {
    {"Served", "served", STATUS_SUM, APR_OFFSETOF(counters, served), NULL},
    {"Longest", "longest", STATUS_MAX, APR_OFFSETOF(counters, longest), NULL},
    {"Colour", "colour", STATUS_WORD, APR_OFFSETOF(counters, colour), colours},
    {NULL, NULL, STATUS_SUM, 0, NULL}};

static const status_layout layout = {"Common", "The shared parts", sizeof(counters), columns};
static status_board *board;
static counters *mine; /* this child's row */

static int show_board(request_rec *r, int flags)
{
    status_board_print(board, r, flags);
    return OK;
}

static int make_board(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s)
{
    apr_status_t rv = status_board_make(&board, &layout, pconf);

    (void)plog;
    (void)ptemp;
    if (rv != APR_SUCCESS)
        ap_log_error(APLOG_MARK, APLOG_ERR, rv, s, "CT000: no status board");
    return rv == APR_SUCCESS ? OK : HTTP_INTERNAL_SERVER_ERROR;
}

static void claim_row(apr_pool_t *pchild, server_rec *s)
{
    (void)s;
    mine = status_board_claim(board, &layout, pchild);
}

/* Counts this request, `longest` and `colour` being in the query. */
static int count(request_rec *r)
{
    const char *longest = r->args ? strstr(r->args, "longest=") : NULL;
    apr_uint64_t value = longest ? strtoul(longest + 8, NULL, 10) : 0;

    __atomic_add_fetch(&mine->served, 1, __ATOMIC_RELAXED);
    if (value > mine->longest)
        __atomic_store_n(&mine->longest, value, __ATOMIC_RELAXED);
    if (r->args && strstr(r->args, "green"))
        __atomic_store_n(&mine->colour, 1, __ATOMIC_RELAXED);
    ap_rprintf(r, "%ld", (long)getpid());
    return OK;
}

/* --- bodies --- */

static long number(request_rec *r, const char *name, long otherwise)
{
    const char *at = r->args ? strstr(r->args, name) : NULL;

    return at ? strtol(at + strlen(name), NULL, 10) : otherwise;
}

static int has(request_rec *r, const char *word)
{
    return r->args && strstr(r->args, word);
}

/* What a module does with a body's error: reports it; or a script catches it and answers itself. */
static int body_failed(request_rec *r, body_error e)
{
    failure f = {.kind = FAILURE_SCRIPT,
                 .status = body_error_status(e),
                 .tag = "CT001",
                 .message = body_error_text(e)};

    if (!has(r, "catch"))
        return report_failure(r, APLOG_MODULE_INDEX, &f, 0);
    ap_rprintf(r, "caught: %s", body_error_text(e));
    return OK;
}

static int echo_whole(request_rec *r, body_reader *b)
{
    char *bytes;
    apr_size_t length;
    body_error e = body_read_all(b, &bytes, &length);

    if (e != BODY_OK)
        return body_failed(r, e);
    ap_rwrite(bytes, length, r);
    body_close(b);
    return OK;
}

static int echo_pieces(request_rec *r, body_reader *b)
{
    char piece[1000];

    for (;;) {
        apr_size_t length = number(r, "pieces=", sizeof(piece));
        body_error e = body_read(b, piece, &length);

        if (e != BODY_OK)
            return body_failed(r, e);
        if (length == 0)
            return OK;
        ap_rwrite(piece, length, r);
        ap_rputs("|", r);
    }
}

static int echo_lines(request_rec *r, body_reader *b)
{
    for (;;) {
        const char *line;
        apr_size_t length;
        body_error e = body_read_line(b, number(r, "lines=", 0), &line, &length);

        if (e != BODY_OK)
            return body_failed(r, e);
        if (length == 0)
            return OK;
        ap_rputs("[", r);
        ap_rwrite(line, length, r);
        ap_rputs("]", r);
    }
}

static int print_field(void *data, const form_field *field)
{
    request_rec *r = data;

    ap_rwrite(field->name.bytes, field->name.length, r);
    ap_rputs("=", r);
    ap_rwrite(field->value.bytes, field->value.length, r);
    ap_rputs(";", r);
    return 0;
}

static int echo_form(request_rec *r, body_reader *b)
{
    const char *type = apr_table_get(r->headers_in, "Content-Type");
    char *bytes;
    apr_size_t length;
    form_error error;
    body_error e = body_read_all(b, &bytes, &length);

    if (e != BODY_OK)
        return body_failed(r, e);
    if (form_kind_of(type) == FORM_MULTIPART)
        error = form_parse_multipart(r->pool, type, bytes, length, NULL, print_field, r);
    else
        error = form_parse_urlencoded(r->pool, bytes, length, NULL, print_field, r);
    if (error != FORM_OK)
        ap_rputs(form_error_text(error), r);
    return OK;
}

static int echo(request_rec *r)
{
    body_reader *b = body_open(r, number(r, "limit=", 0));

    if (has(r, "expected"))
        ap_rprintf(r, "%d:", body_expected(r));
    if (has(r, "begin")) {
        ap_rputs("begun:", r);
        ap_rflush(r);
    }
    if (has(r, "pieces"))
        return echo_pieces(r, b);
    if (has(r, "lines"))
        return echo_lines(r, b);
    if (has(r, "form"))
        return echo_form(r, b);
    return echo_whole(r, b);
}

/* --- failures --- */

static int fail_somehow(request_rec *r)
{
    failure f = {.kind = FAILURE_SCRIPT,
                 .tag = "CT002",
                 .status = number(r, "status=", 0),
                 .script = "/srv/hello.lua",
                 .line = 3,
                 .message = "attempt to <index> a nil value",
                 .traceback = "stack:\n\t/srv/hello.lua:3: in f\n  <main>\n"};

    if (has(r, "bare")) {
        f.script = f.traceback = NULL;
        f.line = 0;
    }
    if (has(r, "long")) {
        char *trace = apr_palloc(r->pool, 20001);

        memset(trace, 'x', 20000);
        memcpy(trace, "first ", 6);
        memcpy(trace + 19990, " last\0", 6);
        f.traceback = trace;
    }
    apr_table_setn(r->headers_out, "X-Half-Done", "yes");
    r->status = number(r, "said=", HTTP_OK);
    if (has(r, "length"))
        ap_set_content_length(r, 1000);
    if (has(r, "written") || has(r, "sent"))
        ap_rputs("half an ans", r);
    if (has(r, "sent"))
        ap_rflush(r);
    return report_failure(r, APLOG_MODULE_INDEX, &f, has(r, "details"));
}

static int handle(request_rec *r)
{
    static const struct {
        const char *name;
        int (*f)(request_rec *r);
    } handlers[] = {{"common-conf", show_conf},
                    {"common-count", count},
                    {"common-echo", echo},
                    {"common-fail", fail_somehow}};
    size_t i;

    for (i = 0; r->handler && i < sizeof(handlers) / sizeof(handlers[0]); i++)
        if (strcmp(r->handler, handlers[i].name) == 0)
            return handlers[i].f(r);
    return DECLINED;
}

static void register_hooks(apr_pool_t *p)
{
    (void)p;
    ap_hook_post_config(make_board, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_child_init(claim_row, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_handler(handle, NULL, NULL, APR_HOOK_MIDDLE);
    status_board_hook(show_board);
}
