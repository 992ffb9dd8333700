"""Line 7 fails."""


def inner(req):
    req.write("secret words")
    # The message holds markup:
    return {}["<b>secret & words</b>"]


def handler(req):
    return inner(req) + 1
