-- Line 7 fails.
local function inner(r)
    local t = {}
    r:puts("secret words")
    -- The message names a variable and holds markup:

    return t["<b>secret & words</b>"].x
end

function handle(r)
    return inner(r) + 1
end
