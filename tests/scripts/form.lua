-- Prints the fields of the query (GET) or of the body (else), sorted by name; names and values in hex.
local function hex(s)
    return (s:gsub(".", function(c) return ("%02x"):format(c:byte()) end))
end

function handle(r)
    r.content_type = "text/plain"
    local first, all
    if r.method == "GET" then
        first, all = r:parseargs()
    else
        first, all = r:parsebody(16 * 1024 * 1024)
    end
    if not first then
        r:puts("error: ", tostring(all))
        return apache2.OK
    end
    local lines = {}
    for name, values in pairs(all) do
        local shown = {}
        for i, value in ipairs(values) do
            shown[i] = hex(value)
        end
        assert(first[name] == values[1])
        lines[#lines + 1] = hex(name) .. "=" .. table.concat(shown, ",") .. "\n"
    end
    table.sort(lines)
    r:puts(table.concat(lines))
    return apache2.OK
end
