"""The extension readline refuses an interpreter with its own GIL."""
import readline

from mod_python import apache


def handler(req):
    req.write(readline.__name__)
    return apache.OK
