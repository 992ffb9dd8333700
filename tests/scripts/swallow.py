"""Takes no notice of what happens while the body is read, and answers by a status."""
from mod_python import apache


def handler(req):
    try:
        req.read()
    except OSError:
        pass
    return apache.HTTP_NOT_FOUND
