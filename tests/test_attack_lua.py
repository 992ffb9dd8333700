# SPDX-License-Identifier: Apache-2.0
"""Scripts that mean harm: ways around LuaTimeLimit, LuaMemoryLimit and LuaScope once that were open once."""
import pytest

from harness import process
from harness.client import fetch
from harness.httpd import MEMORY_FACTOR, Sizes

FOREVER = "function() while true do end end"

# Each would run for ever if it were let.
ENDLESS = {
    "finalizer_in_a_loop": f"while true do setmetatable({{}}, {{__gc = {FOREVER}}}) collectgarbage() end",
    "finalizer_replaced": f"local m = {{__gc = true}} setmetatable({{}}, m) m.__gc = {FOREVER} while true do collectgarbage() end",
    "finalizer_by_debug": f"debug.setmetatable({{}}, {{__gc = {FOREVER}}}) while true do collectgarbage() end",
    "close_after_an_error": f"local c = coroutine.create(function() local x <close> = setmetatable({{}}, {{__close = {FOREVER}}}) "
                            "error('x') end) coroutine.resume(c) coroutine.close(c)",
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

HOGS = {
    "notes": "r.notes.k = s",
    "headers": "r.headers_out.k = s",
    "entries": "r.headers_out:add('a-name', 'value')",
    "environment": "r.subprocess_env.k = s",
    "uri": "r.uri = s",
    "content_type": "r.content_type = s",
    "statuses": "r.status = 599",
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
        write(server, "truth.lua", f"r:puts((function()\n{body}\nend)())")
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


class TestMemory(Limits):
    CONF = "LuaMemoryLimit 4M\n"

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
