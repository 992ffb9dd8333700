/* SPDX-License-Identifier: Apache-2.0
 * The methods of `req`, by file; request.c puts them in a table. Each gives a new reference. */
#ifndef INTERPOOL_PYTHON_REQUEST_METHODS_H
#define INTERPOOL_PYTHON_REQUEST_METHODS_H

#include "modules/python/request.h"

/* request_write.c, request_file.c: what the script sends. `names` are those of the arguments given
 * by name, which stand at the end of `args`. */
PyObject *pp_request_write(PyObject *op, PyObject *const *args, Py_ssize_t n, PyObject *names);
PyObject *pp_request_flush(PyObject *op, PyObject *unused);
PyObject *pp_request_sendfile(PyObject *op, PyObject *args);

/* request_body.c: what the client sent. Counts and hints are in `args`, as PyArg_ParseTuple takes
 * them. */
PyObject *pp_request_read(PyObject *op, PyObject *args);
PyObject *pp_request_readline(PyObject *op, PyObject *args);
PyObject *pp_request_readlines(PyObject *op, PyObject *args);
PyObject *pp_request_discard_body(PyObject *op, PyObject *unused);

/* request_do.c: what changes the response, or makes httpd do something. */
PyObject *pp_request_log_error(PyObject *op, PyObject *const *args, Py_ssize_t n);
PyObject *pp_request_set_content_length(PyObject *op, PyObject *length);
PyObject *pp_request_send_http_header(PyObject *op, PyObject *unused);
PyObject *pp_request_set_etag(PyObject *op, PyObject *unused);
PyObject *pp_request_set_last_modified(PyObject *op, PyObject *unused);
PyObject *pp_request_update_mtime(PyObject *op, PyObject *seconds);
PyObject *pp_request_allow_methods(PyObject *op, PyObject *args);
PyObject *pp_request_register_cleanup(PyObject *op, PyObject *args);
PyObject *pp_request_add_input_filter(PyObject *op, PyObject *name);
PyObject *pp_request_add_output_filter(PyObject *op, PyObject *name);
PyObject *pp_request_internal_redirect(PyObject *op, PyObject *target);

/* request_ask.c: what httpd knows. `unused` is NULL: METH_NOARGS passes it. */
PyObject *pp_request_construct_url(PyObject *op, PyObject *path);
PyObject *pp_request_document_root(PyObject *op, PyObject *unused);
PyObject *pp_request_auth_name(PyObject *op, PyObject *unused);
PyObject *pp_request_auth_type(PyObject *op, PyObject *unused);
PyObject *pp_request_get_basic_auth_pw(PyObject *op, PyObject *unused);
PyObject *pp_request_get_remote_host(PyObject *op, PyObject *args);
PyObject *pp_request_get_options(PyObject *op, PyObject *unused);
PyObject *pp_request_get_config(PyObject *op, PyObject *unused);
PyObject *pp_request_add_common_vars(PyObject *op, PyObject *unused);
PyObject *pp_request_add_cgi_vars(PyObject *op, PyObject *unused);
PyObject *pp_request_is_https(PyObject *op, PyObject *unused);
PyObject *pp_request_ssl_var_lookup(PyObject *op, PyObject *name);
PyObject *pp_request_meets_conditions(PyObject *op, PyObject *unused);

#endif
