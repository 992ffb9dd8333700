# SPDX-License-Identifier: Apache-2.0
"""What util.FieldStorage sees: a JSON list of [name, value, filename, type]; with ?ask, the repr of an
expression over the form `form`."""
import json

from mod_python import apache, util


def show(field):
    value = field.value
    return [field.name, value if isinstance(value, str) else value.hex(), field.filename, field.type]


def greet(req, name=None, *, mood="fine"):
    return "%s is %s" % (name, mood)


def handler(req):
    keep = int(req.headers_in.get("X-Keep", "0"))
    form = util.FieldStorage(req, keep)
    expression = req.headers_in.get("X-Ask")
    if expression:
        req.write(repr(eval(expression, {"form": form, "util": util, "greet": greet, "req": req})))
    else:
        req.write(json.dumps({"fields": [show(field) for field in form.list], "left": len(req.read())}))
    return apache.OK
