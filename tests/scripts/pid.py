"""The id of the process that serves the request."""
import os

from mod_python import apache


def handler(req):
    req.write(str(os.getpid()))
    return apache.OK
