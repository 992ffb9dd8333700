# SPDX-License-Identifier: Apache-2.0
"""modules/common under httpd, without an interpreter: bodies, failures, the status board, directives.
Served by tests/common/mod_commontest.c."""
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from harness import process
from harness.client import Connection, Truncated, fetch
from harness.httpd import PATIENCE, Sizes, has_module, load_module

SHARED_OBJECT = Path(os.environ.get("INTERPOOL_STAGE", "stage")).parent / "tests/common/.libs/mod_commontest.so"
CONF = f'LoadModule commontest_module "{SHARED_OBJECT}"\n' + "".join(
    f'<Location "/{name}">\nSetHandler common-{name}\n</Location>\n' for name in ("conf", "count", "echo", "fail"))


class CommonServer:
    MODULES = ()
    SCRIPTS = None
    SIZES = Sizes(threads=4)
    CONF = CONF


def post(server, query, body, **options):
    return fetch(server.port, "/echo?" + query, options.pop("method", "POST"), body=body, **options)


class TestBody(CommonServer):
    CONF = CONF + ("<Location />\nLimitRequestBody 100000000\n</Location>\nTimeout 2\n"
                   '<Location "/echo/small">\nLimitRequestBody 1000\n</Location>\n'
                   "LogLevel commontest:info\n")

    @pytest.mark.parametrize("chunked", [False, True])
    @pytest.mark.parametrize("size", [0, 1, 4096, 4097, 70_000, 3_000_000])
    def test_whole(self, server, size, chunked):
        body = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
        answer = post(server, "", body, chunked=chunked)
        assert (answer.status, answer.body == body) == (200, True)

    @pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE", "BREW"])
    def test_any_method(self, server, method):
        assert post(server, "", b"hello", method=method).text == "hello"

    def test_no_body(self, server):
        answer = fetch(server.port, "/echo?expected")
        assert (answer.status, answer.text) == (200, "0:")
        assert post(server, "expected&pieces=2", b"").text == "0:"
        assert post(server, "expected&pieces=2", b"abc").text == "1:ab|c|"
        assert post(server, "expected&pieces=2", b"abc", chunked=True).text == "1:ab|c|"

    def test_pieces_are_full_whatever_the_chunks(self, server):
        with Connection(server.port) as c:
            c.send(b"POST /echo?pieces=4 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
            for piece in (b"a", b"bc", b"defgh", b"ij"):
                c.send(b"%x\r\n%s\r\n" % (len(piece), piece))
                time.sleep(0.02)
            c.send(b"0\r\n\r\n")
            assert c.response().text == "abcd|efgh|ij|"

    def test_lines(self, server):
        assert post(server, "lines=0", b"a\nbc\n\nlast").text == "[a\n][bc\n][\n][last]"
        assert post(server, "lines=2", b"abc\nd\n").text == "[ab][c\n][d\n]"
        long = b"x" * 100_000 + b"\n"
        assert post(server, "lines=0", long * 2, chunked=True).body == b"[" + long + b"][" + long + b"]"

    @pytest.mark.parametrize("query", ["", "pieces=100&", "lines=0&"])
    @pytest.mark.parametrize("chunked", [False, True])
    def test_limit(self, server, query, chunked):
        exact = post(server, query + "limit=5000", b"x" * 5000, chunked=chunked)
        assert (exact.status, exact.body.count(b"x")) == (200, 5000)
        with server.expect_log("CT001: the request body is larger than the limit"):
            assert post(server, query + "limit=5000", b"x" * 5001, chunked=chunked).status == 413

    @pytest.mark.parametrize("chunked", [False, True])
    def test_the_servers_limit(self, server, chunked):
        with server.expect_log("CT001: the request body is larger than the limit"):
            answer = fetch(server.port, "/echo/small", "POST", body=b"x" * 1001, chunked=chunked)
        assert answer.status == 413

    def test_a_caught_error_leaves_no_rest_behind(self, server):
        with Connection(server.port) as c:
            c.send(b"POST /echo?limit=10&catch HTTP/1.1\r\nHost: a\r\nContent-Length: 200000\r\n\r\n" + b"x" * 2000)
            answer = c.response()
            assert (answer.status, answer.text) == (200, "caught: the request body is larger than the limit")
            assert answer.get("Connection") == "close" and c.at_end()

    @pytest.mark.parametrize("query", ["", "pieces=3", "lines=0"])
    @pytest.mark.parametrize("request_rest", [b"Content-Length: 100\r\n\r\nabc",
                                              b"Transfer-Encoding: chunked\r\n\r\n64\r\nabc",
                                              b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"])
    def test_a_cut_upload_is_no_body(self, server, query, request_rest):
        with Connection(server.port) as c, server.expect_log("CT001: the request body ended before"):
            c.send(f"POST /echo?{query} HTTP/1.1\r\nHost: a\r\n".encode() + request_rest)
            c.half_close()
            assert c.response().status == 400

    def test_a_reset_upload_is_no_body(self, server):
        with server.expect_log("CT001: the request body ended before"):
            c = Connection(server.port)
            c.send(b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nabc")
            time.sleep(0.1)
            c.reset()

    def test_a_slow_upload_times_out(self, server):
        with Connection(server.port) as c, server.expect_log("CT001: the request body did not arrive in time"):
            c.send(b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nabc")
            assert c.response().status == 408

    @pytest.mark.parametrize("framing", [b"zz\r\nabc\r\n0\r\n\r\n", b"3\r\nabcdef\r\n0\r\n\r\n",
                                         b"ffffffffffffffffff\r\nabc\r\n"])
    def test_bad_framing(self, server, framing):
        with Connection(server.port) as c, server.expect_log("CT001: the request body is"):
            c.send(b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + framing)
            assert c.response().status in (400, 413)
            assert c.at_end()

    @pytest.mark.parametrize("path, rest, error", [
        ("/echo", b"zz\r\n", "malformed"),
        ("/echo", b"3\r\nabcdef\r\n", "malformed"),
        ("/echo/small", b"3e9\r\n" + b"x" * 1001 + b"\r\n0\r\n\r\n", "larger than the limit")])
    def test_a_bad_body_after_the_answer_began(self, server, path, rest, error):
        """httpd's own filter ends the answer then; the script must still see an error, and not a short body."""
        with Connection(server.port) as c, server.expect_log("CT001: the request body is " + error):
            c.send(f"POST {path}?begin HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n".encode() + rest)
            assert c.response().text == "begun:"
            assert c.at_end()

    def test_a_client_that_waits_is_told_to_go_on_when_the_body_is_read(self, server):
        with Connection(server.port) as c:
            c.send(b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n")
            assert c.response_head().status == 100
            c.send(b"abc")
            assert c.response().text == "abc"

    def test_a_client_that_waits_is_refused_what_is_too_large(self, server):
        with Connection(server.port) as c, server.expect_log("CT001: .* larger"):
            c.send(b"POST /echo?limit=2 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n")
            assert c.response_head().status == 413

    def test_memory_follows_what_arrives_and_not_what_is_announced(self, server):
        before = server.rss()
        with Connection(server.port) as c:
            c.send(b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 99000000\r\n\r\nabc")
            time.sleep(0.3)
            assert server.rss() - before < 20 << 20
            with server.expect_log("CT001: the request body ended before"):
                c.half_close()
                c.response()

    def test_kept_connections_stay_in_step(self, server):
        with Connection(server.port) as c:
            for query in ("", "pieces=7", "lines=0"):
                for chunked in (False, True):
                    answer = c.request("POST", "/echo?" + query, body=b"hello\nworld" * 9, chunked=chunked)
                    assert answer.body.replace(b"|", b"").replace(b"[", b"").replace(b"]", b"") == b"hello\nworld" * 9

    def test_forms(self, server):
        types = {"application/x-www-form-urlencoded": b"a=1&b=%C3%A9+x",
                 'multipart/form-data; charset=utf-8; boundary="XX"':
                     b'--XX\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--XX\r\n'
                     b'Content-Disposition: form-data; name=b\r\n\r\n\xc3\xa9 x\r\n--XX--\r\n'}
        for content_type, body in types.items():
            for chunked in (False, True):
                answer = post(server, "form", body, chunked=chunked, headers={"Content-Type": content_type})
                assert answer.text == "a=1;b=é x;"


class TestReport(CommonServer):
    CONF = CONF + 'ErrorDocument 500 "sorry, said the page"\nLogLevel commontest:info\n'
    LINE = (r"\[commontest:error\] .*CT002: /srv/hello\.lua:3: attempt to <index> a nil value \| stack: \| "
            r"/srv/hello\.lua:3: in f \| <main>$")

    def fail(self, server, query, pattern=LINE, method="GET"):
        mark = server.log.mark()
        with server.expect_log(pattern):
            answer = fetch(server.port, "/fail?" + query, method)
        assert len([line for line in server.log.since(mark) if "CT002" in line]) == 1
        return answer

    @pytest.mark.parametrize("query", ["", "written", "said=404", "written&said=201"])
    def test_the_client_gets_the_servers_page(self, server, query):
        answer = self.fail(server, query)
        assert (answer.status, answer.text) == (500, "sorry, said the page")
        assert answer.get("X-Half-Done") is None

    def test_without_place_and_traceback(self, server):
        self.fail(server, "bare", r"CT002: attempt to <index> a nil value$")

    def test_a_long_traceback_keeps_its_ends(self, server):
        self.fail(server, "long", r"\| first x+ \.\.\. x+ last$")

    def test_another_status(self, server):
        assert self.fail(server, "status=503").status == 503

    def test_the_clients_fault_is_no_error(self, server):
        answer = self.fail(server, "status=413", r"\[commontest:info\] .*CT002")
        assert answer.status == 413

    @pytest.mark.parametrize("query", ["details", "details&written"])
    def test_details_are_escaped(self, server, query):
        answer = self.fail(server, query)
        assert answer.status == 500 and answer.get("Content-Type") == "text/html; charset=utf-8"
        assert "CT002: /srv/hello.lua:3: attempt to &lt;index&gt; a nil value" in answer.text
        assert "&lt;main&gt;" in answer.text and "<index>" not in answer.text
        assert "half" not in answer.text

    def test_a_head_request(self, server):
        answer = self.fail(server, "details", method="HEAD")
        assert (answer.status, answer.body) == (500, b"")

    @pytest.mark.parametrize("query", ["sent", "sent&length", "sent&details"])
    def test_a_response_under_way_is_cut(self, server, query):
        with Connection(server.port) as c, server.expect_log(self.LINE):
            with pytest.raises(Truncated) as cut:
                c.get("/fail?" + query)
            assert cut.value.partial.status == 200
            assert cut.value.partial.body == b"half an ans"
            assert c.at_end()

    def test_the_connection_serves_on_after_a_failure_that_was_answered(self, server):
        with Connection(server.port) as c, server.expect_log(self.LINE, 2):
            assert c.get("/fail?details").status == 500
            if not c.at_end():
                assert c.get("/fail?details").status == 500
            else:
                fetch(server.port, "/fail")


def curl_speaks_http2():
    curl = shutil.which("curl")
    return bool(curl) and b"HTTP2" in subprocess.run([curl, "--version"], capture_output=True, check=True).stdout


@pytest.mark.skipif(not (curl_speaks_http2() and has_module("http2")), reason="needs curl with HTTP/2 and mod_http2")
class TestHttp2(CommonServer):
    CONF = CONF + load_module("http2") + "Protocols h2c http/1.1\nLogLevel commontest:info\n"

    def curl(self, server, target, *options, body=b""):
        """(curl's exit status, the answer's body, its status), once the server has closed the connection: a child of prefork
        that is stopped before frees mod_http2's workers first, then the connection, which uses them: "exit signal"."""
        done = subprocess.run(["curl", "-sS", "--http2-prior-knowledge", "-w", "\n%{http_code}", *options,
                               server.url + target], input=body, capture_output=True, timeout=60, check=False)
        process.wait_until(lambda: not process.connections(server.port), 20 * PATIENCE)
        text, _, status = done.stdout.decode().rpartition("\n")
        return done.returncode, text, int(status)

    def test_a_body_of_unknown_length(self, server):
        body = b"hello" * 50_000
        assert self.curl(server, "/echo?expected", "-T", "-", body=body) == (0, "1:" + body.decode(), 200)
        assert self.curl(server, "/echo?expected") == (0, "0:", 200)
        with server.expect_log("CT001: the request body is larger"):
            self.curl(server, "/echo?limit=3", "-T", "-", body=b"hello")  # mod_http2 may reset instead of answering

    def test_a_response_under_way_is_reset(self, server):
        with server.expect_log("CT002"):
            assert self.curl(server, "/fail?sent")[0] == 92  # the stream was not closed cleanly
        with server.expect_log("CT002"):
            assert self.curl(server, "/fail?written")[2] == 500


class TestLogLevel(CommonServer):
    CONF = CONF + "LogLevel commontest:crit\n"

    def test_is_the_callers_modules(self, server):
        assert fetch(server.port, "/fail").status == 500
        assert not [line for line in server.error_log() if "CT002" in line]


class TestStatusBoard(CommonServer):
    SIZES = Sizes(processes=2, threads=2)

    @staticmethod
    def status(server):
        try:
            text = fetch(server.port, "/server-status?auto").text
        except Truncated:  # the child that was killed had it
            return {}
        return dict(re.findall(r"^Common(\w+): (.*)$", text, re.M))

    @staticmethod
    def rows(server):
        page = fetch(server.port, "/server-status").text.partition("The shared parts")[2].partition("</table>")[0]
        return sorted(map(int, re.findall(r"<tr><td>(\d+)</td>", page)))

    def test_adds_up_and_forgets_dead_children(self, server):
        assert self.status(server) == {"Served": "0", "Longest": "0", "Colour": "red"}
        pids = {}
        while len(pids) < 2:
            answers = [fetch(server.port, f"/count?longest={n}").text for n in (5, 7)]
            for pid in answers:
                pids[pid] = pids.get(pid, 0) + 1
        status = self.status(server)
        assert (int(status["Served"]), status["Longest"]) == (sum(pids.values()), "7")

        green = fetch(server.port, "/count?green").text
        assert self.status(server)["Colour"] == "mixed"
        page = fetch(server.port, "/server-status").text
        assert "<h2>The shared parts</h2>" in page and "<th>longest</th>" in page
        assert all(f"<td>{pid}</td>" in page for pid in pids)
        assert "CommonServed" not in page and "<pre>Served: " in fetch(server.port, "/server-status?notable").text

        server.log.allow(f"child pid {green} exit signal Killed")
        os.kill(int(green), signal.SIGKILL)
        self.wait_until(lambda: self.status(server).get("Colour") == "red")
        assert int(green) not in self.rows(server)
        self.wait_until(lambda: sorted(server.children()) == self.rows(server))  # its successor has a row (its row)

    def test_a_restart_starts_from_nothing(self, server):
        fetch(server.port, "/count?longest=9")
        server.graceful()
        self.wait_until(lambda: self.status(server)["Longest"] == "0")

    @staticmethod
    def wait_until(condition):
        deadline = time.monotonic() + 20
        while not condition():
            assert time.monotonic() < deadline
            time.sleep(0.05)


class TestDirectives(CommonServer):
    CONF = CONF + "CommonCount 3\nCommonSize 64K\nCommonDuration 1500ms\nCommonColour green\n"

    def test_values_arrive(self, server):
        assert fetch(server.port, "/conf").text == "3 65536 1500000 1"

    @pytest.mark.parametrize("line, message", [
        ("CommonCount 11", 'CommonCount: "11" is out of range, which is 1 to 10'),
        ("CommonSize big", 'CommonSize: "big" is not a size (bytes, or a number with K, M or G)'),
        ("CommonDuration 2h", 'CommonDuration: "2h" is out of range, which is 0 to 1h'),
        ("CommonColour blue", 'CommonColour: "blue" is not one of: red, green'),
    ])
    def test_mistakes_are_explained(self, make_httpd, line, message):
        status, output = make_httpd(modules=(), scripts=None, conf=CONF + line + "\n").check_configuration()
        assert status != 0 and message in output


def test_works_without_mod_status(make_httpd):
    httpd = make_httpd(modules=(), scripts=None, conf=CONF)
    conf = httpd.configuration
    httpd.configuration = lambda: re.sub(r'Include "(.*)/base.conf"', lambda m: without_status(m.group(1)), conf())
    httpd.start()
    assert fetch(httpd.port, "/count").status == 200


def without_status(folder):
    text = Path(folder, "base.conf").read_text()
    return re.sub(r"LoadModule status_module.*\n", "", text)
