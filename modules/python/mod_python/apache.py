# SPDX-License-Identifier: Apache-2.0
"""What handlers import: httpd's constants and functions, and a few helpers of mod_python's.

Everything that touches the server is in the C module `_apache`.
"""

import atexit
import os

import _apache
from _apache import *  # noqa: F403  the constants, log_error, table, SERVER_RETURN, ...

make_table = _apache.table
REQ_EXIT = "REQ_EXIT"


def import_module(module_name, autoreload=1, log=0, path=None):
    """The module of that name, looked for in `path` (a list of directories) before sys.path.

    With `autoreload`, a module whose file has changed is loaded again. `log` writes a line to the
    error log first.
    """
    from mod_python import _loader

    if log:
        _apache.log_error("mod_python: importing module '%s'" % module_name, _apache.APLOG_NOTICE)
    return _loader.import_module(module_name, path, autoreload)


def module_mtime(module):
    """When the file of a module was changed, in seconds since 1970; 0 when it has none."""
    file = getattr(module, "__file__", None)
    try:
        return os.path.getmtime(file) if file else 0
    except FileNotFoundError:
        return 0


def build_cgi_env(req):
    """A table with the environment a CGI program would have."""
    req.add_cgi_vars()
    env = req.subprocess_env.copy()
    env["GATEWAY_INTERFACE"] = "Python-CGI/1.1"
    env["SCRIPT_NAME"] = req.uri.removesuffix(req.path_info) if req.path_info else req.uri
    if "Authorization" in req.headers_in:
        env["HTTP_AUTHORIZATION"] = req.headers_in["Authorization"]
    return env


def register_cleanup(callback, data=None):
    """Has callback(data) called when the child process ends."""
    atexit.register(callback, data)


def resolve_object(module, obj_str, arg=None, silent=0):
    """What the dotted name `obj_str` stands for in `module`; None when it is missing and `silent`.

    A class whose method is named on the way is instantiated, with `arg` if it takes it.
    """
    from mod_python import _loader

    try:
        return _loader.resolve_object(module, obj_str, arg)
    except AttributeError:
        if silent:
            return None
        raise
