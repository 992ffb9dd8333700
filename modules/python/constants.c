/* SPDX-License-Identifier: Apache-2.0
 * The constants of the module: one row each.
 *
 * The values are httpd's own, by their names in its headers, so they are right for the httpd the
 * module was built with. A few have a number here: those are mod_python's own. */
#include "modules/python/apache_module.h"

#include <ap_mmn.h>
#include <ap_mpm.h>
#include <apr_file_info.h>
#include <apr_uri.h>
#include <httpd.h>
#include <http_core.h>
#include <http_log.h>

#include "modules/common/status_names.h"

static const struct number {
    const char *name;
    long value;
} numbers[] = {
    /* what a handler returns */
    {"OK", OK},
    {"DECLINED", DECLINED},
    {"DONE", DONE},
    {"SUSPENDED", SUSPENDED},
    /* levels of log_error; APLOG_NOERRNO could once be added to one, and still can */
    {"APLOG_EMERG", APLOG_EMERG},
    {"APLOG_ALERT", APLOG_ALERT},
    {"APLOG_CRIT", APLOG_CRIT},
    {"APLOG_ERR", APLOG_ERR},
    {"APLOG_WARNING", APLOG_WARNING},
    {"APLOG_NOTICE", APLOG_NOTICE},
    {"APLOG_INFO", APLOG_INFO},
    {"APLOG_DEBUG", APLOG_DEBUG},
    {"APLOG_TRACE1", APLOG_TRACE1},
    {"APLOG_TRACE2", APLOG_TRACE2},
    {"APLOG_TRACE3", APLOG_TRACE3},
    {"APLOG_TRACE4", APLOG_TRACE4},
    {"APLOG_TRACE5", APLOG_TRACE5},
    {"APLOG_TRACE6", APLOG_TRACE6},
    {"APLOG_TRACE7", APLOG_TRACE7},
    {"APLOG_TRACE8", APLOG_TRACE8},
    {"APLOG_NOERRNO", 0},
    /* req.method_number; HEAD is M_GET with req.header_only */
    {"M_GET", M_GET},
    {"M_PUT", M_PUT},
    {"M_POST", M_POST},
    {"M_DELETE", M_DELETE},
    {"M_CONNECT", M_CONNECT},
    {"M_OPTIONS", M_OPTIONS},
    {"M_TRACE", M_TRACE},
    {"M_PATCH", M_PATCH},
    {"M_PROPFIND", M_PROPFIND},
    {"M_PROPPATCH", M_PROPPATCH},
    {"M_MKCOL", M_MKCOL},
    {"M_COPY", M_COPY},
    {"M_MOVE", M_MOVE},
    {"M_LOCK", M_LOCK},
    {"M_UNLOCK", M_UNLOCK},
    {"M_VERSION_CONTROL", M_VERSION_CONTROL},
    {"M_CHECKOUT", M_CHECKOUT},
    {"M_UNCHECKOUT", M_UNCHECKOUT},
    {"M_CHECKIN", M_CHECKIN},
    {"M_UPDATE", M_UPDATE},
    {"M_LABEL", M_LABEL},
    {"M_REPORT", M_REPORT},
    {"M_MKWORKSPACE", M_MKWORKSPACE},
    {"M_MKACTIVITY", M_MKACTIVITY},
    {"M_BASELINE_CONTROL", M_BASELINE_CONTROL},
    {"M_MERGE", M_MERGE},
    {"M_INVALID", M_INVALID},
    /* req.proxyreq */
    {"PROXYREQ_NONE", PROXYREQ_NONE},
    {"PROXYREQ_PROXY", PROXYREQ_PROXY},
    {"PROXYREQ_REVERSE", PROXYREQ_REVERSE},
    {"PROXYREQ_RESPONSE", PROXYREQ_RESPONSE},
    /* req.get_remote_host */
    {"REMOTE_HOST", REMOTE_HOST},
    {"REMOTE_NAME", REMOTE_NAME},
    {"REMOTE_NOLOOKUP", REMOTE_NOLOOKUP},
    {"REMOTE_DOUBLE_REV", REMOTE_DOUBLE_REV},
    /* req.read_body, connection.keepalive, req.used_path_info */
    {"REQUEST_NO_BODY", REQUEST_NO_BODY},
    {"REQUEST_CHUNKED_ERROR", REQUEST_CHUNKED_ERROR},
    {"REQUEST_CHUNKED_DECHUNK", REQUEST_CHUNKED_DECHUNK},
    {"AP_CONN_UNKNOWN", AP_CONN_UNKNOWN},
    {"AP_CONN_CLOSE", AP_CONN_CLOSE},
    {"AP_CONN_KEEPALIVE", AP_CONN_KEEPALIVE},
    {"AP_REQ_ACCEPT_PATH_INFO", AP_REQ_ACCEPT_PATH_INFO},
    {"AP_REQ_REJECT_PATH_INFO", AP_REQ_REJECT_PATH_INFO},
    {"AP_REQ_DEFAULT_PATH_INFO", AP_REQ_DEFAULT_PATH_INFO},
    /* apache.mpm_query: questions, and (the first three) answers */
    {"AP_MPMQ_NOT_SUPPORTED", AP_MPMQ_NOT_SUPPORTED},
    {"AP_MPMQ_STATIC", AP_MPMQ_STATIC},
    {"AP_MPMQ_DYNAMIC", AP_MPMQ_DYNAMIC},
    {"AP_MPMQ_MAX_DAEMON_USED", AP_MPMQ_MAX_DAEMON_USED},
    {"AP_MPMQ_IS_THREADED", AP_MPMQ_IS_THREADED},
    {"AP_MPMQ_IS_FORKED", AP_MPMQ_IS_FORKED},
    {"AP_MPMQ_HARD_LIMIT_DAEMONS", AP_MPMQ_HARD_LIMIT_DAEMONS},
    {"AP_MPMQ_HARD_LIMIT_THREADS", AP_MPMQ_HARD_LIMIT_THREADS},
    {"AP_MPMQ_MAX_THREADS", AP_MPMQ_MAX_THREADS},
    {"AP_MPMQ_MIN_SPARE_DAEMONS", AP_MPMQ_MIN_SPARE_DAEMONS},
    {"AP_MPMQ_MIN_SPARE_THREADS", AP_MPMQ_MIN_SPARE_THREADS},
    {"AP_MPMQ_MAX_SPARE_DAEMONS", AP_MPMQ_MAX_SPARE_DAEMONS},
    {"AP_MPMQ_MAX_SPARE_THREADS", AP_MPMQ_MAX_SPARE_THREADS},
    {"AP_MPMQ_MAX_REQUESTS_DAEMON", AP_MPMQ_MAX_REQUESTS_DAEMON},
    {"AP_MPMQ_MAX_DAEMONS", AP_MPMQ_MAX_DAEMONS},
    /* kinds of files: finfo.filetype */
    {"APR_NOFILE", APR_NOFILE},
    {"APR_REG", APR_REG},
    {"APR_DIR", APR_DIR},
    {"APR_CHR", APR_CHR},
    {"APR_BLK", APR_BLK},
    {"APR_PIPE", APR_PIPE},
    {"APR_LNK", APR_LNK},
    {"APR_SOCK", APR_SOCK},
    {"APR_UNKFILE", APR_UNKFILE},
    /* what apache.stat is asked for, and finfo.valid */
    {"APR_FINFO_LINK", APR_FINFO_LINK},
    {"APR_FINFO_MTIME", APR_FINFO_MTIME},
    {"APR_FINFO_CTIME", APR_FINFO_CTIME},
    {"APR_FINFO_ATIME", APR_FINFO_ATIME},
    {"APR_FINFO_SIZE", APR_FINFO_SIZE},
    {"APR_FINFO_CSIZE", APR_FINFO_CSIZE},
    {"APR_FINFO_DEV", APR_FINFO_DEV},
    {"APR_FINFO_INODE", APR_FINFO_INODE},
    {"APR_FINFO_NLINK", APR_FINFO_NLINK},
    {"APR_FINFO_TYPE", APR_FINFO_TYPE},
    {"APR_FINFO_USER", APR_FINFO_USER},
    {"APR_FINFO_GROUP", APR_FINFO_GROUP},
    {"APR_FINFO_UPROT", APR_FINFO_UPROT},
    {"APR_FINFO_GPROT", APR_FINFO_GPROT},
    {"APR_FINFO_WPROT", APR_FINFO_WPROT},
    {"APR_FINFO_ICASE", APR_FINFO_ICASE},
    {"APR_FINFO_NAME", APR_FINFO_NAME},
    {"APR_FINFO_MIN", APR_FINFO_MIN},
    {"APR_FINFO_IDENT", APR_FINFO_IDENT},
    {"APR_FINFO_OWNER", APR_FINFO_OWNER},
    {"APR_FINFO_PROT", APR_FINFO_PROT},
    {"APR_FINFO_DIRENT", APR_FINFO_DIRENT},
    {"APR_FINFO_NORM", APR_FINFO_NORM},
    {"MODULE_MAGIC_NUMBER_MAJOR", MODULE_MAGIC_NUMBER_MAJOR},
    {"MODULE_MAGIC_NUMBER_MINOR", MODULE_MAGIC_NUMBER_MINOR},
    /* places in finfo and in req.parsed_uri: mod_python's own numbers */
    {"FINFO_MODE", 0},
    {"FINFO_INO", 1},
    {"FINFO_DEV", 2},
    {"FINFO_NLINK", 3},
    {"FINFO_UID", 4},
    {"FINFO_GID", 5},
    {"FINFO_SIZE", 6},
    {"FINFO_ATIME", 7},
    {"FINFO_MTIME", 8},
    {"FINFO_CTIME", 9},
    {"FINFO_FNAME", 10},
    {"FINFO_NAME", 11},
    {"FINFO_FILETYPE", 12},
    {"URI_SCHEME", 0},
    {"URI_HOSTINFO", 1},
    {"URI_USER", 2},
    {"URI_PASSWORD", 3},
    {"URI_HOSTNAME", 4},
    {"URI_PORT", 5},
    {"URI_PATH", 6},
    {"URI_QUERY", 7},
    {"URI_FRAGMENT", 8},
    /* names from before Apache 2, which old scripts return */
    {"REQ_PROCEED", OK},
    {"REQ_ABORTED", HTTP_INTERNAL_SERVER_ERROR},
    {"REQ_NOACTION", DECLINED},
};

/* Content types that httpd's modules take as names of handlers. */
static const struct text {
    const char *name;
    const char *value;
} texts[] = {
    {"CGI_MAGIC_TYPE", CGI_MAGIC_TYPE},
    {"DIR_MAGIC_TYPE", DIR_MAGIC_TYPE},
    {"INCLUDES_MAGIC_TYPE", INCLUDES_MAGIC_TYPE},
    {"INCLUDES_MAGIC_TYPE3", INCLUDES_MAGIC_TYPE3},
};

/* Once for each interpreter: int objects are not shared between them. */
int pp_constants_add(PyObject *module)
{
    const status_name *status;
    size_t i;

    for (status = status_names; status->name; status++) {
        if (PyModule_AddIntConstant(module, status->name, status->status) != 0)
            return -1;
    }
    for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (PyModule_AddIntConstant(module, numbers[i].name, numbers[i].value) != 0)
            return -1;
    }
    for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (PyModule_AddStringConstant(module, texts[i].name, texts[i].value) != 0)
            return -1;
    }
    return 0;
}
