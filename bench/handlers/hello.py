# SPDX-License-Identifier: Apache-2.0
"""Twelve bytes. Runs unchanged under mod_python and mod_pypool."""
from mod_python import apache


def handler(req):
    req.content_type = "text/plain"
    req.write("Hello World!")
    return apache.OK
