# SPDX-License-Identifier: Apache-2.0
"""Twelve bytes, for mod_wsgi."""


def application(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "12")])
    return [b"Hello World!"]
