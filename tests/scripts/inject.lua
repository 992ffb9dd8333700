-- Tries to put a line break, or a NUL, into the place that the query names.
local evil = { cr = "a\rb", lf = "a\nX-Injected: yes", crlf = "a\r\nX-Injected: yes", nul = "a\0b" }

function handle(r)
    local where, what = r.args:match("^([%w_]+)%-(%w+)$")
    local value = evil[what]
    if where == "name" then
        r.headers_out[value] = "x"
    elseif where == "content_type" then
        r.content_type = value
    else
        r[where]["X-Test"] = value
    end
    r:puts("accepted")
    return apache2.OK
end
