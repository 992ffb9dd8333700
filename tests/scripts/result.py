"""Returns the number that the query says: httpd makes the answer."""


def handler(req):
    req.err_headers_out["X-Kept"] = "yes"
    return int(req.args)
