-- ?keep stores r and what belongs to it in globals, ?use touches them later.
function handle(r)
    r.content_type = "text/plain"
    if r.args == "keep" then
        kept = { r = r, headers = r.headers_in, out = r.headers_out, notes = r.notes, puts = r.puts }
        r:puts("kept")
        return apache2.OK
    end
    local old = kept
    local uses = {
        read = function() return old.r.uri end,
        write = function() old.r.status = 201 end,
        puts = function() old.r:puts("to the wrong client") end,
        method = function() old.puts(old.r, "to the wrong client") end,
        body = function() return old.r:requestbody() end,
        get = function() return old.headers["Host"] end,
        set = function() old.out["X-Stale"] = "yes" end,
        note = function() old.notes["a"] = "b" end,
        table = function() return old.r.headers_in["Host"] end,
    }
    local names = {}
    for name in pairs(uses) do
        names[#names + 1] = name
    end
    table.sort(names)
    for _, name in ipairs(names) do
        local ok, message = pcall(uses[name])
        r:puts(name, ": ", ok and "worked" or tostring(message), "\n")
    end
    r:puts("own: ", r.uri, "\n")
    return apache2.OK
end
