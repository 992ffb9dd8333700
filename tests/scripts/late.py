"""Answers with the status that the query says when a part of another answer has been sent: "404", or when many bytes
have been written, without a flush: "404+100000"."""


def handler(req):
    req.content_type = "text/plain"
    status, _, size = req.args.partition("+")
    if size:
        req.write("x" * int(size))
    else:
        req.write("sent")
        req.flush()
        req.write("held")
    return int(status)
