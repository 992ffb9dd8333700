# SPDX-License-Identifier: Apache-2.0
"""LuaScope once: no use sees what another left, though all run in one VM here."""
import os
import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from harness.client import fetch
from harness.httpd import Sizes

FOREIGN = Path(os.environ.get("INTERPOOL_STAGE", "stage")).parent / "tests/common/.libs/foreign.so"

# What a script can see, as text: every table within reach, with the metatables, and the state that functions hide.
FINGERPRINT = r"""
local seen = {}
local out = {}
local function name(key)
    return type(key) == "string" and key or "[" .. tostring(key) .. "]"
end
local function walk(path, value)
    local kind = type(value)
    if kind == "string" and path:find("path$") then
        out[#out + 1] = path .. " = " .. value
    elseif kind == "string" or kind == "number" or kind == "boolean" then
        out[#out + 1] = path .. " = " .. kind .. " " .. tostring(value)
    else
        out[#out + 1] = path .. " = " .. kind
    end
    if kind == "table" and not seen[value] then
        seen[value] = true
        local keys = {}
        for k in pairs(value) do keys[#keys + 1] = k end
        table.sort(keys, function(a, b) return name(a) < name(b) end)
        for _, k in ipairs(keys) do
            walk(path .. "." .. name(k), value[k])
        end
        if getmetatable(value) then walk(path .. "<meta>", getmetatable(value)) end
    end
end
local function fingerprint()
    walk("_G", _G)
    walk("string<meta>", getmetatable(""))
    out[#out + 1] = "collector " .. tostring(collectgarbage("isrunning"))
    out[#out + 1] = "collector's parameters " .. collectgarbage("setpause", 200) .. " " .. collectgarbage("setstepmul", 100)
    out[#out + 1] = "locale " .. tostring(os.setlocale())
    out[#out + 1] = "output " .. tostring(io.output() == io.stdout) .. tostring(io.input() == io.stdin)
    out[#out + 1] = "hook " .. tostring(debug.gethook())
    local file = io.stdout
    out[#out + 1] = "file " .. tostring(file.write ~= nil) .. tostring(rawequal(file.extra, nil))
    for _, value in ipairs { 1, true, print } do
        out[#out + 1] = "meta of " .. type(value) .. " " .. tostring(getmetatable(value))
    end
    table.sort(out)
    return table.concat(out, "\n")
end
function handle(r)
    local mine = fingerprint()
    r.content_type = "text/plain"
    r:puts(mine, "\n")
end
"""

# Each does something to the VM; those of the first list must not even cost it.
HARMLESS = {
    "global": "x = 1; print = nil; string = 5",
    "nested_global": "_G.y = {}; _ENV.z = 1; rawset(_G, 'w', 2)",
    "global_through_load": "load('loaded_global = 1')()",
    "library_field": "string.upper = nil; string.extra = 1; table.insert = print; math.pi = 3; os.time = 1; apache2.OK = 7",
    "library_rawset": "rawset(string, 'rep', false); rawset(math, 1, 1)",
    "library_new_field": "utf8.extra = 1; coroutine.extra = 2; io.extra = 3; debug.extra = 4",
    "library_metatable": "setmetatable(string, {__index = function() return 1 end})",
    "globals_metatable": "setmetatable(_G, {__index = function(t, k) return k end, __newindex = function() end})",
    "loaded": "package.loaded.mine = {1}; package.loaded.string = 1; package.loaded._G = nil",
    "preload": "package.preload.other = function() return 1 end; require 'other'",
    "searchers": "table.insert(package.searchers, 1, function() end); package.searchers[2] = nil",
    "path": "package.path = '/nowhere/?.lua'; package.cpath = ''",
    "string_metatable": "local m = getmetatable(''); m.__index = {}; m.__add = 1; m.__call = 2; setmetatable(m, {__index = m})",
    "string_method": "string.shout = string.upper; assert(('x'):shout() == 'X')",
    "default_files": "local f = io.tmpfile(); io.output(f); io.input(f)",
    "open_file": "kept = io.tmpfile(); kept:write('x')",
    "collector": "collectgarbage('stop'); collectgarbage('incremental', 100, 200)",
    "collector_parameters": "collectgarbage('setstepmul', 777); collectgarbage('generational', 33, 44); collectgarbage('incremental', 1, 2, 3)",
    "random": "math.randomseed(42)",
    "suspended_coroutine": "co = coroutine.wrap(function() coroutine.yield() end); co(); kept = co",
    "locale": "os.setlocale('C.UTF-8')",
    "locale_by_a_message_handler": "xpcall(os.setlocale, function() local found = debug.getinfo(3, 'f').func "
                                   "assert(found ~= handle) pcall(found, 'C.UTF-8', 'all') end, 'C', 'xx')",
    "warn": "warn('@on'); warn('@off')",
    "writer_of_a_library": "local f xpcall(function() math[nil] = 1 end, function() f = debug.getinfo(3, 'f').func end) "
                           "pcall(f, _G, 'x', 1) pcall(f, _G, 'print', 1) pcall(f, string, 'x', 1) assert(pcall(f, math, 'x', 1))",
    "writer_of_globals": "local f xpcall(function() _G[nil] = 1 end, function() f = debug.getinfo(3, 'f').func end) "
                         "pcall(f, string, 'x', 1) pcall(f, package.loaded, 'x', 1) assert(pcall(f, _G, 'x', 1))",
    "error": "error('left by an error')",
    "error_in_library": "string.upper = nil; error({})",
}
COSTLY = {
    "basic_metatable": "debug.setmetatable(1, {__call = print}); debug.setmetatable(nil, {__index = _G})",
    "function_metatable": "debug.setmetatable(print, {__index = string})",
    "file_metatable": "getmetatable(io.stdout).__index.extra = 1",
    "userdata_metatables": "for _, u in ipairs {io.stdout, r.notes} do for k in pairs(debug.getmetatable(u)) do "
                           "debug.getmetatable(u)[k] = nil end end",
    "hidden_metatable": "debug.getmetatable(_G)",
    "upvalue": "debug.getupvalue(package.searchers[3], 1); debug.getupvalue(require, 1)",
    "locals_of_callers": "for i = 1, 20 do pcall(debug.getlocal, 2, i) end",
    "finalizer": "kept = setmetatable({}, {__gc = function() string.upper = nil; x = 1 end})",
    "string_metatable_replaced": "debug.setmetatable('', {})",
}

# What a use puts in the globals so that the next may have the same table, emptied; and what asks for another.
EMPTIED = {
    "nothing": "",
    "one": "x = 1",
    "several": "x = 1; _G.y = {}; _ENV.z = print; function f() end",
    "set_and_taken_back": "x = 1; x = nil; x = 2; y = 1; y = nil",
    "keys_of_all_kinds": "_G[1] = 1; _G[-1] = 1; _G[1.5] = 1; _G[{}] = 1; _G[true] = 1; _G[print] = 1; _G[r] = 1",
    "a_list": "for i = 1, 10 do _G[i] = i end",
    "through_a_library": "table.insert(_G, 'x'); os.time(setmetatable({year = 2000, month = 1, day = 40}, {__newindex = _G}))",
    "through_load": "load('x = 1')(); load('y = 1', 'y', 't', _G)()",
    "handle_replaced": "handle = print",
    "handle_removed": "handle = nil",
    "handle_removed_and_another": "handle = nil; x = 1",
    "a_coroutine_that_waits": "co = coroutine.wrap(function() x = 1 coroutine.yield() x = 2 end) co()",
    "a_pending_close": "co = coroutine.wrap(function() local v <close> = setmetatable({}, {__close = function() x = 3 end}) "
                       "coroutine.yield() end) co()",
    "another_environment": "local g = _ENV; _ENV = {x = 1}; y = g",
    "an_error": "x = 1; error('left by an error')",
    "an_error_in_a_coroutine": "x = 1; coroutine.wrap(function() y = 1; error('left by an error') end)()",
}
REPLACED = {
    "many": "for i = 1, 17 do _G['x' .. i] = i end",
    "many_in_turn": "for i = 1, 99 do _G['x' .. i] = i; _G['x' .. i] = nil end",
    "raw": "rawset(_G, 'x', 1)",
    "a_look_past_metatables": "next(_G)",
    "walked": "for _ in pairs(_G) do end",
    "a_standard_name": "print = nil",
    "a_metatable": "setmetatable(_G, {__index = function() return 1 end, __newindex = function() end})",
    "a_metatable_and_none": "setmetatable(setmetatable(_G, {}), nil)",
    "a_library_with_old_code": "string.f = coroutine.wrap(function() while true do x = 1 coroutine.yield() end end) rawlen(_G)",
}
# The table's address and what a new use finds there: by name, and then by walking.
LOOK = r"""
local found = string.format("%p", _G)
local names = {"handle", "x", "y", "z", "f", "co", 1, -1, 1.5, true, "x1", "x17", 17}
for i = 1, #names do
    if _G[names[i]] ~= nil then found = found .. " " .. tostring(names[i]) end
end
function handle(r)
    if print == nil or _G._G ~= _G or _ENV ~= _G or package.loaded._G ~= _G or load("return _ENV")() ~= _G then
        found = found .. " broken"
    end
    if r.args == "walk" then
        for k in pairs(_G) do
            if type(_G[k]) ~= "table" and type(k) ~= "string" or #tostring(k) < 3 and k ~= "_G" and k ~= "os" and k ~= "io" then
                found = found .. " " .. tostring(k)
            end
        end
    end
    r:puts(found)
end
"""


class TestOneVm:
    """All requests of this class meet the same VM, one after the other."""
    MODULES = ("luapool",)
    SCRIPTS = None
    SIZES = Sizes(threads=4, prefork=1)
    CONF = "LuaPoolMax 1\n"

    @staticmethod
    def run(server, body, name="dirty.lua", log=None):
        (server.docroot / name).write_text(f"function handle(r)\n{body}\nend\n")
        if not log:
            return fetch(server.port, "/" + name)
        with server.expect_log(log):
            return fetch(server.port, "/" + name)

    @staticmethod
    def fingerprint(server):
        (server.docroot / "fingerprint.lua").write_text(FINGERPRINT)
        answer = fetch(server.port, "/fingerprint.lua")
        assert answer.status == 200
        return answer.text

    @staticmethod
    def made(server):
        return int(re.search(r"LuapoolMade: (\d+)", fetch(server.port, "/server-status?auto").text)[1])

    @pytest.mark.parametrize("deed", HARMLESS)
    def test_leaves_no_trace_and_keeps_the_vm(self, server, deed):
        clean = self.fingerprint(server)
        made = self.made(server)
        self.run(server, HARMLESS[deed], log="LP001" if "error" in deed else None)
        assert self.fingerprint(server) == clean
        assert self.made(server) == made

    @pytest.mark.parametrize("deed", COSTLY)
    def test_leaves_no_trace_at_the_price_of_a_vm(self, server, deed):
        clean = self.fingerprint(server)
        made = self.made(server)
        assert self.run(server, COSTLY[deed]).status == 200
        assert self.fingerprint(server) == clean
        assert self.made(server) == made + 1

    def test_file_locals_and_upvalues_are_fresh(self, server):
        (server.docroot / "count.lua").write_text(
            "local n = 0\nlocal t = {}\nfunction handle(r) n = n + 1; t[#t + 1] = n; r:puts(n, ' ', #t) end\n")
        assert [fetch(server.port, "/count.lua").text for _ in range(3)] == ["1 1"] * 3

    def test_required_modules_run_anew(self, server):
        (server.docroot / "counter.lua").write_text(
            "local M = {n = 0}\nruns = (runs or 0) + 1\nfunction M.up() M.n = M.n + 1 return M.n end\nreturn M\n")
        (server.docroot / "uses.lua").write_text(
            "local c = require 'counter'\nfunction handle(r)\n"
            "assert(c == require 'counter' and package.loaded.counter == c)\n"
            "c.up() r:puts(c.up(), ' ', runs) end\n")
        assert [fetch(server.port, "/uses.lua").text for _ in range(3)] == ["2 1"] * 3

    @pytest.mark.parametrize("searchers, text", [
        ("{function() return function(name, data) return name .. data end, 7 end}", "found7"), ("{}", "nil"), ("nil", "nil")])
    def test_searchers_in_place_of_all_are_asked(self, server, searchers, text):
        (server.docroot / "found.lua").write_text("return 'in a file'")
        assert self.run(server, "r:puts((require 'found'))", name="plain.lua").text == "in a file"
        body = f"package.searchers = {searchers} local ok, got = pcall(require, 'found') r:puts(tostring(ok and got or nil))"
        assert self.run(server, body, name="others.lua").text == text

    def test_a_module_can_run_twice_in_one_use(self, server):
        (server.docroot / "twice.lua").write_text("local e = _ENV\nlocal n = 0\nreturn function() n = n + 1 return n end\n")
        text = self.run(server, "local a = require 'twice'; package.loaded.twice = nil\n"
                                "local b = require 'twice'\nr:puts(a(), a(), b(), tostring(a == b))", "again.lua").text
        assert text == "121false"

    def test_random_numbers_are_not_those_of_the_seed(self, server):
        seeded = "math.randomseed(42) r:puts(math.random(1 << 40), ' ', math.random(1 << 40))"
        first = self.run(server, seeded).text
        assert self.run(server, seeded, "dirty2.lua").text == first
        follow = "r:puts(math.random(1 << 40))"
        assert len({self.run(server, seeded) and self.run(server, follow, "next.lua").text for _ in range(4)}) == 4

    @pytest.mark.parametrize("call", ["os.setlocale, 'C', 'xx'", "os.setlocale, {}", "math.randomseed, 'x'", "math.randomseed, 1.5",
                                      "math.randomseed, 1, {}", "table.concat, {{}}", "setmetatable, {}, 1", "load, {}",
                                      "package.searchers[3], {}", "package.searchers[4], nil", "package.loadlib, {}"])
    def test_message_handlers_do_not_find_the_originals(self, server, call):
        """On the stack are the handler, what stands for it, and then the function that scripts know."""
        body = f"xpcall({call.partition(',')[0]}, function() found = debug.getinfo(3, 'f').func end{call[call.index(','):]}) "
        assert self.run(server, body + f"r:puts(tostring(found == nil or found == {call.partition(',')[0]}))").text == "true"

    def test_metamethods_do_not_find_the_originals(self, server):
        body = ("local search, found = package.searchers[3] package.cpath = nil "
                "setmetatable(package, {__index = function() found = debug.getinfo(2, 'f').func end}) pcall(search, 'x') ")
        assert self.run(server, body + "r:puts(tostring(found == search))").text == "true"

    def test_forgotten_files_are_flushed_and_closed(self, server):
        target = server.docroot / "out.txt"
        target.write_text("")
        target.chmod(0o666)
        self.run(server, f"local f = io.open('{target}', 'w'); f:write('written')")
        assert target.read_text() == "written"

    def test_finalizers_run_before_the_next_use(self, server):
        target = server.docroot / "final.txt"
        target.write_text("")
        target.chmod(0o666)
        self.run(server, "kept = setmetatable({}, {__gc = function()\n"
                         f"local f = io.open('{target}', 'w') f:write(tostring(secret)) f:close() end}})\nsecret = 'mine'")
        assert target.read_text() == "mine"

    def test_a_kept_request_and_its_tables_are_gone(self, server):
        self.run(server, "kept = r; headers = r.headers_in; string.kept = r")
        assert self.run(server, "r:puts(tostring(kept), tostring(headers), tostring(string.kept))").text == "nilnilnil"

    def look(self, server, walk=False):
        """Where the globals of a use are; asserts that there is nothing of another's."""
        script = server.docroot / "look.lua"
        if not script.exists():
            script.write_text(LOOK)
        answer = fetch(server.port, "/look.lua" + ("?walk" if walk else ""))
        assert answer.status == 200 and re.fullmatch("0x[0-9a-f]+", answer.text), answer.text
        return answer.text

    @pytest.mark.parametrize("deed", EMPTIED)
    def test_the_globals_are_emptied(self, server, deed):
        place = self.look(server)
        for _ in range(3):
            self.run(server, EMPTIED[deed], log="LP001" if "error" in deed else None)
            assert self.look(server) == place
        self.run(server, EMPTIED[deed], log="LP001" if "error" in deed else None)
        assert self.look(server, walk=True) == place

    @pytest.mark.parametrize("deed", REPLACED)
    def test_the_globals_are_replaced(self, server, deed):
        for _ in range(3):
            before = self.look(server)
            assert self.run(server, REPLACED[deed]).status == 200
            assert self.look(server) != before
        self.run(server, REPLACED[deed])
        self.look(server, walk=True)

    def test_an_error_of_the_chunk_leaves_nothing(self, server):
        (server.docroot / "chunk.lua").write_text("x = 1\nfunction handle() end\nerror('left by the chunk')\n")
        place = self.look(server)
        for _ in range(3):
            with server.expect_log("LP001: .*left by the chunk"):
                assert fetch(server.port, "/chunk.lua").status == 500
            assert self.look(server) == place

    def test_no_function_of_another_script_is_called(self, server):
        (server.docroot / "none.lua").write_text("x = 1\n")
        for _ in range(3):
            self.look(server)
            with server.expect_log("LP003"):
                assert fetch(server.port, "/none.lua").status == 500

    @pytest.mark.parametrize("script, text", [
        # the chunk's and its functions' one upvalue is changed by a script, and set for the next use
        ("local g = _ENV\n_ENV = setmetatable({}, {__index = g})\nn = (n or 0) + 1\nlocal mine = n\n"
         "function g.handle(r) r:puts(mine, tostring(g.n)) end", "1nil"),
        ("n = (n or 0) + 1\nfunction handle(r) r:puts(n, tostring(old)) old = n _ENV = {n = 7} end", "1nil"),
        # the function comes from elsewhere, or is not what the chunk defined
        ("setmetatable(_G, {__index = {handle = function(r) r:puts('there') end}})", "there"),
        ("local n = 0\nfunction handle(r) n = n + 1 r:puts(n, tostring(x)) x = 1 handle = function() end end", "1nil"),
        ("x = (x or 0) + 1\nhandle = function(r) r:puts(x, tostring(y)) y = 1 handle = nil end", "1nil"),
        ("handle = coroutine.wrap(function(r) n = (n or 0) + 1 r:puts(n) coroutine.yield() end)", "1"),
        # the chunk runs a second time, as a module, in the same use
        ("runs = (runs or 0) + 1\nfunction handle(r) if runs == 1 then require 'same' end r:puts(runs) end", "2"),
        ("runs = (runs or 0) + 1\nfunction handle(r) if runs == 1 then dofile(r.filename) end r:puts(runs) end", "2"),
        # old code is out of reach
        ("local old = string.old\nstring.old = function() leaked = true end\n"
         "function handle(r) if old then old() end r:puts(tostring(old), tostring(leaked)) end", "nilnil"),
        ("local m = getmetatable('')\nlocal old = m.__call\nm.__call = function() leaked = true end\n"
         "function handle(r) if old then old() end r:puts(tostring(old), tostring(leaked)) end", "nilnil"),
    ])
    def test_uses_of_one_script_are_alike(self, server, script, text):
        (server.docroot / "same.lua").write_text(script)
        assert [fetch(server.port, "/same.lua").text for _ in range(4)] == [text] * 4
        for _ in range(3):
            self.look(server)
            assert fetch(server.port, "/same.lua").text == text

    def test_collecting_garbage_between_uses(self, server):
        """So much is left behind that the VM is swept after each of them."""
        for deed in ("x = {} for i = 1, 1e4 do x[i] = {} end handle = x", "for i = 1, 1e5 do _G[i] = i end", "x = ('x'):rep(1e6)"):
            for _ in range(3):
                assert self.run(server, deed).status == 200
                self.look(server)
        self.look(server, walk=True)


class TestChildren:
    """Children come from one process at nearly one time."""
    MODULES = ("luapool",)
    SCRIPTS = None
    SIZES = Sizes(processes=4, threads=2, prefork=4)

    def test_random_numbers_are_not_those_of_another_child(self, server):
        (server.docroot / "random.lua").write_text(
            "function handle(r) r.usleep(20000) r:puts(io.open('/proc/self/stat'):read('n'), ' ', math.random(0)) end\n")
        with ThreadPoolExecutor(8) as pool:
            seen = list(pool.map(lambda _: fetch(server.port, "/random.lua").text.split(), range(80)))
        numbers = [number for _, number in seen]
        assert len({pid for pid, _ in seen}) > 1
        assert len(set(numbers)) == len(numbers)


class TestForeignCode:
    """A C library that calls an old use's function, which must not reach the globals of the present one."""
    MODULES = ("luapool",)
    SCRIPTS = None
    SIZES = Sizes(threads=2, prefork=1)
    CONF = 'LuaPoolMax 1\nLuaPackageCPath "{docroot}/?.so"\n'

    @pytest.mark.parametrize("load", ["require 'foreign'", "package.loadlib('DOCROOT/foreign.so', 'luaopen_foreign')()",
                                      "package.searchers[3]('foreign')()"])
    def test_old_code_sees_its_own_globals(self, server, load):
        if not (server.docroot / "foreign.so").exists():  # the server's user may not read the checkout
            shutil.copy(FOREIGN, server.docroot)
        load = load.replace("DOCROOT", str(server.docroot))
        (server.docroot / "old.lua").write_text(
            f"foreign = {load}\nlocal found = tostring(leaked)\nlocal called = foreign.call()\n"
            "function handle(r) foreign.call() r:puts(tostring(called), found, tostring(leaked))\n"
            "foreign.keep(function() leaked = true end) end\n")
        assert fetch(server.port, "/old.lua").text.endswith("nilnil")
        assert [fetch(server.port, "/old.lua").text for _ in range(3)] == ["truenilnil"] * 3


class TestLooksLikePlainLua:
    """What a script observes of the standard environment is what Lua's manual says."""
    MODULES = ("luapool",)
    SCRIPTS = None
    SIZES = Sizes(threads=2, prefork=1)

    TRUTHS = r"""
        _G == _ENV
        _G._G == _G
        rawget(_G, "print") == print
        rawget(_G, "_G") == _G
        string == require "string"
        string == package.loaded.string
        package.loaded._G == _G
        require "_G" == _G
        _VERSION == "Lua 5.4"
        rawequal(string, rawget(_G, "string"))
        rawget(string, "upper") == string.upper
        ("x"):upper() == "X"
        getmetatable(_G) == nil
        getmetatable(string) == nil
        getmetatable("").__index == string
        next({}) == nil
        (pairs({})) == next
        select("#", pairs({})) == 3
        rawlen(string) == 0
        #string == 0
        #package.searchers == 4
        type(package.searchers[1]) == "function"
        next(string) ~= nil
        next(_G) ~= nil
        (function() local n = 0 for k in pairs(string) do n = n + 1 end return n end)() == 17
        (function() for k, v in pairs(_G) do if k == "print" then return v == print end end end)()
        (function() for k, v in next, math do if k == "pi" then return v == math.pi end end end)()
        (function() string.title = 1; return ("x").title == 1 and string.title == 1 end)()
        (function() string.upper = nil; return string.upper == nil and ("x").upper == nil end)()
        (function() print = 1; print = nil; return print == nil and rawget(_G, "print") == nil end)()
        (function() x = 1; x = nil; return x == nil and rawget(_G, "x") == nil end)()
        (function() local n = 0; setmetatable(_G, {__newindex = function(t, k, v) n = n + 1 rawset(t, k, v) end}); y = 1; y = 2; return n == 1 and rawget(_G, "y") == 2 and print ~= nil end)()
        (function() setmetatable(_G, {__index = function(_, k) return "no " .. k end}); return nope == "no nope" end)()
        (function() local m = {}; return setmetatable(string, m) == string and getmetatable(string) == m end)()
        not pcall(setmetatable, setmetatable({}, {__metatable = 1}), {})
        getmetatable(setmetatable({}, {__metatable = 1})) == 1
        (function() local e = {}; load("a = 1", "c", "t", e)(); return e.a == 1 and a == nil end)()
        (function() load("b = 1")(); return b == 1 end)()
        load("return _ENV")() == _ENV
        (function() local _ENV <const> = {x = 1}; return x == 1 end)()
        (function() package.path = "x"; return package.path == "x" end)()
        (function() package.loaded.foo = 7; return require "foo" == 7 end)()
        (function() package.preload.bar = function(n, d) return n .. d end; return require "bar" == "bar:preload:" end)()
        select(2, pcall(require, "no.such")):find("module 'no.such' not found:\n\tno field package.preload['no.such']\n\tno file '", 1, true) == 1
        (function() package.preload.t = function() end; return require "t" == true and package.loaded.t == true end)()
        (function() for k, v in pairs(package.loaded) do if k == "string" then return v == string end end end)()
        (function() table.insert(package.searchers, function() return function() return 9 end end); return #package.searchers == 5 and require "q" == 9 end)()
        select("#", xpcall(error, function(m) return m, 2 end, 1)) == 2
        xpcall(error, debug.traceback, 5) == false
        select(2, xpcall(function() error("e", 0) end, function(m) return m .. "!" end)) == "e!"
        select(2, pcall(xpcall)):find("bad argument #2 to 'xpcall'", 1, true) == 1
        select(2, coroutine.resume(coroutine.create(function(a) return a end), 3)) == 3
        coroutine.wrap(function(a) local b = coroutine.yield(a + 1) return b end)(1) == 2
        (function() local c = coroutine.wrap(function() local ok, x = pcall(coroutine.yield, 1) return x end) return c() + c(2) == 3 end)()
        (function() local c = coroutine.wrap(function() return xpcall(function() return coroutine.yield(1) end, error) end) c() return select(2, c(7)) == 7 end)()
        (function() local c = coroutine.wrap(function() return pcall(function() coroutine.yield() error("z", 0) end) end) c() return select(2, c()) == "z" end)()
        select(2, pcall(coroutine.wrap(function() error({}) end))) ~= nil
        select(2, pcall(coroutine.wrap(function() error("x", 0) end))):find("x$") ~= nil
        (function() local f = coroutine.wrap(function() end) f() return select(2, pcall(f)):find("cannot resume dead coroutine") end)() ~= nil
        coroutine.isyieldable() == false
        select(2, coroutine.running()) == true
        coroutine.close(coroutine.create(print)) == true
        (function() local c = coroutine.create(function() coroutine.yield() end) coroutine.resume(c) return coroutine.close(c) and coroutine.status(c) == "dead" end)()
        (function() local done; do local x <close> = setmetatable({}, {__close = function() done = 1 end}) end return done == 1 end)()
        (function() local ok, e = pcall(setmetatable, 1, {}) return e:find("bad argument #1 to 'setmetatable'", 1, true) end)() == 1
        (function() local ok, e = pcall(next, {}, "nokey") return not ok end)()
        (function() local t = setmetatable({}, {__pairs = function() return function() end, 1, 2 end}); return select(3, pairs(t)) == 2 end)()
        (function() local r = {} for k in string.gmatch("a b", "%a") do r[#r + 1] = k end return #r == 2 end)()
        collectgarbage("count") > 0
        collectgarbage() == 0
        collectgarbage("step") ~= nil
        collectgarbage("isrunning")
        tostring(io.stdout):find("^file %(") == 1
        io.type(io.stdout) == "file"
        io.output() == io.stdout
        (function() local f = io.tmpfile() f:write("ab\n") f:seek("set") return f:read("l") == "ab" and f:close() end)()
        math.type(3) == "integer"
        math.random(5) <= 5
        os.getenv("NOPE") == nil
        os.setlocale("C") == "C"
        os.setlocale("xx") == nil
        math.randomseed(1) == nil or true
        debug.getinfo(1, "l").currentline > 0
        type(debug.traceback()) == "string"
        apache2.OK == 0
        require "apache2" == apache2
        apache2.HTTP_NOT_FOUND == 404
        apache2.DECLINED == -1
    """

    def test_truths(self, server):
        lies = []
        for n, truth in enumerate(self.TRUTHS.strip().splitlines()):
            (server.docroot / f"truth{n}.lua").write_text(f"function handle(r)\nr:puts(tostring({truth.strip()}))\nend\n")
            answer = fetch(server.port, f"/truth{n}.lua")
            if answer.text != "true":
                lies.append((truth, answer.status, answer.text))
        assert not lies
