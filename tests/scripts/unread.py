"""Leaves the request's body unread."""
from mod_python import apache


def handler(req):
    req.write("done")
    return apache.OK
