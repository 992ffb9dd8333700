# SPDX-License-Identifier: Apache-2.0
"""Computes for about one millisecond, always the same work, then writes twelve bytes."""
from mod_python import apache

TURNS = 10000


def handler(req):
    total = 0
    for i in range(TURNS):
        total += i * i % 7
    req.content_type = "text/plain"
    req.write("Hello World!" if total else "")
    return apache.OK
