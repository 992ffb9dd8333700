"""Several handlers for one request."""
from mod_python import apache


def first(req):
    req.trace = ["first"]
    return apache.OK


def second(req):
    req.trace.append("second")
    return apache.OK


def last(req):
    req.content_type = "text/plain"
    req.write(",".join(req.trace + ["last"]))
    return apache.OK


def stops(req):
    return apache.HTTP_FORBIDDEN


class Page:
    def __init__(self, req):
        self.title = req.uri

    def show(self, req):
        req.content_type = "text/plain"
        req.write(f"{self.title} by {type(self).__name__}")
        return apache.OK

    @staticmethod
    def plain(req):
        req.content_type = "text/plain"
        req.write("static")
        return apache.OK

    @classmethod
    def named(cls, req):
        req.content_type = "text/plain"
        req.write(cls.__name__)
        return apache.OK


class Bare:
    def show(self, req):
        return Page(req).show(req)


class Callable:
    def __call__(self, req):
        return Page(req).plain(req)


instance = Callable()
