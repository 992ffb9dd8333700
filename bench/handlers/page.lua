-- SPDX-License-Identifier: Apache-2.0
-- A page of 7,596 bytes, made anew for each request: the same bytes as page.html.
local HEAD = [[
<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>Squares and cubes</title></head>
<body>
<h1>Squares and cubes to 151</h1>
<table>
]]
local ROW = "<tr><td>%d</td><td>%d</td><td>%d</td></tr>\n"
local TAIL = "</table>\n</body>\n</html>\n"

function handle(r)
    local rows = {}
    for i = 1, 151 do
        rows[i] = ROW:format(i, i * i, i * i * i)
    end
    r.content_type = "text/html"
    r:puts(HEAD .. table.concat(rows) .. TAIL)
    return apache2.OK
end
