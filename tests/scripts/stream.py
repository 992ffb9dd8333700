"""Sends the first half, flushes, and sends the second when the client has answered by making a file."""
import os
import time

from mod_python import apache


def handler(req):
    req.content_type = "text/plain"
    req.write("first ")
    req.flush()
    go = os.path.join(os.path.dirname(req.filename), req.args)
    deadline = time.monotonic() + 20
    while not os.path.exists(go):
        if time.monotonic() > deadline:
            req.write("nobody came")
            return apache.OK
        time.sleep(0.01)
    req.write("second")
    return apache.OK
