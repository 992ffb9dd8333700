/* SPDX-License-Identifier: Apache-2.0
 * The methods of `req` that ask httpd something.
 *
 * Where the answer may need the network or another handler, the GIL is released meanwhile; the
 * guard is kept, so the request can't end under it. */
#include "modules/python/request_methods.h"

#include <apr_optional.h>
#include <apr_strings.h>
#include <http_core.h>
#include <http_protocol.h>
#include <util_script.h>
#include "modules/python/apache_module.h"
#include "modules/python/field.h"
#include "modules/python/table.h"

/* What mod_ssl registers, if it is there: declared here, since not every installation has its
 * header. */
APR_DECLARE_OPTIONAL_FN(int, ssl_is_https, (conn_rec *));
APR_DECLARE_OPTIONAL_FN(char *, ssl_var_lookup,
                        (apr_pool_t *, server_rec *, conn_rec *, request_rec *, char *));

/* construct_url(path): the whole URL of a path on this server */
PyObject *pp_request_construct_url(PyObject *op, PyObject *path)
{
    pp_request *req = (pp_request *)op;
    request_rec *r = pp_request_enter(req);
    PyObject *url = NULL;
    const char *uri;

    if (!r)
        return NULL;
    uri = pp_text_copy(r->pool, path, PP_TEXT_LINE, "the path");
    if (uri)
        url = pp_text(ap_construct_url(r->pool, uri, r));
    pp_request_leave(req);
    return url;
}

/* New reference: what one of httpd's functions says of the request. None for NULL. */
static PyObject *ask_text(PyObject *op, const char *(*ask)(request_rec *))
{
    request_rec *r = pp_request_enter((pp_request *)op);
    PyObject *text;

    if (!r)
        return NULL;
    text = pp_text(ask(r));
    pp_request_leave((pp_request *)op);
    return text;
}

/* document_root(): str, of this request: mod_vhost_alias and mod_userdir may have changed it */
PyObject *pp_request_document_root(PyObject *op, PyObject *unused)
{
    (void)unused;
    return ask_text(op, ap_document_root);
}

/* auth_name(): AuthName of the directory, or None */
PyObject *pp_request_auth_name(PyObject *op, PyObject *unused)
{
    (void)unused;
    return ask_text(op, ap_auth_name);
}

/* auth_type(): AuthType of the directory, or None */
PyObject *pp_request_auth_type(PyObject *op, PyObject *unused)
{
    (void)unused;
    return ask_text(op, ap_auth_type);
}

/* get_basic_auth_pw(): the password of basic authentication, or None. Sets req.user. */
PyObject *pp_request_get_basic_auth_pw(PyObject *op, PyObject *unused)
{
    request_rec *r = pp_request_enter((pp_request *)op);
    const char *user = NULL;
    const char *password = NULL;
    PyObject *answer;

    (void)unused;
    if (!r)
        return NULL;
    /* Unlike ap_get_basic_auth_pw this needs no AuthType, and logs nothing for other clients. */
    if (ap_get_basic_auth_components(r, &user, &password) == APR_SUCCESS) {
        r->user = apr_pstrdup(r->pool, user);
        r->ap_auth_type = apr_pstrdup(r->pool, "Basic");
    }
    answer = pp_text(password);
    pp_request_leave((pp_request *)op);
    return answer;
}

/* get_remote_host([type[, str_is_ip]]): the client's name or address; with str_is_ip the pair
 * (that, whether it is an address) */
PyObject *pp_request_get_remote_host(PyObject *op, PyObject *args)
{
    request_rec *r;
    PyObject *pair = Py_None;
    PyObject *answer;
    const char *host;
    int type = REMOTE_NAME;
    int is_ip = 0;

    if (!PyArg_ParseTuple(args, "|iO:get_remote_host", &type, &pair))
        return NULL;
    r = pp_request_enter((pp_request *)op);
    if (!r)
        return NULL;
    /* May ask the DNS. */
    Py_BEGIN_ALLOW_THREADS
    host = ap_get_useragent_host(r, type, &is_ip);
    Py_END_ALLOW_THREADS
    answer = pp_text(host);
    pp_request_leave((pp_request *)op);
    if (answer && host && pair != Py_None)
        Py_SETREF(answer, Py_BuildValue("(Oi)", answer, is_ip));
    return answer;
}

/* get_options(): table of the PythonOptions in effect. As get_config, a copy: the server's own
 * tables are shared by all threads. */
PyObject *pp_request_get_options(PyObject *op, PyObject *unused)
{
    pp_request *req = (pp_request *)op;
    PyObject *copy;

    (void)unused;
    if (!pp_request_enter(req))
        return NULL;
    copy = pp_table_copy_set(pp_state_of(req->call->module)->table_type, req->call->options);
    pp_request_leave(req);
    return copy;
}

/* get_config(): table of the directives in effect */
PyObject *pp_request_get_config(PyObject *op, PyObject *unused)
{
    pp_request *req = (pp_request *)op;
    PyObject *copy;

    (void)unused;
    if (!pp_request_enter(req))
        return NULL;
    copy = pp_table_copy(pp_state_of(req->call->module)->table_type, req->call->config);
    pp_request_leave(req);
    return copy;
}

/* add_common_vars(): fills subprocess_env with what CGI and SSI share */
PyObject *pp_request_add_common_vars(PyObject *op, PyObject *unused)
{
    request_rec *r = pp_request_enter((pp_request *)op);

    (void)unused;
    if (!r)
        return NULL;
    /* With HostnameLookups it asks the DNS. */
    Py_BEGIN_ALLOW_THREADS
    ap_add_common_vars(r);
    Py_END_ALLOW_THREADS
    pp_request_leave((pp_request *)op);
    Py_RETURN_NONE;
}

/* add_cgi_vars(): fills subprocess_env as for a CGI program */
PyObject *pp_request_add_cgi_vars(PyObject *op, PyObject *unused)
{
    request_rec *r = pp_request_enter((pp_request *)op);

    (void)unused;
    if (!r)
        return NULL;
    /* Runs a sub-request for PATH_TRANSLATED, and so perhaps other handlers. */
    Py_BEGIN_ALLOW_THREADS
    ap_add_common_vars(r);
    ap_add_cgi_vars(r);
    Py_END_ALLOW_THREADS
    pp_request_leave((pp_request *)op);
    Py_RETURN_NONE;
}

/* is_https(): 0 without mod_ssl, which registers the function asked for here */
PyObject *pp_request_is_https(PyObject *op, PyObject *unused)
{
    request_rec *r = pp_request_enter((pp_request *)op);
    APR_OPTIONAL_FN_TYPE(ssl_is_https) *is_https = APR_RETRIEVE_OPTIONAL_FN(ssl_is_https);
    int yes;

    (void)unused;
    if (!r)
        return NULL;
    yes = is_https && is_https(r->connection);
    pp_request_leave((pp_request *)op);
    return PyLong_FromLong(yes);
}

/* ssl_var_lookup(name): what mod_ssl knows under that name, or None */
PyObject *pp_request_ssl_var_lookup(PyObject *op, PyObject *name)
{
    request_rec *r = pp_request_enter((pp_request *)op);
    APR_OPTIONAL_FN_TYPE(ssl_var_lookup) *lookup = APR_RETRIEVE_OPTIONAL_FN(ssl_var_lookup);
    const char *variable;
    PyObject *answer = NULL;

    if (!r)
        return NULL;
    variable = pp_text_copy(r->pool, name, PP_TEXT_LINE, "the name");
    if (variable)
        answer = pp_text(
            lookup ? lookup(r->pool, r->server, r->connection, r, apr_pstrdup(r->pool, variable))
                   : NULL);
    pp_request_leave((pp_request *)op);
    return answer;
}

/* meets_conditions(): apache.OK, or the status that answers a conditional request */
PyObject *pp_request_meets_conditions(PyObject *op, PyObject *unused)
{
    request_rec *r = pp_request_enter((pp_request *)op);
    int status;

    (void)unused;
    if (!r)
        return NULL;
    status = ap_meets_conditions(r);
    pp_request_leave((pp_request *)op);
    return PyLong_FromLong(status);
}
