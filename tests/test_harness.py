# SPDX-License-Identifier: Apache-2.0
"""The harness itself: it sees what it is trusted to see. Needs no module of ours."""
import os
import signal
import socket

import pytest

from harness import process
from harness.client import Connection, Truncated, fetch, request_bytes
from harness.errorlog import ErrorLog, is_fault
from harness.httpd import ServerError, Sizes, load_module
from harness.process import wait_until


class TestServer:
    MODULES = ()
    SCRIPTS = None
    SIZES = Sizes(threads=3)

    def test_serves_a_file(self, server):
        (server.docroot / "a.txt").write_text("hello\n")
        answer = fetch(server.port, "/a.txt")
        assert (answer.status, answer.body, answer.get("content-type")) == (200, b"hello\n", "text/plain")

    def test_answers_pipelined_requests_in_order(self, server):
        for name in "abc":
            (server.docroot / name).write_text(name * 5)
        with Connection(server.port) as c:
            c.send(b"".join(request_bytes("GET", "/" + name) for name in "abc"))
            assert [c.response().text for _ in "abc"] == ["aaaaa", "bbbbb", "ccccc"]
            head = c.request("HEAD", "/a")
            assert head.body == b"" and head.get("Content-Length") == "5"
            assert c.get("/b").text == "bbbbb"

    def test_sees_sizes_and_memory(self, server, mpm):
        expected = 3 if mpm == "prefork" else 1
        assert len(server.children()) == expected
        assert all(count >= (1 if mpm == "prefork" else 3) for count in server.threads().values())
        assert server.rss() > 1 << 20 and server.pss() > 1 << 19
        assert process.descriptors(server.pid)

    def test_graceful_restart_keeps_serving(self, server):
        (server.docroot / "a.txt").write_text("hello\n")
        old = server.children()
        server.graceful()
        assert fetch(server.port, "/a.txt").status == 200
        server.graceful(drained=True)
        assert not set(server.children()) & set(old)

    def test_an_error_line_must_be_expected(self, server):
        with server.expect_log("AH00036|AH01630|AH00035"):
            (server.docroot / "secret").mkdir(mode=0o700)
            fetch(server.port, "/secret/x")

    def test_a_crash_is_noticed(self, make_httpd):
        httpd = make_httpd(modules=(), scripts=None, sizes=Sizes(threads=2)).start()
        os.kill(httpd.children()[0], signal.SIGSEGV)
        wait_until(lambda: any("exit signal" in line for line in httpd.error_log()))
        with pytest.raises(AssertionError, match="exit signal"):
            httpd.check_log()
        httpd.log.allow("exit signal")

    def test_a_leak_in_the_parent_is_noticed(self, make_httpd):
        httpd = make_httpd(modules=(), scripts=None, sizes=Sizes(threads=2)).start()
        httpd.check_parent()
        httpd.conf += "".join(f'CustomLog "{httpd.run}/{n}.log" "%U"\n' for n in range(3))
        httpd.write_configuration()
        httpd.graceful()
        with pytest.raises(AssertionError, match="descriptors"):
            httpd.check_parent()
        httpd.conf = ""
        httpd.write_configuration()
        httpd.graceful()

    def test_a_bad_configuration_is_reported(self, make_httpd):
        httpd = make_httpd(modules=(), scripts=None, conf="NoSuchDirective\n")
        status, output = httpd.check_configuration()
        assert status != 0 and "NoSuchDirective" in output
        with pytest.raises(ServerError, match="NoSuchDirective"):
            httpd.start()


@pytest.mark.parametrize("line, fault", [
    ("[Mon Nov 30 15:06:46.309795 2026] [core:error] [pid 1:tid 1] AH00036: access denied", True),
    ("[Mon Nov 30 15:06:46.309795 2026] [:crit] [pid 1] x", True),
    ("[Mon Nov 30 15:06:46.309795 2026] [mpm_event:notice] [pid 1:tid 1] AH00052: child pid 9 exit signal "
     "Segmentation fault (11)", True),
    ("[Mon Nov 30 15:06:46.309795 2026] [core:notice] [pid 1:tid 1] AH00094: Command line", False),
    ("[Mon Nov 30 15:06:46.309795 2026] [luapool:warn] [pid 1] the word error in a text", False),
    ("==77==ERROR: AddressSanitizer: heap-use-after-free", True),
    ("modules/lua/vm.c:7:3: runtime error: left shift of negative value", True),
    ("Fatal Python error: _PyGILState_Init", True),
    ("==77== Invalid read of size 8", True),
])
def test_knows_a_fault(line, fault):
    assert is_fault(line) is fault


def test_log_reads_only_whole_lines(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b"one\ntw")
    log = ErrorLog(path)
    assert log.lines() == ["one"]
    with path.open("ab") as f:
        f.write(b"o\n\xff\n")
    assert log.lines() == ["one", "two", "\\xff"]
    assert log.wait_for("two") == ["two"]
    with pytest.raises(AssertionError, match="0 of 1"):
        log.wait_for("three", seconds=0)


class TestClient:
    MODULES = ()
    SCRIPTS = None
    SIZES = Sizes(threads=2)
    CONF = load_module("reflector") + '<Location "/echo">\nSetHandler reflector\n</Location>\n'

    @pytest.mark.parametrize("chunked", [False, True])
    def test_uploads(self, server, chunked):
        body = bytes(range(256)) * 300
        assert fetch(server.port, "/echo", "POST", body=body, chunked=chunked).body == body



@pytest.mark.parametrize("cut", [b"HTTP/1.1 200", b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc",
                                 b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"])
def test_client_sees_a_cut_answer(cut):
    with socket.create_server(("127.0.0.1", 0)) as listener, Connection(listener.getsockname()[1]) as c:
        peer, _ = listener.accept()
        peer.sendall(cut)
        peer.close()
        with pytest.raises(Truncated):
            c.response()
