# SPDX-License-Identifier: Apache-2.0
"""A page of 7,596 bytes, made anew for each request: the same bytes as page.html."""
HEAD = """<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>Squares and cubes</title></head>
<body>
<h1>Squares and cubes to 151</h1>
<table>
"""
ROW = "<tr><td>%d</td><td>%d</td><td>%d</td></tr>\n"
TAIL = "</table>\n</body>\n</html>\n"


def application(environ, start_response):
    rows = [ROW % (i, i * i, i * i * i) for i in range(1, 152)]
    body = (HEAD + "".join(rows) + TAIL).encode()
    start_response("200 OK", [("Content-Type", "text/html"), ("Content-Length", str(len(body)))])
    return [body]
