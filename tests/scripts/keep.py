"""?keep stores req and what belongs to it in globals, ?use touches them later."""
from mod_python import apache

kept = {}


def uses(old):
    return {
        "read": lambda: old["req"].uri,
        "write": lambda: setattr(old["req"], "status", 201),
        "puts": lambda: old["req"].write("to the wrong client"),
        "method": lambda: old["write"]("to the wrong client"),
        "body": lambda: old["req"].read(),
        "get": lambda: old["headers"]["Host"],
        "set": lambda: old["out"].__setitem__("X-Stale", "yes"),
        "note": lambda: old["notes"].__setitem__("a", "b"),
        "table": lambda: old["req"].headers_in["Host"],
        "flush": lambda: old["req"].flush(),
        "log": lambda: old["req"].log_error("to the wrong log"),
    }


def handler(req):
    req.content_type = "text/plain"
    if req.args == "keep":
        kept.update(req=req, headers=req.headers_in, out=req.headers_out, notes=req.notes, write=req.write)
        req.write("kept")
        return apache.OK
    for name, use in sorted(uses(kept).items()):
        try:
            use()
            req.write(f"{name}: worked\n")
        except RuntimeError as e:
            req.write(f"{name}: {e}\n")
    req.write(f"own: {req.uri}\n")
    return apache.OK
