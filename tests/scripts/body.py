"""Sends the request's body back; with ?length its length; an error in reading as text and as a log entry."""
from mod_python import apache


def handler(req):
    req.content_type = "application/octet-stream"
    try:
        body = req.read()
    except OSError as e:
        req.log_error(f"cannot read: {e}")
        req.status = 400
        req.write(f"error: {e}")
        return apache.OK
    req.write(str(len(body)) if req.args == "length" else body)
    return apache.OK
