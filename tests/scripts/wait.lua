-- Makes a file, then waits until another one is there: ?mine&theirs. Says whether it came.
local function exists(name)
    local file = io.open(name)
    return file and file:close()
end

function handle(r)
    local folder = r.filename:gsub("[^/]+$", "")
    local mine, theirs = r.args:match("^(%w*)&(%w+)$")
    if mine ~= "" then
        assert(io.open(folder .. "wait/" .. mine, "w")):close()
    end
    local deadline = os.time() + 20
    while not exists(folder .. "wait/" .. theirs) do
        if os.time() > deadline then
            r:puts("nobody came")
            return apache2.OK
        end
    end
    r:puts("met ", theirs)
    return apache2.OK
end
