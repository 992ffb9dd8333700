-- Never ends by itself; the query says how.
local function forever()
    while true do end
end

function handle(r)
    if r.args == "catch" then
        while true do pcall(forever) end
    elseif r.args == "coroutine" then
        coroutine.wrap(forever)()
    elseif r.args == "pattern" then
        return (("a"):rep(100000)):find(("a*"):rep(20) .. "b")
    end
    forever()
end
