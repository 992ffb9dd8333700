"""Reads the body and does not look whether that worked."""
from mod_python import apache


def handler(req):
    req.write(str(len(req.read())))
    return apache.OK
