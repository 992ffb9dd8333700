"""Beside a module that is long in loading."""
from mod_python import apache


def handler(req):
    return apache.OK
