/* SPDX-License-Identifier: Apache-2.0
 * mod_pypool: the module record, the hooks and the handler.
 *
 * To find one's way: conf says what was configured, group which interpreter serves a request, run
 * what happens in it; child and interp make what these use. modules/README.md tells the whole. */
#include <httpd.h>
#include <http_config.h>
#include <http_log.h>
#include <dlfcn.h>

#include "modules/common/report.h"
#include "modules/common/hot.h"
#include "modules/common/status_board.h"
#include "modules/python/child.h"
#include "modules/python/conf.h"
#include "modules/python/group.h"
#include "modules/python/run.h"

static void register_hooks(apr_pool_t *p);

AP_DECLARE_MODULE(pypool) = {STANDARD20_MODULE_STUFF,
                             pp_conf_create,
                             pp_conf_merge,
                             pp_server_conf_create,
                             NULL,
                             pp_commands,
                             register_hooks,
                             0};

/* What the log and the client are told when a request got no interpreter. */
static failure no_interpreter(apr_status_t why)
{
    failure f = {.kind = FAILURE_SCRIPT};

    if (why == PP_GROUP_TIMEUP) {
        f.status = HTTP_SERVICE_UNAVAILABLE;
        f.tag = "PP015";
        f.message = "no interpreter became free in time: raise PythonInterpreters, or "
                    "PythonPoolWaitTimeout";
    } else {
        f.tag = "PP016";
        f.message = "no interpreter could be made: an earlier entry of this log says why";
    }
    return f;
}

/* SetHandler without PythonHandler: declining would send the file, perhaps a script's source. */
static int nothing_to_run(request_rec *r)
{
    failure f = {.kind = FAILURE_SCRIPT,
                 .tag = "PP018",
                 .script = r->filename,
                 .message = "its handler is mod_python, but no PythonHandler says what to run"};

    if (r->finfo.filetype == APR_NOFILE)
        return DECLINED;
    return report_failure(r, APLOG_MODULE_INDEX, &f, 0);
}

/* PythonHandler. Each line is a step; what it takes is in the file that the name says. */
HOT_PATH static int content_handler(request_rec *r)
{
    const pp_conf *conf;
    const pp_handlers *handlers;
    const pp_handler *first;
    failure f = {0};
    pp_group *group;
    pp_interp *interp;
    int status = PP_RUN_AGAIN;

    if (!r->handler || (strcmp(r->handler, "mod_python") && strcmp(r->handler, "python-program")))
        return DECLINED;
    conf = pp_conf_of(r);
    handlers = pp_conf_handlers(conf, PP_CONTENT, r);
    if (!handlers)
        return pp_conf_has(conf, PP_CONTENT) ? DECLINED : nothing_to_run(r);
    pp_child_begin();
    /* One interpreter for the whole list: the handlers share `req`. */
    first = APR_ARRAY_IDX(handlers->items, 0, const pp_handler *);
    group = pp_group_of(conf, first, r);
    while (status == PP_RUN_AGAIN) {
        apr_status_t rv =
            group ? pp_group_acquire(group, pp_conf_or(conf->pool_wait, PP_DEFAULT_WAIT), &interp)
                  : PP_GROUP_FAILED;

        if (rv != APR_SUCCESS) {
            f = no_interpreter(rv);
            break;
        }
        status = pp_run(interp, group, handlers, conf, r, &f);
        pp_group_release(group, interp);
    }
    pp_child_finish(&f);
    return f.kind ? report_failure(r, APLOG_MODULE_INDEX, &f, conf->debug == 1) : status;
}

/* All modules are loaded here, and no directive has been carried out: the stock module has not
 * started its Python yet. */
static int pre_config(apr_pool_t *p, apr_pool_t *plog, apr_pool_t *ptemp)
{
    (void)p;
    (void)plog;
    (void)ptemp;
    pp_conf_begin();
    if (!ap_find_linked_module("mod_python.c"))
        return OK;
    ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_CRIT, 0, NULL,
                 "PP105: mod_python and mod_pypool both answer the Python directives: remove the "
                 "line \"LoadModule python_module ...\"");
    return HTTP_INTERNAL_SERVER_ERROR;
}

/* Nothing of Python, here or anywhere in the parent. */
static int post_config(apr_pool_t *p, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s)
{
    (void)plog;
    (void)ptemp;
    pp_conf_end(s);
    return pp_child_prepare(p) == APR_SUCCESS ? OK : HTTP_INTERNAL_SERVER_ERROR;
}

/* libpython stays in the process when httpd unloads this module at a restart: loaded anew, it
 * would take another thread key each time, until there are none left. */
static void pin_libpython(void)
{
    Dl_info python, own;

    if (dladdr((void *)(apr_size_t)Py_IsInitialized, &python) &&
        dladdr((void *)(apr_size_t)pin_libpython, &own) && python.dli_fbase != own.dli_fbase)
        (void)dlopen(python.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
}

/* Only what is named here can ever run for a request. */
static void register_hooks(apr_pool_t *p)
{
    (void)p;
    pin_libpython();
    /* The order among modules matters to none of these. */
    ap_hook_pre_config(pre_config, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_post_config(post_config, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_child_init(pp_child_init, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_handler(content_handler, NULL, NULL, APR_HOOK_MIDDLE);
    pp_run_register(content_handler);
    status_board_hook(pp_child_status);
}
