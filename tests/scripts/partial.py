"""Fails after a part of the answer; ?flush sends that part first."""


def handler(req):
    req.content_type = "text/plain"
    req.headers_out["X-Partial"] = "yes"
    req.write('{"partial":')
    if req.args == "flush":
        req.flush()
    raise ValueError("secret words")
