# SPDX-License-Identifier: Apache-2.0
"""LuaScope and LuaPoolMode: how long state lives, who shares it, and that VMs come back."""
import os
import re
import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest

from harness import process
from harness.client import Connection, fetch
from harness.httpd import PATIENCE, Sizes, has_module, load_module
from test_common import curl_speaks_http2

COUNTER = "n = 0\nfunction handle(r) n = n + 1 r:puts(n) end\n"
KEEPER = ("function handle(r) if not old then old = r r:puts('kept') else "
          "r:puts(tostring(pcall(function() return old.uri end)), tostring(old == r)) end end")


def status(server):
    """The module's lines of server-status."""
    text = fetch(server.port, "/server-status?auto").text
    return {key: value for key, value in re.findall(r"Luapool(\w+): (\S+)", text)}


def scope_conf(*scopes):
    """Lines that give c-SCOPE.lua its scope."""
    return "".join(f'<Files "*-{scope.split()[0]}.lua">\nLuaScope {scope}\n</Files>\n' for scope in scopes)


def programs(server):
    """Processes that the server's children started and did not wait for yet."""
    return "".join(file.read_text() for child in server.children() for file in Path(f"/proc/{child}/task").glob("*/children"))


class TestThreadScope:
    """One thread serves all; so there are no kept connections here, which event would close for lack of threads."""
    MODULES = ("luapool",)
    SCRIPTS = None
    SIZES = Sizes(threads=1, prefork=1)
    CONF = "LuaScope thread\n"

    def test_each_file_has_a_state_that_stays(self, server):
        for name in "ab":
            (server.docroot / f"{name}.lua").write_text(COUNTER)
        assert [fetch(server.port, f"/{name}.lua").text for name in "ababb"] == ["1", "1", "2", "2", "3"]

    def test_an_edited_file_runs_anew_in_its_state(self, server):
        script = server.docroot / "edit.lua"
        script.write_text("n = (n or 0) + 1\nfunction handle(r) r:puts('old ', n) end")
        assert [fetch(server.port, "/edit.lua").text for _ in range(2)] == ["old 1", "old 1"]
        script.write_text("n = (n or 0) + 1\nfunction handle(r) r:puts('new version ', n) end")
        assert [fetch(server.port, "/edit.lua").text for _ in range(2)] == ["new version 2", "new version 2"]

    def test_a_kept_request_is_not_the_next_one(self, server):
        (server.docroot / "k.lua").write_text(KEEPER)
        assert [fetch(server.port, "/k.lua").text for _ in range(3)] == ["kept", "falsefalse", "falsefalse"]


class TestScopes:
    MODULES = ("luapool",)
    SCRIPTS = None
    SIZES = Sizes(threads=5, prefork=1)
    CONF = scope_conf("once", "request", "conn", "thread", "server 1 2")

    @pytest.mark.parametrize("scope, same_connection, other_connection", [
        ("once", "111", "11"), ("request", "111", "11"), ("conn", "123", "11"), ("server", "123", "45")])
    def test_how_long_a_global_lives(self, server, scope, same_connection, other_connection):
        (server.docroot / f"c-{scope}.lua").write_text(COUNTER)
        with Connection(server.port) as c:
            assert "".join(c.get(f"/c-{scope}.lua").text for _ in range(3)) == same_connection
        assert "".join(fetch(server.port, f"/c-{scope}.lua").text for _ in range(2)) == other_connection

    @pytest.mark.parametrize("scope", ["server", "conn"])
    @pytest.mark.parametrize("state", ["kept", "local kept"])
    def test_a_large_state_lives_as_long(self, server, scope, state):
        """More than half of LuaMemoryLimit; as garbage too."""
        name = f"{state.split()[0]}-{scope}.lua"
        (server.docroot / name).write_text(
            f"n = 0 function handle(r) n = n + 1 if n == 1 then {state} = {{}} for i = 1, 19 do kept[i] = ('x'):rep(1 << 21) .. i end end "
            "r:puts(n) end")
        with Connection(server.port) as c:
            assert "".join(c.get("/" + name).text for _ in range(3)) == "123"

    @pytest.mark.parametrize("scope", ["server", "conn"])
    def test_each_file_has_a_state_of_its_own(self, server, scope):
        for name in "ab":
            (server.docroot / f"{name}-{scope}.lua").write_text(COUNTER)
        with Connection(server.port) as c:
            assert [c.get(f"/{name}-{scope}.lua").text for name in "abab"] == ["1", "1", "2", "2"]

    @pytest.mark.parametrize("scope", ["once", "request", "conn", "thread", "server"])
    def test_failures_leave_the_scope_usable(self, server, scope):
        script = server.docroot / f"f-{scope}.lua"
        for bad in ("function handle(r) return 'x' end", "x = = 1", "error('chunk')", "function handle(r) error({}) end",
                    "function handle(r) local t = {} while true do t[#t + 1] = {} end end"):
            script.write_text(bad)
            for _ in range(3):
                with server.expect_log("LP00"):
                    assert fetch(server.port, f"/f-{scope}.lua").status == 500
        script.write_text("function handle(r) r:puts('good') end")
        assert fetch(server.port, f"/f-{scope}.lua").text == "good"

    @pytest.mark.parametrize("scope", ["once", "request", "conn", "server"])
    def test_a_kept_request_is_not_the_next_one(self, server, scope):
        (server.docroot / f"k-{scope}.lua").write_text(KEEPER)
        with Connection(server.port) as c:
            first, second = (c.get(f"/k-{scope}.lua").text for _ in range(2))
        assert first == "kept" and second == ("kept" if scope in ("once", "request") else "falsefalse")

    @pytest.mark.parametrize("scope", ["once", "request", "conn", "thread", "server"])
    def test_modules_and_search_path(self, server, scope):
        (server.docroot / "version.lua").write_text("return {mine = true}")
        (server.docroot / f"v-{scope}.lua").write_text(
            "local v = require 'version'\nlocal a = require 'apache2'\nfunction handle(r) r:puts(tostring(v.mine), a.OK, "
            "tostring(a == apache2), tostring(version)) end")
        assert fetch(server.port, f"/v-{scope}.lua").text == "true0truenil"


class TestEndOfConnection:
    """Under event the thread that listens closes connections that linger; it must not run what a script left."""
    MODULES = ("luapool",)
    SCRIPTS = None
    SIZES = Sizes(threads=3, prefork=1)

    def test_a_slow_finalizer_stops_no_other_request(self, make_httpd, mpm):
        """A request that comes too slowly is closed with a short time to linger, which the client lets pass."""
        if mpm == "prefork":
            pytest.skip("a child serves one request at a time")
        server = make_httpd(modules=("luapool",), scripts=None, sizes=self.SIZES,
                            conf=scope_conf("conn") + load_module("reqtimeout") + "RequestReadTimeout header=1\nKeepAlive On\n")
        server.start()
        (server.docroot / "ok.lua").write_text("function handle(r) r:puts('ok') end")
        begun, out = server.docroot / "meet" / "begun", server.docroot / "meet" / "out"
        begun.parent.mkdir()
        begun.parent.chmod(0o777)
        (server.docroot / "f-conn.lua").write_text(
            f"kept = setmetatable({{}}, {{__gc = function() os.execute('touch {begun}; while [ ! -e {out} ]; do sleep 0.05; done') end}})\n"
            "function handle(r) r:puts('kept') end")
        with Connection(server.port) as c:
            assert c.get("/f-conn.lua").text == "kept"
            c.send(b"GET / HTTP/1.1\r\n")
            assert c.response().status == 408
            deadline = time.monotonic() + 60
            try:
                while not begun.exists():
                    assert time.monotonic() < deadline and fetch(server.port, "/ok.lua").text == "ok"
                    time.sleep(0.05)
                assert [fetch(server.port, "/ok.lua").text for _ in range(5)] == ["ok"] * 5
            finally:
                out.touch()

    def test_vms_of_connections_are_closed(self, make_httpd):
        server = make_httpd(modules=("luapool",), scripts=None, sizes=self.SIZES, conf=scope_conf("conn"))
        server.start()
        (server.docroot / "c-conn.lua").write_text(COUNTER)
        (server.docroot / "big-conn.lua").write_text("function handle(r) t = {} for i = 1, 2e5 do t[i] = i end end")
        for _ in range(20):
            assert fetch(server.port, "/big-conn.lua").status == 200
        deadline = time.monotonic() + 20
        while int(status(server)["Memory"]) > 8e6:
            assert time.monotonic() < deadline and fetch(server.port, "/c-conn.lua").text == "1"


@pytest.mark.skipif(not (curl_speaks_http2() and has_module("http2")), reason="needs curl with HTTP/2 and mod_http2")
class TestEndOfThread:
    """mod_http2's threads end when they are idle."""
    MODULES = ("luapool",)
    SCRIPTS = None
    SIZES = Sizes(threads=4)
    CONF = (load_module("http2") + "Protocols h2c http/1.1\nH2MinWorkers 1\nH2MaxWorkers 6\nH2MaxWorkerIdleSeconds 1\n"
            + scope_conf("thread"))

    def test_vms_of_threads_are_closed(self, server, mpm):
        if mpm == "prefork":
            pytest.skip("mod_http2 does not support it")
        (server.docroot / "big-thread.lua").write_text("t = ('x'):rep(1 << 20)\nfunction handle(r) r.usleep(300000) r:puts(#t, ' ') end")
        (server.docroot / "ok.lua").write_text("function handle(r) r:puts('ok') end")
        for _ in range(2):
            clients = [subprocess.Popen(["curl", "-sS", "--http2-prior-knowledge", server.url + "/big-thread.lua"],
                                        stdout=subprocess.PIPE, text=True) for _ in range(6)]
            assert [client.communicate(timeout=60)[0] for client in clients] == ["1048576 "] * 6
            assert int(status(server)["Memory"]) > 2 << 20
            process.wait_until(lambda: fetch(server.port, "/ok.lua").text == "ok" and int(status(server)["Memory"]) < 2 << 20,
                               20 * PATIENCE)


class TestSlowReader:
    MODULES = ("luapool",)
    SCRIPTS = None
    SIZES = Sizes(threads=3, prefork=1)
    CONF = scope_conf("once", "request") + "SendBufferSize 4096\nLuaPoolMax 1\nLuaPoolWaitTimeout 1s\n"

    @pytest.mark.parametrize("scope", ["once", "request"])
    def test_who_reads_slowly_holds_no_vm(self, server, mpm, scope):
        if mpm == "prefork":
            pytest.skip("a child serves one request at a time")
        (server.docroot / f"long-{scope}.lua").write_text("n = (n or 0) + 1\nfunction handle(r) r:puts(n, ('x'):rep(60000)) end")
        (server.docroot / "ok.lua").write_text("function handle(r) r:puts('ok') end")
        with socket.socket() as slow:
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            slow.settimeout(20)
            slow.connect(("127.0.0.1", server.port))
            slow.sendall(f"GET /long-{scope}.lua HTTP/1.0\r\n\r\n".encode())
            assert slow.recv(1)
            assert fetch(server.port, "/ok.lua").text == "ok"
            assert len(b"".join(iter(lambda: slow.recv(9999), b"")).split(b"\r\n\r\n")[1]) == 60001
        assert status(server)["TimedOut"] == "0"


class TestForgottenPrograms:
    """A program that a script started by io.popen and forgot: its end is nobody's to wait for."""
    MODULES = ("luapool",)
    SCRIPTS = None
    SIZES = Sizes(threads=2, prefork=1)
    CONF = "LuaPoolMax 1\nLuaPoolWaitTimeout 0\n" + scope_conf("conn")

    @pytest.mark.parametrize("name, more", [
        ("plain", ""), ("default", "io.input(kept)"), ("finalized", "setmetatable({}, {__gc = function() kept:close() end})"),
        ("many", "local all = {} for i = 1, 20 do all[i] = io.popen('cat', 'w') all[i]:write(('x'):rep(100)) end"),
        ("late-conn", "")])
    def test_nobody_waits_for_it(self, server, name, more):
        folder = server.docroot / f"meet-{name}"
        folder.mkdir()
        folder.chmod(0o777)
        (server.docroot / f"{name}.lua").write_text(
            f"function handle(r) kept = io.popen('while [ ! -e {folder}/out ]; do sleep 0.05; done; touch {folder}/seen') {more} r:puts('x') end")
        (server.docroot / "ok.lua").write_text("function handle(r) r:puts('ok') end")
        try:
            assert [fetch(server.port, f"/{name}.lua").text for _ in range(2)] == ["x", "x"]
            assert [fetch(server.port, "/ok.lua").text for _ in range(5)] == ["ok"] * 5
        finally:
            (folder / "out").touch()
        deadline = time.monotonic() + 20
        while programs(server) or not (folder / "seen").exists():
            assert time.monotonic() < deadline
            if name == "late-conn":  # closed after the next response, for which the connection's end may come too late
                assert fetch(server.port, "/ok.lua").text == "ok"
            time.sleep(0.02)


class TestServerScope:
    MODULES = ("luapool",)
    SCRIPTS = None
    SIZES = Sizes(threads=6, prefork=1)
    CONF = scope_conf("server 1 1") + "LuaPoolWaitTimeout 300ms\n"

    def test_one_busy_vm_delays_no_other_script(self, server, mpm):
        if mpm == "prefork":
            pytest.skip("a child serves one request at a time")
        (server.docroot / "slow-server.lua").write_text("function handle(r) local t = os.time() + 2 while os.time() < t do end end")
        (server.docroot / "ok-server.lua").write_text("function handle(r) r:puts('ok') end")
        (server.docroot / "ok.lua").write_text("function handle(r) r:puts('ok') end")
        slow = threading.Thread(target=fetch, args=(server.port, "/slow-server.lua"))
        slow.start()
        while slow.is_alive():
            assert fetch(server.port, "/ok-server.lua").text == "ok"
            assert fetch(server.port, "/ok.lua").text == "ok"
        slow.join()

    def test_who_waits_too_long_gets_503(self, server, mpm):
        if mpm == "prefork":
            pytest.skip("a child serves one request at a time")
        (server.docroot / "slow-server.lua").write_text("function handle(r) local t = os.time() + 2 while os.time() < t do end end")
        answers = []
        threads = [threading.Thread(target=lambda: answers.append(fetch(server.port, "/slow-server.lua").status)) for _ in range(3)]
        with server.expect_log("LP007: .*LuaScope server"):
            for t in threads:
                t.start()
            for t in threads:
                t.join()
        assert sorted(answers)[0] == 200 and 503 in answers


class TestVhosts:
    MODULES = ("luapool",)
    SCRIPTS = None
    SIZES = Sizes(threads=1, prefork=1)
    CONF = ("LuaScope thread\n<VirtualHost *:{port}>\nServerName a\nDocumentRoot {docroot}\n</VirtualHost>\n"
            "<VirtualHost *:{port}>\nServerName b\nDocumentRoot {docroot}\nLuaScope server 1 1\n</VirtualHost>\n"
            "<VirtualHost *:{port}>\nServerName c\nDocumentRoot {docroot}\nLuaScope server 1 1\n</VirtualHost>\n")

    def test_virtual_hosts_share_no_state(self, server):
        (server.docroot / "n.lua").write_text(COUNTER)
        got = [fetch(server.port, "/n.lua", headers={"Host": host}).text for host in "abcabc"]
        assert got == ["1", "1", "1", "2", "2", "2"]


class TestVhostsOfAConnection:
    MODULES = ("luapool",)
    SCRIPTS = None
    SIZES = Sizes(threads=4, prefork=1)
    CONF = "LuaScope conn\n" + "".join(f"<VirtualHost *:{{port}}>\nServerName {host}\nDocumentRoot {{docroot}}\n"
                                      f"LuaPackagePath {{docroot}}/{host}/?.lua\n</VirtualHost>\n" for host in "ab")

    def test_virtual_hosts_share_no_state(self, server):
        for host in "ab":
            (server.docroot / host).mkdir()
            (server.docroot / host / "mine.lua").write_text(f"return '{host}'")
        (server.docroot / "n.lua").write_text("n = 0 function handle(r) n = n + 1 r:puts(require 'mine', n) end")
        with Connection(server.port) as c:
            assert [c.get("/n.lua", headers={"Host": host}).text for host in "abab"] == ["a1", "b1", "a2", "b2"]


class TestPaths:
    MODULES = ("luapool",)
    SCRIPTS = None
    SIZES = Sizes(threads=2, prefork=1)
    CONF = ("LuaPackagePath {docroot}/lib/?.lua\n<Directory {docroot}/sub>\nLuaPackagePath {docroot}/sub/lib/?.lua\n</Directory>\n"
            "<Directory {docroot}/last>\nLuaInherit parent-last\nLuaPackagePath {docroot}/last/lib/?.lua\n</Directory>\n"
            "<Directory {docroot}/none>\nLuaInherit none\nLuaPackagePath {docroot}/none/lib/?.lua\n</Directory>\n")

    def test_paths_are_merged_as_asked(self, server):
        for folder in ("", "sub/", "last/", "none/"):
            (server.docroot / folder / "lib").mkdir(parents=True, exist_ok=True)
            (server.docroot / folder / "lib" / "where.lua").write_text(f"return '{folder or 'top/'}'")
            (server.docroot / folder / "p.lua").write_text("function handle(r) r:puts((require 'where'), package.path) end")
        lib = f"{server.docroot}/%slib/?.lua"
        for _ in range(3):  # the VM is the same each time
            for folder, found, end in (("", "top/", lib % ""), ("sub/", "top/", f"{lib % ''};{lib % 'sub/'}"),
                                       ("last/", "last/", f"{lib % 'last/'};{lib % ''}"), ("none/", "none/", lib % "none/")):
                text = fetch(server.port, f"/{folder}p.lua").text
                assert text.startswith(found) and text.endswith(";" + end)
                assert f";{server.docroot}/{folder}?.lua;{server.docroot}/{folder}?/init.lua" in text
                assert ";./" not in text

    def test_an_edited_module_is_noticed(self, server):
        (server.docroot / "mod.lua").write_text("return 'one'")
        (server.docroot / "m.lua").write_text("function handle(r) r:puts((require 'mod')) end")
        assert fetch(server.port, "/m.lua").text == "one"
        (server.docroot / "mod.lua").write_text("return 'two two'")
        deadline = time.monotonic() + 10
        while fetch(server.port, "/m.lua").text != "two two":
            assert time.monotonic() < deadline
            time.sleep(0.1)


class TestCodeCache:
    MODULES = ("luapool",)
    SCRIPTS = None
    SIZES = Sizes(threads=2, prefork=1)
    CONF = "".join(f'<Files "{mode}.lua">\nLuaCodeCache {mode}\n</Files>\n' for mode in ("stat", "forever", "never"))

    @pytest.mark.parametrize("mode, after", [("stat", "second"), ("forever", "first"), ("never", "second")])
    def test_an_edit(self, server, mode, after):
        script = server.docroot / f"{mode}.lua"
        script.write_text("function handle(r) r:puts('first') end")
        assert [fetch(server.port, f"/{mode}.lua").text for _ in range(3)] == ["first"] * 3
        script.write_text("function handle(r) r:puts('second') end")
        assert [fetch(server.port, f"/{mode}.lua").text for _ in range(3)] == [after] * 3

    def test_an_edit_of_the_same_length_with_an_old_time(self, server):
        script = server.docroot / "stat.lua"
        script.write_text("function handle(r) r:puts('aaaaa') end")
        assert fetch(server.port, "/stat.lua").text == "aaaaa"
        script.write_text("function handle(r) r:puts('bbbbb') end")
        os.utime(script, (1000000000, 1000000000))
        assert fetch(server.port, "/stat.lua").text == "bbbbb"


@pytest.mark.parametrize("mode, made", [("pool", "few"), ("fresh", "each"), ("lock", "one")])
class TestModes:
    def test_pool_mode(self, make_httpd, mpm, mode, made):
        server = make_httpd(modules=("luapool",), scripts=None, conf=f"LuaPoolMode {mode}\n", sizes=Sizes(threads=10, prefork=1))
        server.start()
        (server.docroot / "n.lua").write_text(COUNTER)
        failed = []

        def load():
            with Connection(server.port) as c:
                failed.extend(answer for answer in (c.get("/n.lua").text for _ in range(50)) if answer != "1")
        threads = [threading.Thread(target=load) for _ in range(1 if mpm == "prefork" else 4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert not failed
        figures = status(server)
        count = int(figures["Made"])
        assert figures["Mode"] == mode
        assert count in {"one": [1], "few": range(1, 6), "each": [50 * len(threads)]}[made]
        assert int(figures["Busy"]) == 0 and int(figures["Failures"]) == 0


class TestPoolLimits:
    def test_idle_vms_are_closed_and_the_minimum_stays(self, make_httpd, mpm):
        if mpm == "prefork":
            pytest.skip("a child has one VM")
        server = make_httpd(modules=("luapool",), scripts=None, conf="LuaPoolMin 2\nLuaPoolIdleTimeout 1s\n", sizes=Sizes(threads=4))
        server.start()
        (server.docroot / "s.lua").write_text("function handle(r) local t = os.clock() + 0.2 while os.clock() < t do end end")
        threads = [threading.Thread(target=fetch, args=(server.port, "/s.lua")) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        deadline = time.monotonic() + 15
        while int(status(server)["Idle"]) != 2:
            assert time.monotonic() < deadline
            time.sleep(0.1)

    def test_a_vm_is_closed_after_its_last_use(self, make_httpd):
        server = make_httpd(modules=("luapool",), scripts=None, conf="LuaPoolMaxRequests 5\nLuaPoolMax 1\n", sizes=Sizes(threads=2, prefork=1))
        server.start()
        (server.docroot / "n.lua").write_text(COUNTER)
        assert [fetch(server.port, "/n.lua").text for _ in range(21)] == ["1"] * 21
        assert int(status(server)["Made"]) >= 5

    def test_garbage_of_the_last_request_is_no_reason_for_a_503(self, make_httpd):
        """LuaPoolWaitTimeout 0 is about VMs that requests have, not about one that is being tidied up."""
        server = make_httpd(modules=("luapool",), scripts=None, conf="LuaPoolMax 1\nLuaPoolWaitTimeout 0\n", sizes=Sizes(threads=4, prefork=1))
        server.start()
        (server.docroot / "g.lua").write_text("function handle(r) local t = {} for i = 1, 20000 do t[i] = {} end end")
        assert [fetch(server.port, "/g.lua").status for _ in range(150)] == [200] * 150

    def test_a_sub_request_to_the_same_script_works(self, make_httpd, mpm):
        for scope in ("once", "request", "conn", "thread", "server 1 2"):
            server = make_httpd(modules=("luapool",), scripts=None, sizes=Sizes(threads=2, prefork=1), conf=load_module("include") + (
                f'LuaScope {scope}\n<Directory "{{docroot}}">\nOptions +Includes\nAddOutputFilter INCLUDES .lua\n</Directory>\n'))
            server.start()
            (server.docroot / "s.lua").write_text(
                "function handle(r) if r.args then r:puts('inner') else r:puts('[<!--#include virtual=\"/s.lua?inner\" -->]') r:flush() "
                "r:puts('end') end end")
            assert fetch(server.port, "/s.lua").text == "[inner]end"

    def test_a_request_that_keeps_a_vm_needs_no_other(self, make_httpd):
        """LuaScope request keeps the only VM: the document of an error and includes must not wait for it."""
        server = make_httpd(modules=("luapool",), scripts=None, sizes=Sizes(threads=2, prefork=1), conf=load_module("include") + (
            'LuaPoolMax 1\nLuaPoolWaitTimeout 20s\nLuaScope request\nErrorDocument 404 /answer.lua\n'
            '<Files page.*>\nOptions +Includes\nSetOutputFilter INCLUDES\n</Files>\n'))
        server.start()
        (server.docroot / "answer.lua").write_text(COUNTER)
        (server.docroot / "missing.lua").write_text("function handle() return 404 end")
        include = '<!--#include virtual="/answer.lua" -->'
        (server.docroot / "page.lua").write_text(f"function handle(r) r:puts('{include * 2}') end")
        (server.docroot / "page.html").write_text(f'{include * 2}<!--#include virtual="/page.lua" -->')
        for path, code, text in (("missing.lua", 404, "1"), ("page.lua", 200, "11"), ("page.html", 200, "1111")) * 2:
            answer = fetch(server.port, "/" + path, timeout=60)
            assert (answer.status, answer.text) == (code, text)
        assert status(server)["TimedOut"] == "0"


def test_hello_runs_unchanged_under_mod_lua(make_httpd):
    if not has_module("lua"):
        pytest.skip("mod_lua is not installed")
    hello = 'function handle(r)\n    r.content_type = "text/plain"\n    r:puts("Hello World!")\nend\n'
    answers = []
    for modules, conf in (((), load_module("lua") + "AddHandler lua-script .lua\n"), (("luapool",), "")):
        server = make_httpd(modules=modules, scripts=None, conf=conf)
        server.start()
        (server.docroot / "hello.lua").write_text(hello)
        answer = fetch(server.port, "/hello.lua")
        answers.append((answer.status, answer.body, answer.get("content-type"), answer.get("content-length")))
    assert answers == [(200, b"Hello World!", "text/plain", "12")] * 2
