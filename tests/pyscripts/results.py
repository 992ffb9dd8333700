"""Handlers that end in different ways."""
import http
import sys

from mod_python import apache, util


def say(req, text):
    req.content_type = "text/plain"
    req.write(text)
    return apache.OK


def ok(req):
    return say(req, "ok\n")


def ok_in_numbers(req):
    say(req, "two hundred\n")
    return apache.HTTP_OK


def declined(req):
    req.write("not to be seen")
    return apache.DECLINED


def done(req):
    say(req, "done\n")
    return apache.DONE


def gone(req):
    return apache.HTTP_GONE


def enum(req):
    return http.HTTPStatus.CONFLICT


def announces(req):
    return apache.HTTP_CONTINUE


def none(req):
    return None


def text(req):
    return "200"


def true(req):
    return True


def odd(req):
    return 42


def huge(req):
    return 2 ** 100


def returned(req):
    raise apache.SERVER_RETURN(apache.HTTP_NOT_ACCEPTABLE)


def returned_pair(req):
    say(req, "made\n")
    raise apache.SERVER_RETURN(apache.OK, apache.HTTP_CREATED)


def returned_wrong(req):
    raise apache.SERVER_RETURN("nonsense")


def returned_nothing(req):
    raise apache.SERVER_RETURN()


def no_field(req):
    return say(req, util.FieldStorage(req)["no_such_field"])


def raises(req):
    req.write("not to be seen")
    raise ValueError("secret <b>1</b>")


def leaves(req):
    sys.exit(3)


def interrupts(req):
    raise KeyboardInterrupt


class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError("no")


def unprintable(req):
    raise Unprintable()


def surrogate(req):
    raise ValueError("lone \udcff and \ud800")


def late(req):
    req.write("x" * 100000)
    req.flush()
    raise ValueError("too late")


def assigns(req):
    1 // 0
