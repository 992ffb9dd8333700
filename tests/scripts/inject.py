"""Tries to put a line break, or a NUL, into the place that the query names."""
from mod_python import apache

EVIL = {"cr": "a\rb", "lf": "a\nX-Injected: yes", "crlf": "a\r\nX-Injected: yes", "nul": "a\0b"}


def handler(req):
    where, what = req.args.split("-")
    value = EVIL[what]
    if where == "name":
        req.headers_out[value] = "x"
    elif where == "content_type":
        req.content_type = value
    else:
        getattr(req, where)["X-Test"] = value
    req.write("accepted")
    return apache.OK
