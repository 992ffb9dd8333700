"""Answers with the status that the query says, and a body of its own."""
from mod_python import apache


def handler(req):
    req.content_type = "text/plain"
    req.status = int(req.args)
    req.write("my own " + req.args)
    return apache.OK
