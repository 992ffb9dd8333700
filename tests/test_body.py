# SPDX-License-Identifier: Apache-2.0
"""Request bodies: whole, chunked, large, empty, cut short, too large."""
import os
import time

import pytest

from harness import process
from harness.client import Truncated, chunk, request_bytes
from harness.httpd import MEMORY_FACTOR

BODIES = {"empty": b"", "one": b"x", "nul": b"a\0b", "all": bytes(range(256)) * 3, "lines": b"a\nb\r\n\r\n",
          "8192": b"y" * 8192, "100000": os.urandom(50000) * 2}


class TestBody:
    CONF = """
    <Location "/small">
        <IfModule luapool_module>
            LuaBodyLimit 64K
        </IfModule>
        <IfModule pypool_module>
            PythonBodyLimit 64K
        </IfModule>
    </Location>
    LoadModule alias_module ${INTERPOOL_HTTPD_MODULEDIR}/mod_alias.so
    Alias "/small" "{docroot}"
    """

    @pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunked"])
    @pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "GET"])
    def test_comes_back(self, site, method, chunked):
        with site.connect() as c:
            for name, body in BODIES.items():
                answer = c.request(method, site.path("/body"), body=body, chunked=chunked)
                assert (answer.status, answer.body) == (200, body), name

    def test_absent(self, site):
        answer = site.fetch("/body", "POST")
        assert (answer.status, answer.body) == (200, b"")

    @pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunked"])
    def test_of_20_mb(self, site, chunked):
        body = os.urandom(1 << 20) * 20
        assert site.post("/body", body, chunked=chunked).body == body

    def test_in_small_pieces(self, site):
        body = b"0123456789" * 30
        with site.connect() as c:
            for byte in request_bytes("POST", site.path("/body"), body=body):
                c.send(bytes([byte]))
            assert c.response().body == body

    def test_after_100_continue(self, site):
        with site.connect() as c:
            c.send(request_bytes("POST", site.path("/body"), {"Content-Length": 5, "Expect": "100-continue"}))
            assert c.response_head().status == 100
            c.send(b"hello")
            assert c.response().body == b"hello"

    @pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunked"])
    def test_left_unread_does_not_disturb_the_next(self, site, chunked):
        with site.connect() as c:
            for _ in range(3):
                assert c.request("POST", site.path("/unread"), body=b"GET / HTTP/1.1\r\n\r\n" * 500,
                                 chunked=chunked).text == "done"
            assert c.get(site.path("/hello")).body == b"Hello World!"

    @pytest.mark.parametrize("sent", [
        request_bytes("POST", "PATH", {"Content-Length": "100000"}, b"x" * 50000),
        request_bytes("POST", "PATH", {"Content-Length": "1000000"}, b""),
        request_bytes("POST", "PATH", {"Transfer-Encoding": "chunked"}) + chunk(b"x" * 20000)[:-12],
    ], ids=["half", "nothing", "chunks"])
    def test_cut_short_is_an_error(self, site, server, sent):
        with server.expect_log(r"body\.(lua|py).*cannot read|cannot read.*"), site.connect() as c:
            c.send(sent.replace(b"PATH", site.path("/body").encode()))
            c.half_close()
            try:
                assert c.response().status >= 400
            except Truncated as e:
                assert e.partial is None

    @pytest.mark.parametrize("sent", [b"zz\r\nabc\r\n0\r\n\r\n", b"-5\r\nabcde\r\n0\r\n\r\n", b"3\r\nabcdef\r\n0\r\n\r\n",
                                      b"fffffffffffffffff\r\nabc"], ids=["no-hex", "negative", "long", "overflow"])
    def test_malformed_chunks_are_an_error(self, site, server, sent):
        with server.expect_log(r"AH0\d+|cannot read|response is complete"), site.connect() as c:
            c.send(request_bytes("POST", site.path("/body"), {"Transfer-Encoding": "chunked"}) + sent)
            c.half_close()
            try:
                assert c.response().status >= 400
            except Truncated as e:
                assert e.partial is None
        assert site.get("/hello").status == 200

    def test_a_malformed_body_has_one_answer(self, site):
        """httpd's; the script, which does not look, wants to give another one."""
        with site.connect() as c:
            c.send(request_bytes("POST", site.path("/swallow"), {"Transfer-Encoding": "chunked"}) + b"zz\r\n\r\n")
            c.half_close()
            assert c.response().status == 400
            assert c.at_end()

    @pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunked"])
    def test_above_the_limit_is_refused(self, site, server, chunked):
        body = b"x" * 70000
        with server.expect_log("cannot read"):
            answer = site.post("/small/body", body, chunked=chunked)
        assert answer.status == 400 and answer.text.startswith("error: ")
        assert site.post("/small/body", b"x" * 65536, chunked=chunked).body == b"x" * 65536

    @pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunked"])
    def test_above_the_limit_fails_a_script_that_does_not_look(self, site, server, chunked):
        with server.expect_log(r"blind\.(lua|py)"):
            answer = site.post("/small/blind", b"x" * 70000, chunked=chunked)
        assert answer.status in (413, 500)

    def test_an_announced_length_reserves_no_memory(self, site, server):
        before = max(process.rss(pid) for pid in server.children())
        with server.expect_log("cannot read", count=4):
            for _ in range(4):
                with site.connect() as c:
                    c.send(request_bytes("POST", site.path("/body"), {"Content-Length": 60_000_000}, b"xxxx"))
                    c.half_close()
                    try:
                        assert c.response().status >= 400
                    except Truncated:
                        pass
        after = max(process.rss(pid) for pid in server.children())
        assert after - before < MEMORY_FACTOR * 40 << 20

    def test_aborted_uploads_leave_nothing(self, site, server):
        mark = server.log.mark()
        for _ in range(20):
            with site.connect() as c:
                c.send(request_bytes("POST", site.path("/body"), {"Content-Length": "5000000"}, b"x" * 100000))
                c.reset()
        assert site.post("/body", b"still here").body == b"still here"
        time.sleep(0.05)
        server.log.wait_for("cannot read", mark)
        server.log.allow("cannot read")
