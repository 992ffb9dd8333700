"""Works on all five tables: answers with what it found, and sets headers that the client can see."""
from mod_python import apache


def text(value):
    return "nil" if value is None else value


def handler(req):
    req.content_type = "text/plain"
    first = req.headers_in.get("X-In")
    if first is not None:
        req.headers_out["X-Echo"] = first
    req.write(f"X-In={text(first)}\n")
    req.write(f"case={str(req.headers_in.get('x-iN') == first).lower()}\n")
    req.write(f"absent={text(req.headers_in.get('X-Absent'))}\n")
    req.headers_in["X-In"] = "changed"
    req.write(f"changed={req.headers_in['X-In']}\n")
    del req.headers_in["X-In"]
    req.write(f"removed={text(req.headers_in.get('X-In'))}\n")
    req.headers_out["X-Out"] = "one"
    req.headers_out["X-Out"] = "two"
    req.headers_out["X-Gone"] = "x"
    del req.headers_out["X-Gone"]
    req.err_headers_out["X-Err"] = "always"
    req.notes["remember"] = "a note"
    req.write(f"note={req.notes['remember']}\n")
    req.subprocess_env["VARIABLE"] = "value"
    req.write(f"env={req.subprocess_env['VARIABLE']}\n")
    return apache.OK
