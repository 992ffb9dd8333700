-- Prints the fields of r that the query names, one a line: name=value, or name alone when it has none.
function handle(r)
    r.content_type = "text/plain"
    for name in r.args:gmatch("[^&]+") do
        local value = r[name]
        r:puts(name, value ~= nil and "=" .. tostring(value) or "", "\n")
    end
    return apache2.OK
end
