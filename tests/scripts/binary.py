"""Every byte value, NUL included, through both ways of writing."""
from mod_python import apache


def handler(req):
    req.content_type = "application/octet-stream"
    req.write(bytes(range(256)))
    req.write(bytes(range(256)), 0)
    return apache.OK
