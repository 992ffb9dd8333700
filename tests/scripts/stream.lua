-- Sends the first half, flushes, and sends the second when the client has answered by making a file.
local function exists(name)
    local file = io.open(name)
    return file and file:close()
end

function handle(r)
    r.content_type = "text/plain"
    r:puts("first ")
    r:flush()
    local go = r.filename:gsub("[^/]+$", "") .. r.args
    local deadline = os.time() + 20
    while not exists(go) do
        if os.time() > deadline then
            r:puts("nobody came")
            return apache2.OK
        end
    end
    r:puts("second")
    return apache2.OK
end
