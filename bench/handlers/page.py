# SPDX-License-Identifier: Apache-2.0
"""A page of 7,596 bytes, made anew for each request: the same bytes as page.html."""
from mod_python import apache

HEAD = """<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>Squares and cubes</title></head>
<body>
<h1>Squares and cubes to 151</h1>
<table>
"""
ROW = "<tr><td>%d</td><td>%d</td><td>%d</td></tr>\n"
TAIL = "</table>\n</body>\n</html>\n"


def handler(req):
    rows = [ROW % (i, i * i, i * i * i) for i in range(1, 152)]
    req.content_type = "text/html"
    req.write(HEAD + "".join(rows) + TAIL)
    return apache.OK
