# SPDX-License-Identifier: Apache-2.0
"""What handlers import: httpd's constants and functions, and a few helpers of mod_python's.

Everything that touches the server is in the C module `_apache`.
"""

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


def resolve_object(module, obj, arg, silent=0):
    """What the dotted name `obj` stands for in `module`; None when it is missing and `silent`.

    A class on the way is instantiated, with `arg` if its constructor takes it.
    """
    found = module
    for name in obj.split("."):
        if isinstance(found, type):
            found = _instance(found, arg)
        if silent and not hasattr(found, name):
            return None
        found = getattr(found, name)
    return found


def _instance(cls, arg):
    """A new object of `cls`, made with `arg` unless its constructor takes nothing."""
    if cls.__init__ is object.__init__ and cls.__new__ is object.__new__:
        return cls()
    return cls(arg)
