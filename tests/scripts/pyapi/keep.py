# SPDX-License-Identifier: Apache-2.0
"""Keeps what belongs to a request in a global, and uses it in the next."""
import json

from mod_python import apache

kept = {}


def use(thing, name):
    try:
        if name == "[]":
            return repr(thing["Host"])
        value = getattr(thing, name)
        return repr(value() if callable(value) else value)
    except Exception as error:
        return "%s: %s" % (type(error).__name__, error)


def handler(req):
    uses = [("req", "uri"), ("req", "read"), ("req", "flush"), ("req", "headers_in"), ("req", "get_options"),
            ("req", "connection"), ("table", "[]"), ("table", "keys"), ("table", "copy"), ("connection", "client_ip"),
            ("connection", "notes"), ("notes", "items"), ("bound", "__call__")]
    answers = {"%s.%s" % pair: use(kept[pair[0]], pair[1]) for pair in uses} if kept else {}
    if kept:
        kept["req"].note = "still an object"
        answers["same"] = kept["req"] is req
    kept.update(req=req, table=req.headers_in, connection=req.connection, notes=req.connection.notes,
                bound=req.document_root)
    req.write(json.dumps(answers))
    return apache.OK
