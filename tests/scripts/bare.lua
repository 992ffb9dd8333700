-- Sends a header for the first number of the query, then returns the second one, or raises an error.
function handle(r)
    local first, second = r.args:match("^(%d+)%+(-?%w+)$")
    r.content_type = "text/plain"
    r.status = tonumber(first)
    r:flush()
    return tonumber(second) or error("after the header")
end
