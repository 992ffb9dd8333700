# SPDX-License-Identifier: Apache-2.0
"""A greeting and 2**100: 43 bytes."""
from mod_python import apache

TWO = 2  # not a literal, which CPython would raise to its power when it compiles


def handler(req):
    req.content_type = "text/plain"
    req.write("Hello World!" + str(TWO ** 100))
    return apache.OK
