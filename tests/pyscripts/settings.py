"""What the configuration says for a request."""
from mod_python import apache


def handler(req):
    req.write(repr((dict(req.get_options()), dict(req.get_config()))))
    return apache.OK
