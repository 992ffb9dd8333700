"""Sends a header for the first number of the query, then returns the second one, or raises an error."""


def handler(req):
    first, _, second = req.args.partition("+")
    req.content_type = "text/plain"
    req.status = int(first)
    req.flush()
    return int(second)
