# SPDX-License-Identifier: Apache-2.0
"""Evaluates the Python expressions of the request's body, one on each line, and answers a JSON list:
for each the repr of its value, or "ExceptionType: message"."""
import json

from mod_python import Cookie, apache, util


def answer(expression, names):
    try:
        return repr(eval(expression, names))
    except Exception as error:
        return "%s: %s" % (type(error).__name__, error)


def handler(req):
    names = {"Cookie": Cookie, "req": req, "apache": apache, "util": util}
    encoded = req.headers_in.get("X-Ask")
    if encoded:
        lines = bytes.fromhex(encoded).decode("utf-8", "surrogateescape").split("\n")
    else:
        lines = req.read().decode("utf-8", "surrogateescape").split("\n")
    answers = [answer(line, names) for line in lines if line.strip()]
    req.content_type = "application/json"
    req.write(json.dumps(answers))
    return apache.OK
