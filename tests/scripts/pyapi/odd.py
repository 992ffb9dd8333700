# SPDX-License-Identifier: Apache-2.0
"""Calls every attribute and method of every object with arguments nobody would give, and answers each
outcome that is no ordinary exception."""
import json

from mod_python import apache

ODD = [(), None, object(), [], {}, "", "x", "\ud800", "a\0b", "a\r\nb", "\u20ac", b"", b"\xff", bytearray(b"x"),
       memoryview(b"abc"), memoryview(b"abcd")[::2], 0, -1, 1.5, float("nan"), float("inf"), 2 ** 31, 2 ** 63,
       -(2 ** 63), 10 ** 40, True, [None], [b"x", "y"], ["GET", 5], {"a": None}, {1: 2}, lambda *a: 1 / 0, type, iter([1])]
CLEAN = (TypeError, ValueError, BufferError, AttributeError, OverflowError, KeyError, IndexError, OSError, RuntimeError, NotImplementedError,
         ZeroDivisionError)
# These end the response or the process's patience; they have tests of their own.
SKIP = {"internal_redirect", "flush", "discard_request_body", "log_error", "sendfile", "write"}


def attempt(found, label, call, *args):
    try:
        call(*args)
    except CLEAN:
        pass
    except BaseException as error:
        found.append("%s%r: %r" % (label, args[-1:], error))


def torment(found, name, thing):
    for attribute in dir(thing):
        if attribute.startswith("__") or attribute in SKIP:
            continue
        value = getattr(thing, attribute)
        if callable(value):
            attempt(found, name + "." + attribute + "()", value)
            for odd in ODD:
                attempt(found, name + "." + attribute, value, odd)
                attempt(found, name + "." + attribute, value, odd, odd)
                attempt(found, name + "." + attribute, value, "x", odd)
                attempt(found, name + "." + attribute, value, odd, odd, odd)
        else:
            attempt(found, "del " + name + "." + attribute, delattr, thing, attribute)
            for odd in ODD:
                attempt(found, name + "." + attribute + " = ", setattr, thing, attribute, odd)
            if not isinstance(value, (str, int, float, tuple, type(None), dict)):
                repr(value)


def torment_table(found, name, table):
    for odd in ODD:
        attempt(found, name + "[odd]", table.__getitem__, odd)
        attempt(found, name + "[odd] = 'v'", table.__setitem__, odd, "v")
        attempt(found, name + "['k'] = odd", table.__setitem__, "k", odd)
        attempt(found, "del " + name + "[odd]", table.__delitem__, odd)
        attempt(found, "odd in " + name, table.__contains__, odd)
        attempt(found, name + " == odd", table.__eq__, odd)
        attempt(found, "table(odd)", apache.table, odd)


def handler(req):
    found = []
    for round_number in range(2):
        for name in ("headers_in", "headers_out", "err_headers_out", "notes", "subprocess_env"):
            torment_table(found, name, getattr(req, name))
            torment(found, name, getattr(req, name))
        torment_table(found, "table", apache.table({"a": "b"}))
        torment(found, "table", apache.table({"a": "b"}))
        torment(found, "server", req.server)
        torment(found, "connection", req.connection)
        torment(found, "req", req)
        for odd in ODD:
            attempt(found, "req.log_error(m, odd)", req.log_error, "m", odd, odd)
            attempt(found, "req.log_error(odd)", req.log_error, odd, 99)
            attempt(found, "req.write(odd)", req.write, odd)
            attempt(found, "req.write(odd, odd, odd)", req.write, odd, odd, odd)
            attempt(found, "req.sendfile(odd)", req.sendfile, odd, odd)
            attempt(found, "apache.log_error", apache.log_error, odd, odd, odd, odd)
            for function in (apache.mpm_query, apache.exists_config_define, apache.stat, apache.server_root,
                             apache.config_tree):
                attempt(found, function.__name__, function, odd)
                attempt(found, function.__name__, function, odd, odd)
    answer_with(req, found)
    return apache.OK


def answer_with(req, found):
    """What was tormented is put right again, as far as it matters for an answer."""
    req.headers_out.clear()
    req.err_headers_out.clear()
    req.status = 200
    req.status_line = None
    req.assbackwards = 0
    req.chunked = 0
    req.headers_out["X-Found"] = json.dumps([text[:150] for text in found[:20]])
