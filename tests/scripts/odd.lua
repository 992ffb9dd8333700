-- Raises a value that is no plain message; the query says which.
local values = {
    none = nil,
    table = {},
    code = { code = 42 },
    bool = false,
    number = 42,
    func = print,
    thread = coroutine.create(print),
    tostring = setmetatable({}, { __tostring = function() return "secret words" end }),
    evil = setmetatable({}, { __tostring = function() error("secret words") end }),
    liar = setmetatable({}, { __tostring = function() return 42 end }),
    named = setmetatable({}, { __name = "secret\0words" }),
    nul = "secret\0words",
    bytes = "secret \xff\xfe words",
    lines = "secret\nwords\r\n[fake] log line",
    long = ("secret words "):rep(100000),
    empty = "",
}

function handle(r)
    error(values[r.args])
end
