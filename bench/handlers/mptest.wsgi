# SPDX-License-Identifier: Apache-2.0
"""A greeting and 2**100: 43 bytes."""
TWO = 2  # not a literal, which CPython would raise to its power when it compiles


def application(environ, start_response):
    body = ("Hello World!" + str(TWO ** 100)).encode()
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))])
    return [body]
