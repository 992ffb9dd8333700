# SPDX-License-Identifier: Apache-2.0
"""Scripts that mean harm: ways around LuaTimeLimit, LuaMemoryLimit and LuaScope once that were open once."""
import pytest

from harness import process
from harness.client import Connection, fetch, request_bytes
from harness.httpd import MEMORY_FACTOR, Sizes, load_module

FOREVER = "function() while true do end end"

NOTHINGS = "setmetatable({}, {__len = function() return 1 << 26 end})"
CHAIN = "local t = {''} for i = 1, 1900 do t = setmetatable({}, {__index = t}) end "

# Each would run for ever, or for minutes, if it were let.
ENDLESS = {
    "finalizer_in_a_loop": f"while true do setmetatable({{}}, {{__gc = {FOREVER}}}) collectgarbage() end",
    "finalizer_replaced": f"local m = {{__gc = true}} setmetatable({{}}, m) m.__gc = {FOREVER} while true do collectgarbage() end",
    "finalizer_by_debug": f"debug.setmetatable({{}}, {{__gc = {FOREVER}}}) while true do collectgarbage() end",
    "close_after_an_error": f"local c = coroutine.create(function() local x <close> = setmetatable({{}}, {{__close = {FOREVER}}}) "
                            "error('x') end) coroutine.resume(c) coroutine.close(c)",
    "close_of_a_coroutine_the_limit_ended": f"coroutine.wrap(function() local x <close> = setmetatable({{}}, {{__close = {FOREVER}}}) "
                                            "while true do end end)()",
    "close_by_a_close": f"debug.setmetatable(coroutine.running(), {{__close = coroutine.close}}) local co = coroutine.create(function() "
                        f"local x <close> = setmetatable({{}}, {{__close = {FOREVER}}}) while true do end end) "
                        "do local y <close> = co coroutine.resume(co) end",
    "finalizer_of_files": f"getmetatable(io.stdout).__gc = {FOREVER} io.tmpfile() collectgarbage() while true do end",
    "finalizer_of_tables_of_r": f"debug.getmetatable(r.notes).__gc = {FOREVER} local _ = r.headers_out collectgarbage() while true do end",
    "resume_without_memory": """
        local dead = coroutine.create(print)
        coroutine.resume(dead)
        local t, u = {}, {}
        for i = 1, 4000 do t[i], u[i] = false, false end
        local resume, rep, pcall, char = coroutine.resume, string.rep, pcall, string.char
        local i, j, size, p = 0, 0, 200000, false
        local function big() t[i + 1] = rep('y', size) i = i + 1 end
        local function small() p = {p} end
        local function tiny() u[j + 1] = char(1 + j // 250, 1 + j % 250) j = j + 1 end
        while size > 60 do if not pcall(big) then size = size // 2 end end
        while pcall(small) do end
        while pcall(tiny) do end
        pcall(resume, dead)
        t, u, p = nil, nil, nil
        collectgarbage()
        while true do end""",
    # loops in C that call nothing but C functions
    "comparator_in_c": f"table.sort({NOTHINGS}, getmetatable)",
    "elements_in_c": f"table.move({NOTHINGS[:-2]}, __index = getmetatable}}), 1, 1 << 26, 1, {{}})",
    "reader_in_c": "load(io.popen([[yes ' ']]):lines(1))",
    "destination_in_c": f"table.move({{}}, 1, 1 << 26, 1, {NOTHINGS[:-2]}, __newindex = getmetatable}}))",
    # ... or nothing at all: each element is looked for in 1,900 tables
    "move_through_tables": CHAIN + "table.move(t, 1, 1 << 26, 1, {})",
    "move_into_tables": CHAIN.replace("__index", "__newindex") + "table.move({}, 1, 1 << 26, 1, t)",
    "concat_of_tables": "local t = {} for i = 1, 2e6 do t[i] = '' end " + CHAIN.replace("local t = {''}", "") + "table.concat(t, '', 1, 2e6)",
    "unpack_of_tables": CHAIN + "table.unpack(t, 1, 999000)",
    "sort_of_tables": CHAIN + "getmetatable(t).__len = function() return 1 << 26 end table.sort(t, getmetatable)",
    "insert_in_tables": CHAIN + "getmetatable(t).__len = function() return 1 << 26 end table.insert(t, 1, nil)",
    "named_pipe": "os.remove(r.filename .. '.pipe') os.execute('mkfifo ' .. r.filename .. '.pipe') io.open(r.filename .. '.pipe')",
}

# Each would spend for ever, or very long, in one C function.
IN_C = {
    "move_nothing": ("table.move({}, 1, 1 << 62, 2)", "too many elements to move"),
    "move_all_integers": ("table.move({}, math.mininteger, -1, math.mininteger + 1)", "too many elements to move"),
    "insert": ("table.insert(setmetatable({}, {__len = function() return 1 << 61 end}), 1, 1)", "too many elements to move"),
    "insert_border": ("local t = {} for k = 0, 61 do t[1 << k] = 1 end assert(#t < 1 << 26 or not pcall(table.insert, t, 1, 1)) "
                      "error('too many elements to move')", "too many elements to move"),
    "remove": ("table.remove(setmetatable({}, {__len = function() return 1 << 62 end}), 1)", "too many elements to move"),
    "insert_nothing": ("table.insert(setmetatable({}, {__len = function() return 1 << 61 end}), 1, nil)", "too many elements to move"),
    "insert_in_a_number": ("debug.setmetatable(1, {__len = function() return 1 << 61 end, __index = type, __newindex = type}) "
                           "table.insert(1, 1, 1)", "too many elements to move"),
    "concat": ("table.concat(setmetatable({}, {__index = table.concat}), '', 1, 1 << 62)", "too many elements to join"),
    "concat_length": ("table.concat(setmetatable({}, {__len = function() return 1 << 62 end, __index = table.concat}))",
                      "too many elements to join"),
    "sort": ("table.sort(setmetatable({}, {__len = function() return 1 << 30 end, __index = type, __newindex = type}))", "array too big"),
}

# What a script may count on; each gives its last value.
TRUTHS = {
    "several": ("local s = '' local function f(k) setmetatable({}, {__gc = function() s = s .. k end}) end f 'a' f 'b' f 'c' "
                "collectgarbage() return s", "cba"),
    "once": ("local n, m = 0, {} m.__gc = function() n = n + 1 end setmetatable(setmetatable({}, m), m) "
             "collectgarbage() collectgarbage() return n", "1"),
    "not_before_the_end": ("local n, t = 0 t = setmetatable({}, {__gc = function() n = n + 1 end}) collectgarbage() "
                           "local before = n t = nil collectgarbage() return before .. n", "01"),
    "given_the_table": ("local seen setmetatable({name = 'mine'}, {__gc = function(t) seen = t end}) collectgarbage() "
                        "return seen.name", "mine"),
    "set_anew": ("local n, m = 0, {} function m.__gc(t) n = n + 1 setmetatable(t, m) end setmetatable({}, m) "
                 "for _ = 1, 3 do collectgarbage() end return n", "3"),
    "seen_as_set": ("local f = print local m = setmetatable({__gc = f}, nil) setmetatable({}, m) "
                    "return tostring(m.__gc == f and rawget(m, '__gc') == f and next(m) == '__gc' and next(m, '__gc') == nil)", "true"),
    "changed_later": ("local s, m = '', {__gc = true} setmetatable({}, m) m.__gc = function() s = 'later' end collectgarbage() return s",
                      "later"),
    "none_when_set": ("local s, m = '', {} setmetatable({}, m) m.__gc = function() s = 'ran' end collectgarbage() return s", ""),
    "errors_stay_inside": ("setmetatable({}, {__gc = error}) collectgarbage() return 'on'", "on"),
    "may_yield": ("setmetatable({}, {__gc = coroutine.yield}) collectgarbage() return 'on'", "on"),
    "nested": ("local n, m = 0, {} function m.__gc() n = n + 1 if n < 5 then setmetatable({}, m) end end setmetatable({}, m) "
               "for _ = 1, 5 do collectgarbage() end return n", "5"),
    "weak_values_go_first": ("local w = setmetatable({}, {__mode = 'v'}) local seen w[1] = setmetatable({}, {__gc = function() "
                             "seen = w[1] == nil end}) collectgarbage() return tostring(seen)", "true"),
    "repeat_nothing": ("return #(''):rep(1 << 62) .. #(''):rep(1 << 62, '') .. #(''):rep(3, 'x') .. #('x'):rep(-1)", "0020"),
    "moves": ("local t = table.move({1, 2, 3}, 1, 3, 2) table.insert(t, 1, 0) table.insert(t, 9) table.remove(t, 2) table.remove(t) "
              "table.sort(t, function(a, b) return a > b end) return table.concat(t)", "3210"),
}

# A length that grows when it is asked for again: the second answer counts for nothing.
GROWING = "setmetatable({}, {__len = function() n = (n or 0) + 1 return n > 1 and 1 << 30 or 3 end, __index = %s, __newindex = type})"
TRUTHS.update({
    "length_asked_once_insert": (f"table.insert({GROWING % 'type'}, 1, 1) return n", "1"),
    "length_asked_once_remove": (f"return table.remove({GROWING % 'type'}, 1) .. n", "table1"),
    "length_asked_once_sort": (f"table.sort({GROWING % '{1, 2, 3}'}) return n", "1"),
    "length_of_ones_own": ("local t = setmetatable({1, 2, 3}, {__len = rawlen}) table.insert(t, 1, 0) local gone = table.remove(t, 2) "
                           "table.sort(t, function(a, b) return a > b end) return gone .. table.concat(t) .. rawlen(t)", "13203"),
    # what lies in tables behind many others is found, moved and stored as ever
    "deep_move": ("local t = DEEP('__index', {1, 2, 3}) local u = table.move(t, 1, 3, 2) return tostring(u == t) .. table.concat(t, ',') .. rawlen(t)",
                  "true1,1,2,34"),
    "deep_move_on_itself": ("local t = DEEP('__index', {1, 2, 3}) table.move(t, 1, 3, 2, t) return table.concat(t, ',', 1, 4)", "1,1,2,3"),
    "deep_target": ("local b = {} local t = DEEP('__newindex', b) local u = table.move({1, 2, 3}, 1, 3, 1, t) return tostring(u == t) .. "
                    "#t .. table.concat(b)", "true0123"),
    "deep_between": ("local b = {} local t = table.move(DEEP('__index', {1, 2}), 1, 2, 1, DEEP('__newindex', b)) return #b .. #t", "20"),
    "deep_concat": ("return table.concat(DEEP('__index', {1, 2, 3}), '-', 1, 3) .. table.concat(DEEP('__index', {1}))", "1-2-3"),
    "deep_unpack": ("local t = DEEP('__index', {1, 2, 3}) return table.concat({table.unpack(t, 1, 4)}) .. #{table.unpack(t)}", "1230"),
    "deep_sort": ("local t = DEEP('__index', {}) t[1], t[2], t[3] = 3, 1, 2 table.sort(t) return table.concat(t) .. rawlen(t)", "1233"),
    "deep_insert": ("local t = DEEP('__index', {}) t[1], t[2] = 1, 2 table.insert(t, 1, 0) return table.concat(t) .. table.remove(t, 1)", "0120"),
})

HOGS = {
    "notes": "r.notes.k = s",
    "headers": "r.headers_out.k = s",
    "entries": "r.headers_out:add('a-name', 'value')",
    "environment": "r.subprocess_env.k = s",
    "uri": "r.uri = s",
    "content_type": "r.content_type = s",
    "statuses": "r.status = 599",
    "realm": "local _ = r.auth_name",
    "password": "local _ = r.basic_auth_pw",
    "arguments": "r:parseargs()",
    "body": "r:parsebody()",
}


def write(server, name, body):
    """A script whose handle(r) has this body."""
    (server.docroot / name).write_text(f"function handle(r)\n{body}\nend\n")


class Limits:
    MODULES = ("luapool",)
    SCRIPTS = None
    SIZES = Sizes(threads=4, prefork=2)


class TestTime(Limits):
    CONF = "<Files bad.lua>\nLuaTimeLimit 200ms\n</Files>\n"

    @pytest.mark.parametrize("way", ENDLESS)
    def test_an_endless_script_is_stopped(self, server, way):
        server.docroot.chmod(0o777)
        write(server, "bad.lua", ENDLESS[way])
        with server.expect_log("LP006: .*LuaTimeLimit"):
            assert fetch(server.port, "/bad.lua").status == 503

    @pytest.mark.parametrize("way", IN_C)
    def test_a_loop_in_c_is_not_begun(self, server, way):
        script, message = IN_C[way]
        write(server, "c.lua", script)
        with server.expect_log("LP001: .*" + message):
            assert fetch(server.port, "/c.lua").status == 500

    @pytest.mark.parametrize("truth", TRUTHS)
    def test_what_lua_promises_holds(self, server, truth):
        body, value = TRUTHS[truth]
        write(server, "truth.lua", "local function DEEP(event, t) for i = 1, 20 do t = setmetatable({}, {[event] = t}) end return t end\n"
                                   f"r:puts((function()\n{body}\nend)())")
        assert fetch(server.port, "/truth.lua").text == value

    def test_finalizers_end_with_the_vm(self, server):
        for finalizer in (f"{{__gc = {FOREVER}}}", f"{{__gc = setmetatable({{}}, {{__call = {FOREVER}}})}}"):
            write(server, "kept.lua", f"kept = setmetatable({{}}, {finalizer}) r:puts('fine')")
            assert fetch(server.port, "/kept.lua").text == "fine"

    def test_functions_of_the_module_stand_any_call(self, server):
        write(server, "main.lua", """
            local main, tried = coroutine.running(), 0
            local function try()
                for level = 0, 9 do
                    local found = debug.getinfo(main, level, 'f')
                    if found and found.func ~= handle then
                        for _, value in ipairs { io.stdout, r, r.notes, {}, 1, '', print } do
                            pcall(found.func, value)
                            pcall(coroutine.wrap(found.func), value)
                        end
                        pcall(found.func)
                        tried = tried + 1
                    end
                end
            end
            setmetatable({}, {__gc = try})
            collectgarbage()
            pcall(error, setmetatable({}, {__tostring = try}))
            coroutine.wrap(try)()
            r:puts(tostring(tried > 2))""")
        assert fetch(server.port, "/main.lua").text == "true"


class TestLongerScope(Limits):
    CONF = "LuaScope server\n"

    def test_a_finalizer_after_the_response_is_stopped(self, server):
        write(server, "kept.lua", f"collectgarbage('stop') setmetatable({{}}, {{__gc = {FOREVER}}}) "
                                  "local t = {} for i = 1, 1e5 do t[i] = {} end r:puts('fine')")
        for _ in range(2):
            assert fetch(server.port, "/kept.lua").text == "fine"


class TestSlowClients(Limits):
    """Signals of the watchdog begin httpd's own time-out anew: a client held its thread for as long as it liked."""
    CONF = "Timeout 2\nSendBufferSize 8192\n<Files bad.lua>\nLuaTimeLimit 300ms\n</Files>\n"
    HEAD = b"POST /bad.lua HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n"

    BODIES = {"whole": "r:requestbody()", "form": "r:parsebody(0)", "file": "r:requestbody(r.filename .. '.body')"}

    @pytest.mark.parametrize("drips", [False, True], ids=["stalls", "drips"])
    @pytest.mark.parametrize("way", BODIES)
    def test_a_body_that_does_not_come(self, server, way, drips):
        server.docroot.chmod(0o777)
        write(server, "bad.lua", self.BODIES[way])
        with server.expect_log("LP006"), Connection(server.port) as client:
            client.send(self.HEAD)
            if drips:
                client.drip()
            assert client.response().status == 503

    def test_a_response_that_nobody_takes(self, server):
        write(server, "bad.lua", "while true do r:write(('x'):rep(100000)) end")
        with Connection(server.port) as client, server.expect_log("LP006", seconds=20):
            client.send(request_bytes("GET", "/bad.lua"))
            client.response_head()


class TestMemory(Limits):
    CONF = load_module("authn_core") + 'LuaMemoryLimit 4M\n<Location "/">\nAuthType None\nAuthName realm\n</Location>\n'

    @pytest.mark.parametrize("way", HOGS)
    def test_what_httpd_keeps_for_a_script_counts(self, server, way):
        write(server, "hog.lua", f"local s = ('x'):rep(10000) while true do {HOGS[way]} end")
        with server.expect_log("LP005: .*LuaMemoryLimit"):
            answer = fetch(server.port, "/hog.lua?" + "a=1&" * 100, "POST", {"Authorization": "Basic " + "YTpi" * 100}, b"a=1")
        assert answer.status == 500

    def test_errors_in_the_description_of_an_error_take_no_memory(self, server):
        """The function that describes an error is on the stack of __tostring."""
        write(server, "again.lua", """
            error(setmetatable({}, {__tostring = function()
                for level = 1, 9 do
                    local found = debug.getinfo(level, 'fS')
                    for i = 1, found and found.what == 'C' and found.func ~= error and 300 or 0 do
                        pcall(found.func, ('x'):rep(1e6))
                    end
                end
                return 'described'
            end}))""")
        with server.expect_log("LP001: .*again.lua:3: .*described"):
            assert fetch(server.port, "/again.lua").status == 500
        assert all(process.rss(pid) < MEMORY_FACTOR * (60 << 20) for pid in server.children())
