# SPDX-License-Identifier: Apache-2.0
"""Scripts that would not end, would eat all memory, or would take the process along: each fails alone."""
import os
import threading
import time
from pathlib import Path

import pytest

from harness.client import Truncated, fetch
from harness.httpd import MEMORY_FACTOR, Sizes


def write(server, name, body):
    """A script whose handle(r) has this body."""
    (server.docroot / name).write_text(f"function handle(r)\n{body}\nend\n")


OK = "r:puts('fine')"

ENDLESS = {
    "loop": "while true do end",
    "repeat_until": "repeat until false",
    "goto_itself": "::again:: goto again",
    "tail_calls": "local function f() return f() end f()",
    "pcall_loop": "while true do pcall(function() while true do end end) end",
    "pcall_recursion": "local function f() while true do pcall(f) end end f()",
    "error_loop": "while true do pcall(error, 'x') end",
    "coroutine_resume": "while true do coroutine.resume(coroutine.create(function() while true do end end)) end",
    "coroutine_wrap": "coroutine.wrap(function() coroutine.wrap(function() while true do end end)() end)()",
    "coroutine_pingpong": "local c = coroutine.wrap(function() while true do coroutine.yield() end end) while true do c() end",
    "coroutine_in_pcall": "while true do pcall(coroutine.wrap(function() while true do end end)) end",
    "xpcall_handler": "xpcall(function() while true do end end, function() while true do end end)",
    "xpcall_error_handler": "while true do xpcall(error, function() while true do end end) end",
    "close_variable": "local x <close> = setmetatable({}, {__close = function() while true do end end})",
    "close_in_coroutine": "local c = coroutine.create(function() local x <close> = setmetatable({}, {__close = function() "
                          "while true do end end}) coroutine.yield() end) coroutine.resume(c) coroutine.close(c)",
    "metamethod": "local t = setmetatable({}, {__index = function(t, k) while true do end end}) return t.x",
    "sort": "table.sort({3, 2, 1}, function() while true do end end)",
    "gsub": "('x'):gsub('.', function() while true do end end)",
    "tostring": "error(setmetatable({}, {__tostring = function() while true do end end}))",
    "load_reader": "load(function() while true do end end)",
    "chunk_of_module": "require 'endless'",
    "finalizer": "setmetatable({}, {__gc = function() while true do end end}) collectgarbage() while true do end",
}

HOGS = {
    "table": "local t = {} while true do t[#t + 1] = {} end",
    "string": "local s = 'x' while true do s = s .. s end",
    "rep": "return ('x'):rep(1 << 30)",
    "concat": "local t = {} for i = 1, 1 << 22 do t[i] = 'xxxxxxxxxxxxxxxx' end return table.concat(t)",
    "coroutines": "local t = {} while true do t[#t + 1] = coroutine.create(print) end",
    "wrapped": "coroutine.wrap(function() local t = {} while true do t[#t + 1] = {} end end)()",
    "headers": "local t = {} while true do t[#t + 1] = tostring(#t) .. ('x'):rep(1000) end",
    "all_addresses": "io.open([[/dev/zero]]):read(-1)",
}


class TestTime:
    MODULES = ("luapool",)
    SCRIPTS = None
    SIZES = Sizes(threads=4, prefork=4)
    CONF = "<Files bad.lua>\nLuaTimeLimit 100ms\n</Files>\n<Files quick.lua>\nLuaTimeLimit 2s\n</Files>\n"

    @pytest.mark.parametrize("way", ENDLESS)
    def test_an_endless_script_is_stopped(self, server, way):
        (server.docroot / "endless.lua").write_text("while true do end")
        write(server, "bad.lua", ENDLESS[way])
        with server.expect_log(r"LP006: .*LuaTimeLimit"):
            assert fetch(server.port, "/bad.lua").status == 503
        write(server, "good.lua", OK)
        assert fetch(server.port, "/good.lua").text == "fine"

    def test_an_endless_finalizer_is_stopped(self, server):
        write(server, "final.lua", "kept = setmetatable({}, {__gc = function() while true do pcall(error) end end}) " + OK)
        write(server, "good.lua", OK)
        for _ in range(5):
            assert fetch(server.port, "/final.lua").text == "fine"
        assert fetch(server.port, "/good.lua").text == "fine"

    def test_others_are_served_meanwhile(self, server):
        write(server, "bad.lua", ENDLESS["pcall_loop"])
        write(server, "good.lua", OK)
        with server.expect_log("LP006"):
            stuck = threading.Thread(target=fetch, args=(server.port, "/bad.lua"))
            stuck.start()
            while stuck.is_alive():
                assert fetch(server.port, "/good.lua").text == "fine"
            stuck.join()

    def test_finalizers_of_userdata_are_not_scripts(self, server):
        """Those at the end of the VM's life are not reached by the limit."""
        write(server, "end.lua", "for _, u in ipairs {io.stdout, r.notes} do debug.getmetatable(u).__gc = function() while true do end end end " + OK)
        write(server, "good.lua", OK)
        for _ in range(8):
            assert fetch(server.port, "/end.lua").text == "fine"
            assert fetch(server.port, "/good.lua").text == "fine"

    def test_a_response_under_way_is_cut(self, server):
        write(server, "bad.lua", "r.headers_out['X-Started'] = '1' r:puts(('x'):rep(100000)) r:flush() while true do end")
        with server.expect_log("LP006"), pytest.raises(Truncated):
            fetch(server.port, "/bad.lua")

    def test_what_ends_in_time_is_left_alone(self, server):
        write(server, "quick.lua", "for i = 1, 100000 do end " + OK)
        for _ in range(8):
            assert fetch(server.port, "/quick.lua").text == "fine"

    def test_a_vm_that_was_stopped_is_not_used_again(self, server):
        write(server, "bad.lua", ENDLESS["coroutine_wrap"])
        write(server, "good.lua", "local n = 0 for i = 1, 1000000 do n = n + i end r:puts(n)")
        for _ in range(3):
            with server.expect_log("LP006"):
                fetch(server.port, "/bad.lua")
            for _ in range(4):
                assert fetch(server.port, "/good.lua").text == "500000500000"


class TestMemory:
    MODULES = ("luapool",)
    SCRIPTS = None
    SIZES = Sizes(threads=4, prefork=1)
    CONF = "LuaMemoryLimit 4M\n<Files asks.lua>\nLuaCodeCache never\nLuaMemoryLimit 64M\n</Files>\n"

    @pytest.mark.parametrize("way", HOGS)
    def test_a_hog_gets_not_enough_memory(self, server, way):
        write(server, "bad.lua", HOGS[way])
        with server.expect_log("LP005: .*not enough memory.*LuaMemoryLimit"):
            assert fetch(server.port, "/bad.lua").status == 500
        write(server, "good.lua", OK)
        assert fetch(server.port, "/good.lua").text == "fine"

    def test_a_finalizer_at_the_end_has_the_limit_too(self, server):
        write(server, "end.lua", "kept = setmetatable({}, {__gc = function() local t = {} for i = 1, 200 do t[i] = ('x'):rep(1 << 20) .. i end "
                                 "end}) " + OK)
        write(server, "good.lua", OK)
        for _ in range(4):
            assert fetch(server.port, "/end.lua").text == "fine"
            assert fetch(server.port, "/good.lua").text == "fine"
        peaks = [int(Path(f"/proc/{pid}/status").read_text().partition("VmHWM:")[2].split()[0]) << 10 for pid in server.children()]
        assert max(peaks) < MEMORY_FACTOR * (100 << 20)

    def test_a_module_that_does_not_compile_is_not_kept(self, server):
        (server.docroot / "broken.lua").write_text("-- " + "x" * (1 << 20) + "\nlocal = 1\n")
        write(server, "asks.lua", "for _ = 1, 50 do assert(not pcall(require, 'broken')) end " + OK)
        sizes = []
        for _ in range(4):
            assert fetch(server.port, "/asks.lua").text == "fine"
            sizes.append(server.rss())
        assert sizes[-1] < sizes[0] + MEMORY_FACTOR * (64 << 20)  # each time 50 MB were

    def test_the_script_may_catch_it(self, server):
        write(server, "catch.lua", "local ok, e = pcall(string.rep, 'x', 1 << 30) r:puts(tostring(ok), ' ', e)")
        assert fetch(server.port, "/catch.lua").text == "false not enough memory"

    def test_what_a_use_left_is_not_kept(self, server):
        write(server, "large.lua", "kept = {} for i = 1, 40 do kept[i] = ('x'):rep(20000) .. i end r:puts(#kept)")
        sizes = []
        for n in range(60):
            (server.docroot / f"large{n}.lua").write_text((server.docroot / "large.lua").read_text())
            assert fetch(server.port, f"/large{n}.lua").text == "40"
            text = fetch(server.port, "/server-status?auto").text
            sizes.append(int(text.split("LuapoolMemory: ")[1].split()[0]))
        assert max(sizes) < 10 << 20 and sizes[-1] < 2 << 20  # four VMs at most, 60 times 800 KB were made

    def test_memory_comes_back(self, server):
        write(server, "bad.lua", HOGS["table"])
        write(server, "large.lua", "local t = {} for i = 1, 50000 do t[i] = i end r:puts(#t)")
        before = None
        for round_ in range(6):
            with server.expect_log("LP005"):
                fetch(server.port, "/bad.lua")
            for _ in range(20):
                assert fetch(server.port, "/large.lua").text == "50000"
            if round_ == 1:
                before = server.rss()
        if "INTERPOOL_PRELOAD" in os.environ:
            return  # a sanitizer keeps what was freed
        assert server.rss() < before + (16 << 20)  # each of four threads may keep what one VM may hold


class TestSharedMemory:
    """Scripts of sections with different limits take turns in one VM."""
    MODULES = ("luapool",)
    SCRIPTS = None
    SIZES = Sizes(threads=2, prefork=1)
    CONF = "LuaPoolMax 1\n<Files small.lua>\nLuaMemoryLimit 1M\n</Files>\n"

    def test_what_others_left_does_not_count(self, server):
        """A compiled file of 2 MB stays in the VM; the small limit is for what the script itself takes."""
        rows = ",".join(f"{{'name{i}',{i}}}" for i in range(30000))
        (server.docroot / "big.lua").write_text(f"return {{{rows}}}\n")
        write(server, "uses.lua", "r:puts(#require 'big')")
        write(server, "small.lua", "r:puts(#('x'):rep(tonumber(r.args)))")
        for _ in range(3):
            assert fetch(server.port, "/uses.lua").text == "30000"
            assert fetch(server.port, "/small.lua?400000").text == "400000"
            with server.expect_log(r"LP005: .*LuaMemoryLimit is 1048576 bytes"):
                assert fetch(server.port, "/small.lua?1100000").status == 500

    def test_names_that_a_script_makes_up_are_forgotten(self, server):
        """Of modules, and of one module's file; both tables hold a few hundred KB at most when the next use begins."""
        (server.docroot / "m.lua").write_text("return 1")
        write(server, "names.lua", "package.path = r.filename:gsub('names.lua', 'm.lua') "
                                   "for i = 1, 20000 do require('m' .. i) package.loaded['m' .. i] = nil end")
        write(server, "paths.lua", "for i = 1, 3000 do package.path = r.filename:gsub('/paths.lua', ('/.'):rep(i % 60) .. ('/'):rep(i // 60 + 1) .. 'm.lua') "
                                   "require('m' .. i) end")
        write(server, "held.lua", "collectgarbage() r:puts(math.floor(collectgarbage('count')))")
        first = int(fetch(server.port, "/held.lua").text)
        for way in ("names", "paths"):
            assert fetch(server.port, f"/{way}.lua").status == 200
            deadline = time.monotonic() + 20
            while int(fetch(server.port, "/held.lua").text) > first + 500:
                assert time.monotonic() < deadline


class TestTooLittleMemory:
    """Limits from less than a VM has to more than the script needs: memory runs out at every place where any is asked for."""
    MODULES = ("luapool",)
    SCRIPTS = None
    SIZES = Sizes(threads=2, prefork=1)
    LIMITS = range(40_000, 120_000, 640)
    CONF = "LuaPoolMax 1\n" + "".join(f"<Files m-{n}.lua>\nLuaMemoryLimit {n}\n</Files>\n" for n in LIMITS)
    SCRIPT = """
        local part = require 'part'
        local kept = {}
        function handle(r)
            local form = r:parseargs()
            for i = 1, 40 do r.headers_out['X-' .. i] = i; kept[i] = {r.headers_in, r.notes, part(i)} end
            for k, v in pairs(r.headers_in) do kept[k] = v .. v end
            string.extra = 1; package.loaded.y = {}; setmetatable(_G, {__index = string})
            local f = io.tmpfile() f:write('x')
            local co = coroutine.wrap(function(...) coroutine.yield(...) error({}) end) co(1)
            kept.message = select(2, xpcall(co, debug.traceback))
            kept.code = load('return ' .. #kept)()
            pcall(error, setmetatable({}, {__tostring = function() return ('x'):rep(1000) end}))
            r.content_type = 'text/plain'
            r:puts(('x'):rep(20000))
        end
    """

    def test_each_request_is_answered(self, server):
        children = server.children()
        server.log.allow("LP00[125]: ")
        (server.docroot / "part.lua").write_text("local t = {} return function(i) t[i] = {i} return t end")
        (server.docroot / "good.lua").write_text("function handle(r) r:puts('fine') end")
        statuses = []
        for n in self.LIMITS:
            (server.docroot / f"m-{n}.lua").write_text(self.SCRIPT)
            statuses += [fetch(server.port, f"/m-{n}.lua?a=1&b=2&a=3").status for _ in range(2)]
            assert fetch(server.port, "/good.lua").text == "fine"
        assert set(statuses) == {200, 500} and statuses[0] == 500 and statuses[-1] == 200
        assert server.children() == children


class TestProcess:
    MODULES = ("luapool",)
    SCRIPTS = None
    SIZES = Sizes(threads=4, prefork=1)

    @pytest.mark.parametrize("body", ["os.exit(3)", "os.exit(true, true)"])
    def test_a_script_cannot_end_the_process(self, server, body):
        children = server.children()
        write(server, "exit.lua", body)
        with server.expect_log("LP001: .*os.exit is not available"):
            assert fetch(server.port, "/exit.lua").status == 500
        assert server.children() == children

    @pytest.mark.parametrize("call", ["load(code)", "load(code, 'x', 'b')", "load(function() local c = code code = nil return c end)",
                                      "loadfile(name)", "loadfile(name, 'b')", "loadfile(name, 'bt')"])
    def test_bytecode_is_refused(self, server, call):
        target = server.docroot / "code.luac"
        target.write_bytes(b"")
        target.chmod(0o666)
        write(server, "byte.lua", f"local name = '{target}' local code = string.dump(function() return 1 end)\n"
                                  "local f = io.open(name, 'wb') f:write(code) f:close()\n"
                                  f"local f, e = {call} r:puts(tostring(f), ' ', e)")
        assert "nil" in fetch(server.port, "/byte.lua").text
        assert "attempt to load a binary chunk" in fetch(server.port, "/byte.lua").text

    def test_a_bytecode_script_is_refused(self, server):
        (server.docroot / "dump.lua").write_text(
            "function handle(r) r:write(string.dump(load('function handle(r) r:puts(1) end'))) end")
        (server.docroot / "compiled.lua").write_bytes(fetch(server.port, "/dump.lua").body)
        with server.expect_log("LP002: .*attempt to load a binary chunk"):
            assert fetch(server.port, "/compiled.lua").status == 500

    def test_bytecode_runs_where_it_is_allowed(self, make_httpd):
        server = make_httpd(modules=("luapool",), scripts=None, conf="LuaAllowBytecode On\n")
        server.start()
        (server.docroot / "dump.lua").write_text(
            "function handle(r) r:write(string.dump(load('function handle(r) r:puts(load(string.dump(function() return 7 end))()) end'))) end")
        (server.docroot / "compiled.lua").write_bytes(fetch(server.port, "/dump.lua").body)
        assert fetch(server.port, "/compiled.lua").text == "7"
        assert fetch(server.port, "/compiled.lua").text == "7"

    @pytest.mark.parametrize("body", [
        "debug.sethook(print, 'l')", "debug.getregistry()", "debug.setupvalue(next, 1, 1)", "debug.setuservalue(r, 1)",
        "debug.setmetatable(r, {})", "debug.getinfo(2, 'f').func()",
        # upvalues of C functions: the originals behind the guards among them, and addresses
        "local f = select(2, debug.getupvalue(os.exit, 1)) if f then f(7) end error('not available')",
        "local f = select(2, debug.getupvalue(debug.getregistry, 1)) if f then f().x = 1 else error('not available') end",
        "local f = select(2, debug.getupvalue(debug.sethook, 1)) if f then f(print, 'l') else error('not available') end",
        "local f = select(2, debug.getupvalue(load, 1)) if f then f(string.dump(handle))() else error('not available') end",
        "local fields = select(2, debug.getupvalue(debug.getmetatable(r).__newindex, 1)) "
        "if fields then fields.evil = debug.upvalueid(io.lines('/dev/null', 0, 1, 0x4141414141), 4) r.evil = 1 end error('not available')",
        # what lies on the stack of a C function that runs, such as the buffer that it would free again
        "local n = 0 local s = ('x'):rep(2000):gsub('.', function() for i = 1, 9 do local _, v = debug.getlocal(2, i) "
        "if type(v) == 'userdata' then getmetatable(v).__gc(v) n = n + 1 end end end) error(n == 0 and 'not available')",
        "table.sort({3, 2, 1}, function(a, b) for i = 1, 9 do if debug.setlocal(2, i, 7) then error('set') end end return a < b end) "
        "local co = coroutine.create(string.gsub) coroutine.resume(co, 'x', 'x', coroutine.yield) "
        "error(debug.getlocal((1 << 32) + 2, 1) == nil and debug.getlocal(co, 0, 1) == nil and 'not available')",
        # what a Lua function works with, and takes for what it put there: a table that is being filled, the state of a loop
        "local function f() for i = 1, 40 do local name = debug.getlocal(2, i) if name and name:find('^%(') then "
        "if debug.setlocal(2, i, 0x41414141) then error('set') end end end return 1 end "
        "local function fill() local t = {f(), 2, 3} return t[1] end "
        "local function count() local n = 0 for i = 1.0, 2 do f() n = n + 1 end for i = 1, 2 do f() n = n + 1 end return n end "
        "error(fill() + count() == 5 and 'not available')",
        # another kind of userdata, by a metatable that is the real one
        "local address = debug.upvalueid(handle, 1) debug.setmetatable(address, getmetatable(io.stdout)) "
        "print(io.type(address)) error('not available')",
        # functions of the module that a message handler finds on the stack
        "local f xpcall(function() _G[nil] = 1 end, function() f = debug.getinfo(2, 'f').func end) f(1, 2) error('not available')",
        "local f xpcall(function() _G[nil] = 1 end, function() f = debug.getinfo(2, 'f').func end) f() error('not available')"])
    def test_debug_cannot_reach_the_module(self, server, body):
        write(server, "debug.lua", body)
        with server.expect_log("LP001: .*(not available|not to be called|table expected)"):
            assert fetch(server.port, "/debug.lua").status == 500
        write(server, "good.lua", OK)
        assert fetch(server.port, "/good.lua").text == "fine"


class TestPool:
    MODULES = ("luapool",)
    SCRIPTS = None
    SIZES = Sizes(threads=4)
    CONF = "LuaPoolMax 1\nLuaPoolWaitTimeout 100ms\n"

    def test_who_waits_too_long_gets_503(self, server, mpm):
        if mpm == "prefork":
            pytest.skip("a child serves one request at a time")
        write(server, "slow.lua", "local t = os.time() + 2 while os.time() < t do end " + OK)
        write(server, "good.lua", OK)
        slow = threading.Thread(target=fetch, args=(server.port, "/slow.lua"))
        slow.start()
        time.sleep(0.3)
        with server.expect_log("LP007: .*LuaPoolMax"):
            answer = fetch(server.port, "/good.lua")
        slow.join()
        assert answer.status == 503
        assert fetch(server.port, "/good.lua").text == "fine"
