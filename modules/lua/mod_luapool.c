/* SPDX-License-Identifier: Apache-2.0
 * mod_luapool: the module record, the hooks and the handler. Start reading here: the handler is the
 * list of steps that a request takes. */
#include <httpd.h>
#include <http_config.h>
#include <http_log.h>
#include <http_protocol.h>

#include "modules/common/conf_value.h"
#include "modules/common/length_guard.h"
#include "modules/common/report.h"
#include "modules/common/status_board.h"
#include "modules/lua/child.h"
#include "modules/lua/conf.h"
#include "modules/lua/request.h"
#include "modules/lua/run.h"
#include "modules/lua/scope.h"
#include "modules/lua/script.h"

static void register_hooks(apr_pool_t *p);

AP_DECLARE_MODULE(luapool) = {
    STANDARD20_MODULE_STUFF, lp_conf_make,  lp_conf_merge,  lp_server_conf_make,
    lp_server_conf_merge,    lp_directives, register_hooks, 0};

/* Made in child_init; the parent never touches it. */
static lp_child child;
static ap_filter_rec_t *length_filter;

/* The failure that the lack of a VM is. */
COLD_PATH static failure no_vm(apr_status_t why)
{
    failure f = {.kind = FAILURE_SCRIPT, .status = HTTP_INTERNAL_SERVER_ERROR};

    if (why == APR_TIMEUP) {
        f.status = HTTP_SERVICE_UNAVAILABLE;
        f.tag = "LP007";
        f.message = "no VM came free in time: raise LuaPoolMax (LuaScope server: its second "
                    "number) or LuaPoolWaitTimeout";
    } else {
        f.tag = "LP008";
        f.message = "no VM could be made: an earlier entry of this log says why";
    }
    return f;
}

/* The answer for what is no script: a folder is for other handlers, what is not there is 404. */
COLD_PATH static int no_script(request_rec *r, apr_status_t why)
{
    if (r->finfo.filetype == APR_DIR) {
        return DECLINED;
    }
    ap_log_rerror(APLOG_MARK, APR_STATUS_IS_ENOENT(why) ? APLOG_INFO : APLOG_ERR, why, r,
                  "LP009: can't read the script %s", r->filename);
    return APR_STATUS_IS_ENOENT(why)   ? HTTP_NOT_FOUND
           : APR_STATUS_IS_EACCES(why) ? HTTP_FORBIDDEN
                                       : HTTP_INTERNAL_SERVER_ERROR;
}

/* Whether the request is for a file, as far as httpd knows. */
static int is_for_file(const request_rec *r)
{
    return r->finfo.filetype != APR_NOFILE &&
           (!r->path_info || !*r->path_info || r->used_path_info != AP_REQ_REJECT_PATH_INFO);
}

/* Runs the request's script in the VM; an error is one of finding it. */
static apr_status_t run_script(lp_vm *vm, lp_call *call, failure *f)
{
    request_rec *r = call->r;
    apr_status_t rv = lp_script_find(vm, r->filename, &r->finfo,
                                     (script_freshness)PICK(call->conf, &lp_defaults, freshness),
                                     r->request_time, &call->script);

    if (rv == APR_SUCCESS) {
        call->path = r->filename;
        output_begin(&call->out, r, length_filter);
        lp_run(vm, call, f);
    }
    return rv;
}

/* Whether the script made the response; otherwise it failed, or answers by a status. */
static int has_answered(const lp_call *call, const failure *f)
{
    return f->kind == FAILURE_NONE && (call->status == OK || call->status == DONE);
}

/* Reports a failure; returns what the handler has to return. */
COLD_PATH static int failed(request_rec *r, const lp_conf *conf, const failure *f)
{
    __atomic_add_fetch(&child.row->failures, 1, __ATOMIC_RELAXED);
    return report_failure(r, APLOG_MODULE_INDEX, f, PICK(conf, &lp_defaults, error_details));
}

/* What was written goes out, now that the VM is free again, or is dropped when the script failed or
 * answers by a status. */
static int answer(lp_call *call, failure *f)
{
    if (f->kind == FAILURE_NONE) {
        return output_end(&call->out, call->status);
    }
    output_drop(&call->out);
    f->begun = call->out.bare;
    return failed(call->r, call->conf, f);
}

HOT_PATH static int handler(request_rec *r)
{
    const lp_conf *conf;
    lp_lease lease;
    lp_call call;
    failure f;
    apr_status_t rv;

    if (!r->handler || strcmp(r->handler, "lua-script") != 0) {
        return DECLINED;
    }
    conf = ap_get_module_config(r->per_dir_config, &luapool_module);
    if (!child.vms) { /* child_init failed, and said why */
        f = no_vm(APR_EGENERAL);
        return failed(r, conf, &f);
    }
    if (!is_for_file(r)) {
        return no_script(r, APR_ENOENT);
    }
    lp_child_enter();
    rv = lp_scope_enter(&lease, &child, r, conf);
    if (rv != APR_SUCCESS) {
        lp_child_leave();
        f = no_vm(rv);
        return failed(r, conf, &f);
    }
    call.r = r;
    call.conf = conf;
    rv = run_script(lease.vm, &call, &f);
    lp_scope_leave(&lease, rv != APR_SUCCESS || f.kind != FAILURE_FATAL,
                   rv == APR_SUCCESS && has_answered(&call, &f));
    lp_child_leave();
    if (rv != APR_SUCCESS) {
        return no_script(r, rv);
    }
    return answer(&call, &f);
}

/* Both modules answer the same directives, so the stock one must not be there; asked before the
 * configuration is read, for a clear message. */
static int pre_config(apr_pool_t *p, apr_pool_t *plog, apr_pool_t *ptemp)
{
    (void)p;
    (void)plog;
    (void)ptemp;
    if (!ap_find_linked_module("mod_lua.c")) {
        return OK;
    }
    ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_CRIT, 0, NULL,
                 "LP101: mod_lua and mod_luapool both answer the Lua directives: remove the line "
                 "\"LoadModule lua_module ...\"");
    return HTTP_INTERNAL_SERVER_ERROR;
}

/* Contradictions between directives; also under -t. */
static int check_config(apr_pool_t *p, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s)
{
    lp_server_conf conf = lp_server_conf_of(s, 1);
    const char *fault = lp_server_conf_check(&conf);

    (void)p;
    (void)plog;
    (void)ptemp;
    if (!fault) {
        return OK;
    }
    ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_CRIT, 0, s, "LP102: %s", fault);
    return HTTP_INTERNAL_SERVER_ERROR;
}

static int post_config(apr_pool_t *p, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s)
{
    (void)plog;
    (void)ptemp;
    (void)s;
    return lp_child_prepare(p) == APR_SUCCESS ? OK : HTTP_INTERNAL_SERVER_ERROR;
}

static void child_init(apr_pool_t *pchild, server_rec *s)
{
    lp_child_init(&child, pchild, s);
    lp_scope_init(pchild);
}

static void register_hooks(apr_pool_t *p)
{
    (void)p;
    ap_hook_pre_config(pre_config, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_check_config(check_config, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_post_config(post_config, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_child_init(child_init, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_handler(handler, NULL, NULL, APR_HOOK_MIDDLE);
    length_filter = length_guard_register("LUAPOOL_LENGTH");
    status_board_hook(lp_child_status);
}
