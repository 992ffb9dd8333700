-- Never ends by itself; the query says how.
local function forever()
    while true do end
end

function handle(r)
    if r.args == "catch" then
        while true do pcall(forever) end
    elseif r.args == "coroutine" then
        coroutine.wrap(forever)()
    end
    forever()
end
