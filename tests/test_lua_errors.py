# SPDX-License-Identifier: Apache-2.0
"""What a Lua script can do wrong: one log entry that names place and cause, a plain answer, nobody else disturbed."""
import re

import pytest

from harness.client import fetch
from harness.httpd import Sizes

# name: (the whole script, what the log says)
FAILURES = {
    "syntax": ("x = 1\ny = = 2\n", r"LP002: \S+/bad\.lua:2: unexpected symbol near '='"),
    "chunk": ("local t = nil\nt.x = 1\n", r"LP001: \S+/bad\.lua:2: attempt to index a nil value \(local 't'\) .* in main chunk"),
    "no_handle": ("x = 1\n", r"LP003: \S+/bad\.lua: \S+/bad\.lua has no function 'handle'"),
    "handle_is_no_function": ("handle = {}\n", r"LP003: .*no function 'handle'"),
    "runtime": ("function handle(r)\n\n  local a = nope.field\nend\n", r"LP001: \S+/bad\.lua:3: attempt to index a nil value \(global 'nope'\)"),
    "error_nothing": ("function handle(r) error() end", r"LP001: \S+/bad\.lua:1: \(error object is nil\)"),
    "error_nil": ("function handle(r) error(nil, 2) end", r"LP001: .*error object is nil"),
    "error_table": ("function handle(r) error({code = 42}) end", r"LP001: \S+/bad\.lua:1: \(error object is a table value: table: 0x"),
    "error_boolean": ("function handle(r) error(false) end", r"LP001: .*\(error object is a boolean value: false\)"),
    "error_number": ("function handle(r) error(7) end", r"LP001: .*\(error object is a number value: 7\)"),
    "error_function": ("function handle(r) error(print) end", r"LP001: .*\(error object is a function value"),
    "error_thread": ("function handle(r) error(coroutine.create(print)) end", r"LP001: .*\(error object is a thread value"),
    "error_request": ("function handle(r) error(r) end", r"LP001: .*\(error object is a userdata value: request"),
    "error_tostring": ("function handle(r) error(setmetatable({}, {__tostring = function() return 'my text' end})) end", r"LP001: .*my text"),
    "error_tostring_fails": ("function handle(r) error(setmetatable({}, {__tostring = function() error('inner') end})) end",
                             r"LP001: .*whose __tostring fails"),
    "error_tostring_number": ("function handle(r) error(setmetatable({}, {__tostring = function() return {} end})) end",
                              r"LP001: .*whose __tostring fails"),
    "error_name": ("function handle(r) error(setmetatable({}, {__name = 'My.Type'})) end", r"LP001: .*My\.Type: 0x"),
    "error_metatable": ("function handle(r) error(setmetatable({}, {__metatable = 1, __index = error})) end", r"LP001: .*a table value"),
    "error_level_2": ("local function f() error('deep', 2) end\nfunction handle(r)\n  f()\nend\n", r"LP001: .*bad\.lua:\d+: .*deep"),
    "error_level_0": ("function handle(r) error('no place', 0) end", r"LP001: \S+/bad\.lua:1: no place"),
    "overflow": ("function handle(r) local function f(a, b, c, d) return 1 + f(a, b, c, d) end f() end", r"LP001: .*stack overflow.*more levels"),
    "c_overflow": ("local function f(s) return (s:gsub('.', f)) end\nfunction handle(r) f('x') end", r"LP001: .*C stack overflow"),
    "overflow_in_tostring": ("local mt = {}\nmt.__tostring = function(t) return tostring(t) end\n"
                             "function handle(r) error(setmetatable({}, mt)) end", r"LP001: .*__tostring fails"),
    "in_coroutine": ("function handle(r)\n coroutine.wrap(function()\n  error('inside')\n end)()\nend", r"LP001: .*inside"),
    "long_message": ("function handle(r) error(('x'):rep(100000)) end", r"LP001: .*xxxx"),
    "nul_in_message": ("function handle(r) error('a\\0b') end", r"LP001: "),
    "newline_in_message": ("function handle(r) error('a\\nb') end", r"LP001: .*a\\nb"),
    "no_utf8_in_message": ("function handle(r) error('\\xff\\xfe') end", r"LP001: .*\\xff\\xfe"),
    "returns_string": ("function handle(r) return 'x' end", r"LP004: .*handle returned a string; it must return an integer"),
    "returns_table": ("function handle(r) return {} end", r"LP004: .*handle returned a table"),
    "returns_request": ("function handle(r) return r end", r"LP004: .*handle returned a userdata"),
    "returns_numeral": ("function handle(r) return '404' end", r"LP004: .*handle returned a string"),
    "returns_fraction": ("function handle(r) return 404.5 end", r"LP004: .*handle returned 404\.5, which is no status"),
    "returns_nonsense": ("function handle(r) return 99 end", r"LP004: .*handle returned 99, which is no status"),
    "returns_huge": ("function handle(r) return 1 << 40 end", r"LP004: .*which is no status"),
    "module_missing": ("require 'no.such.module'\n", r"LP001: \S+/bad\.lua:1: module 'no\.such\.module' not found"),
    "module_syntax": ("require 'broken'\n", r"LP001: \S+/bad\.lua:1: error loading module 'broken' from file '\S+/broken\.lua'"),
    "bad_argument": ("function handle(r) ('x'):rep({}) end", r"LP001: .*bad argument #1 to 'rep'"),
    "method_without_self": ("function handle(r) r.puts('x') end", r"LP001: .*bad argument #1 to 'puts' \(Apache2.Request expected, got string\)"),
    "puts_nil": ("function handle(r) r:puts(nil) end", r"LP001: .*bad argument #1 to 'puts' \(string expected, got nil\)"),
    "unknown_property": ("function handle(r) r.nonsense = 1 end", r"LP001: .*Property \[nonsense\] may not be set on a request_rec"),
    "read_only_property": ("function handle(r) r.method = 'GET' end", r"LP001: .*Property \[method\] may not be set"),
    "status_out_of_range": ("function handle(r) r.status = 1000 end", r"LP001: .*1000 is no HTTP status"),
    "header_with_newline": ("function handle(r) r.headers_out['X'] = 'a\\r\\nSet-Cookie: b' end", r"LP001: .*must not contain"),
    "header_with_nul": ("function handle(r) r.err_headers_out['X'] = 'a\\0b' end", r"LP001: .*must not contain"),
    "header_name_with_colon": ("function handle(r) r.headers_out['X:'] = 'a' end", r"LP001: .*header name"),
    "header_added_with_newline": ("function handle(r) r.headers_out:add('X', 'a\\nb') end", r"LP001: .*must not contain"),
    "content_type_with_newline": ("function handle(r) r.content_type = 'text/plain\\nX: y' end", r"LP001: .*content_type: .*must not contain"),
    "note_with_nul": ("function handle(r) r.notes.x = 'a\\0b' end", r"LP001: .*must not contain a NUL"),
}


class TestFailures:
    MODULES = ("luapool",)
    SCRIPTS = None
    SIZES = Sizes(threads=3, prefork=1)

    @pytest.mark.parametrize("way", FAILURES)
    def test_is_logged_once_and_answered_plainly(self, server, way):
        script, pattern = FAILURES[way]
        (server.docroot / "broken.lua").write_text("return = 1")
        (server.docroot / "bad.lua").write_text(script)
        (server.docroot / "good.lua").write_text("function handle(r) r:puts('fine') end")
        children = server.children()
        for _ in range(2):
            mark = server.log.mark()
            with server.expect_log(pattern):
                answer = fetch(server.port, "/bad.lua")
            assert answer.status == 500
            assert not re.search(r"lua|htdocs|LP0|traceback|attempt", answer.text, re.I)
            assert sum("LP0" in line for line in server.log.since(mark)) == 1
        assert fetch(server.port, "/good.lua").text == "fine"
        assert server.children() == children

    def test_a_fixed_script_works_again(self, server):
        script = server.docroot / "fix.lua"
        script.write_text("function handle(r) r:puts('one') end")
        assert fetch(server.port, "/fix.lua").text == "one"
        script.write_text("function handle(r) r:puts('two' end")
        with server.expect_log("LP002"):
            assert fetch(server.port, "/fix.lua").status == 500
        script.write_text("function handle(r) r:puts('three') end")
        assert fetch(server.port, "/fix.lua").text == "three"

    def test_nothing_is_added_to_a_response_that_began(self, server):
        (server.docroot / "half.lua").write_text("function handle(r) r:puts('{\"a\":1') r:flush() error('half') end")
        with server.expect_log("LP001: .*half"), pytest.raises(Exception) as cut:
            fetch(server.port, "/half.lua")
        assert cut.value.partial.body == b'{"a":1'

    def test_what_was_buffered_is_dropped(self, server):
        (server.docroot / "early.lua").write_text("function handle(r) r.content_type = 'x/y' r:puts('{\"a\":1') error('early') end")
        with server.expect_log("LP001: .*early"):
            answer = fetch(server.port, "/early.lua")
        assert answer.status == 500 and '"a"' not in answer.text and answer.get("content-type").startswith("text/html")

    def test_missing_files_and_folders(self, server):
        (server.docroot / "folder.lua").mkdir(exist_ok=True)
        (server.docroot / "hidden.lua").write_text("function handle(r) end")
        (server.docroot / "hidden.lua").chmod(0o000)
        assert fetch(server.port, "/missing.lua").status == 404
        assert fetch(server.port, "/folder.lua/").status in (403, 404)
        with server.expect_log("LP009|AH00035|AH00132"):
            assert fetch(server.port, "/hidden.lua").status == 403

    def test_path_info_is_served_unless_refused(self, server):
        (server.docroot / "info.lua").write_text("function handle(r) r:puts(r.path_info) end")
        assert fetch(server.port, "/info.lua/a/b").text == "/a/b"


class TestDetails:
    MODULES = ("luapool",)
    SCRIPTS = None
    SIZES = Sizes(threads=2, prefork=1)
    CONF = "LuaErrorDetails On\n"

    LARGE = "('<large>'):rep(1 << 20)"

    @pytest.mark.parametrize("script", [f"error({LARGE})", f"error(setmetatable({{}}, {{__tostring = function() return {LARGE} end}}))",
                                        "load('local ' .. ('n'):rep(1 << 22) .. ' = nil ' .. ('n'):rep(1 << 22) .. '()')()"])
    def test_a_message_without_end_is_cut(self, server, script):
        """httpd would copy it, escaped too, outside of LuaMemoryLimit."""
        (server.docroot / "large.lua").write_text(f"function handle(r) local ok, why = pcall(function() {script} end) error(why) end")
        with server.expect_log("LP001: .*(large|nnn|string)"):
            answer = fetch(server.port, "/large.lua")
        assert answer.status == 500 and 8000 < len(answer.body) < 100_000

    def test_the_client_sees_message_and_traceback_escaped(self, server):
        (server.docroot / "bad.lua").write_text("function handle(r)\nerror('<script>&')\nend")
        with server.expect_log("LP001"):
            answer = fetch(server.port, "/bad.lua")
        assert answer.status == 500
        assert "&lt;script&gt;&amp;" in answer.text and "bad.lua:2" in answer.text and "<script>" not in answer.text


class TestStart:
    def test_refuses_the_stock_module_beside_it(self, make_httpd):
        from harness.httpd import has_module, load_module
        if not has_module("lua"):
            pytest.skip("mod_lua is not installed")
        server = make_httpd(modules=("luapool",), scripts=None, conf=load_module("lua"))
        status, output = server.check_configuration()
        assert status != 0 and "LP101" in output + "".join(server.error_log()) and "LoadModule lua_module" in output

    @pytest.mark.parametrize("line, words", [
        ("LuaScope forever", "none of once, request, conn, thread, server"),
        ("LuaScope once 1", "takes no numbers"),
        ("LuaScope server 0", "from 1 to 100000"),
        ("LuaScope server 1 x", "from 1 to 100000"),
        ("LuaPoolMin 3\nLuaPoolMax 2", "LuaPoolMin is larger than LuaPoolMax"),
        ("LuaPoolMaxIdle 3\nLuaPoolMax 2", "LuaPoolMaxIdle is larger than LuaPoolMax"),
        ("LuaPoolMin 2\nLuaPoolMaxIdle 1", "LuaPoolMin is larger than LuaPoolMaxIdle"),
        ("LuaPoolMax 0", "LuaPoolMax"),
        ("LuaPoolMax many", "LuaPoolMax"),
        ("LuaMemoryLimit 5X", "LuaMemoryLimit"),
        ("LuaTimeLimit fast", "LuaTimeLimit"),
        ("LuaCodeCache sometimes", "LuaCodeCache"),
        ("LuaInherit never", "LuaInherit"),
        ("LuaPoolMode slow", "LuaPoolMode"),
        ("LuaPackagePath /srv/lua", "has no '?'"),
        (f"LuaPackagePath {'/long' * 1000}/?.lua", "LuaPackagePath: '/long/long"),
        ("<VirtualHost *>\nLuaPoolMax 2\n</VirtualHost>", "LuaPoolMax"),
    ])
    def test_names_what_is_wrong_with_a_directive(self, make_httpd, line, words):
        server = make_httpd(modules=("luapool",), scripts=None, conf=line + "\n")
        status, output = server.check_configuration()
        assert status != 0 and words in output
