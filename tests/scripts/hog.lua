-- Takes all the memory it can get; the query says how.
function handle(r)
    if r.args == "string" then
        local s = "x"
        while true do s = s .. s end
    elseif r.args == "catch" then
        local ok, message = pcall(function() return ("x"):rep(1 << 30) end)
        r:puts(tostring(ok), " ", message)
        return apache2.OK
    end
    local t = {}
    while true do t[#t + 1] = { #t } end
end
