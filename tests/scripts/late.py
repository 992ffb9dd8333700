"""Answers with the status that the query says when a part of another answer has been sent."""


def handler(req):
    req.content_type = "text/plain"
    req.write("sent")
    req.flush()
    req.write("held")
    return int(req.args)
