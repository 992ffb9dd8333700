"""Prints the fields of req that the query names, one a line: name=value, or name alone when it has none."""
from mod_python import apache


def handler(req):
    req.content_type = "text/plain"
    for name in req.args.split("&"):
        value = getattr(req, name)
        req.write(name + (f"={value}" if value is not None else "") + "\n")
    return apache.OK
