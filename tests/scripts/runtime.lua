-- Line 7 fails.
local function inner(r)
    local secret = nil
    r:puts("secret words")
    -- The message names a variable and holds markup:

    return secret["<b>secret & words</b>"].x
end

function handle(r)
    return inner(r) + 1
end
