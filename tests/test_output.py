# SPDX-License-Identifier: Apache-2.0
"""What reaches the client: bytes, sizes, flushes, statuses, error pages; slow and vanishing clients."""
import contextlib
import re
import socket
import time

import pytest

from harness import process
from harness.client import Truncated, request_bytes
from harness.httpd import MEMORY_FACTOR, load_module

MB = 1 << 20


class TestOutput:
    def test_every_byte_value(self, site):
        assert site.get("/binary").body == bytes(range(256)) * 2

    @pytest.mark.parametrize("size", [0, 1, 8191, 8192, 8193, 65536, 100000, MB])
    def test_sizes(self, site, size):
        answer = site.get(f"/large?{size}")
        assert answer.body == (b"0123456789abcdef" * (size // 16 + 1))[:size]

    def test_20_mb(self, site, server):
        assert site.get(f"/large?{20 * MB}").body == b"0123456789abcdef" * (20 * MB // 16)

    def test_a_flush_sends_what_is_there(self, site, server):
        with site.connect() as c:
            c.send(request_bytes("GET", site.path("/stream?go-" + site.lang)))
            head = c.response_head()
            assert head.get("Transfer-Encoding") == "chunked"
            first = c.until(b"first \r\n", "the first chunk")
            (server.docroot / f"go-{site.lang}").touch()
            rest = c.until(b"0\r\n\r\n", "the end")
        assert first == b"6\r\nfirst \r\n" and rest == b"6\r\nsecond\r\n0\r\n\r\n"

    def test_a_slow_reader_gets_all(self, site):
        with site.connect() as c:
            c.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
            c.send(request_bytes("GET", site.path(f"/large?{MB}"), {"Connection": "close"}))
            assert site.get("/hello").body == b"Hello World!"
            time.sleep(0.1)
            assert c.response().body == b"0123456789abcdef" * (MB // 16)

    def test_a_client_that_leaves_does_no_harm(self, site, server):
        for _ in range(10):
            with site.connect() as c:
                c.send(request_bytes("GET", site.path(f"/large?{20 * MB}")))
                c.response_head()
                c.reset()
        assert site.get("/hello").body == b"Hello World!"
        server.log.allow(r"AH0\d+:.*(Connection reset|Broken pipe)|(LP|PP)\d+:.*(client|connection|aborted|Broken pipe|reset)")

    def test_large_output_is_not_kept_in_memory(self, site, server):
        """The client reads no faster than we look at the server, so what it has not read is held somewhere."""
        site.get(f"/large?{MB}")
        with site.connect() as c:
            c.send(request_bytes("GET", site.path(f"/large?{200 * MB}"), {"Connection": "close"}))
            assert c.response_head().status == 200
            received = peak = 0
            while data := c.socket.recv(MB):
                received += len(data)
                if received // (4 * MB) != (received - len(data)) // (4 * MB):
                    peak = max([peak, *map(process.rss, server.children())])
        assert received > 199 * MB
        assert 0 < peak < MEMORY_FACTOR * 120 * MB


class TestStatus:
    CONF = """
    ErrorDocument 404 "my 404 page"
    ErrorDocument 403 /errorpage.txt
    ErrorDocument 500 /hello.lua
    """

    @pytest.mark.parametrize("code", [200, 201, 202, 203, 400, 403, 404, 416, 500, 503])
    def test_a_status_with_a_body_of_its_own(self, site, code):
        answer = site.get(f"/status?{code}")
        assert (answer.status, answer.text) == (code, f"my own {code}")

    @pytest.mark.parametrize("code", [204, 304])
    def test_a_status_without_a_body(self, site, code):
        with site.connect() as c:
            answer = c.get(site.path(f"/status?{code}"))
            assert (answer.status, answer.body) == (code, b"")
            assert c.get(site.path("/hello")).body == b"Hello World!"

    def test_a_returned_status_gets_the_admins_page(self, site):
        answer = site.get("/result?404")
        assert (answer.status, answer.text) == (404, "my 404 page")
        assert answer.get("X-Kept") == "yes"

    def test_a_returned_status_gets_a_page_from_a_file(self, site, server):
        (server.docroot / "errorpage.txt").write_text("from a file")
        answer = site.get("/result?403")
        assert (answer.status, answer.text) == (403, "from a file")

    @pytest.mark.parametrize("code", [400, 401, 405, 410, 503])
    def test_a_returned_status_gets_httpds_page(self, site, code):
        answer = site.get(f"/result?{code}")
        assert answer.status == code and re.search("<h1>.*</h1>", answer.text)

    def test_a_returned_200_is_no_error(self, site):
        answer = site.get("/result?200")
        assert (answer.status, answer.body) == (200, b"")

    def test_declined_hands_on_to_the_file(self, site):
        assert site.get("/result?-1").body == site.file("/result").read_bytes()

    def test_the_error_page_of_a_failed_script_may_be_a_script(self, site, server):
        with server.expect_log(r"runtime\.(lua|py)"):
            answer = site.get("/runtime")
        assert (answer.status, answer.text) == (500, "Hello World!")

    @pytest.mark.parametrize("code", [1, 99, 1000, -5])
    def test_a_number_that_is_no_status_is_a_failure(self, site, server, code):
        with server.expect_log(r"(LP|PP)\d+"):
            assert site.get(f"/result?{code}").status == 500

    @pytest.mark.parametrize("code", [0, 200])
    def test_a_late_ok_changes_nothing(self, site, code):
        answer = site.get(f"/late?{code}")
        assert (answer.status, answer.text) == (200, "sentheld")

    @pytest.mark.parametrize("code", [-1, 204, 302, 404, 503])
    def test_a_status_too_late_cuts_the_response(self, site, server, code):
        """httpd would add its page, or the file, to what was sent, and end that as if it were whole."""
        with server.expect_log(rf"(LP|PP)\d+: .*returned {code} when a part of its response had been sent"):
            with pytest.raises(Truncated):
                site.get(f"/late?{code}")


class TestHeaderOnly:
    """No body follows, so httpd counts nothing as sent; what follows would be taken for the next response."""

    @pytest.mark.parametrize("method,query,status", [("GET", "204+404", 204), ("GET", "304+raise", 304), ("HEAD", "200+404", 200),
                                                     ("HEAD", "200+raise", 200), ("GET", "204+-1", 204)])
    def test_a_status_too_late_ends_the_connection(self, site, server, method, query, status):
        with server.expect_log(r"(LP|PP)\d+: .*(when a part of its response had been sent|after the header|ValueError)"):
            with site.connect() as c:
                c.send(request_bytes(method, site.path("/bare?" + query)))
                received = b"".join(iter(lambda: c.socket.recv(MB), b""))
        assert not received.strip() or received.startswith(b"HTTP/1.1 %d " % status)
        assert received.partition(b"\r\n\r\n")[2] == b""

    @pytest.mark.parametrize("method,status", [("GET", 204), ("GET", 304), ("HEAD", 200)])
    def test_the_connection_goes_on(self, site, method, status):
        with site.connect() as c:
            for _ in range(2):
                assert c.request(method, site.path(f"/bare?{status}+0")).status == status


class TestHoldingFilter:
    """mod_buffer keeps up to 128 KiB back, so that nothing of what the script wrote has left yet."""
    CONF = load_module("buffer") + """
    <LocationMatch "^/late">
        SetOutputFilter BUFFER
    </LocationMatch>
    """

    def test_an_error_page_takes_the_place_of_what_is_held(self, site):
        answer = site.get("/late?404+100000")
        assert answer.status == 404 and "xxx" not in answer.text

    def test_the_file_does_not_follow_what_is_held(self, site, server):
        with server.expect_log(r"(LP|PP)\d+: .*returned -1 when a part of its response had been sent"):
            answer = site.get("/late?-1+100000")
        assert answer.status == 500 and "xxx" not in answer.text and "def" not in answer.text

    def test_the_file_may_follow_nothing(self, site):
        assert site.get("/late?-1+1000").body == site.file("/late").read_bytes()


class TestFailingFilter:
    CONF = load_module("ext_filter") + """
    ExtFilterDefine broken cmd="{run}/no-such-program"
    <LocationMatch "^/large">
        SetOutputFilter broken
    </LocationMatch>
    """

    @staticmethod
    def answer(site, server, size, *told):
        with contextlib.ExitStack() as stack:
            for pattern in ("AH01458: ", "AH01467: ", *told):
                stack.enter_context(server.expect_log(pattern))
            return site.get(f"/large?{size}")

    def test_at_the_end(self, site, server):
        answer = self.answer(site, server, 5, r"large\.(lua|py): an output filter failed")
        assert answer.status == 500 and "0123" not in answer.text
        assert site.get("/hello").body == b"Hello World!"

    def test_while_the_script_writes(self, site, server):
        """Lua's write returns nil and why; Python's raises."""
        answer = self.answer(site, server, MB, *({"lua": (), "python": ("BrokenPipeError",)}[site.lang]))
        assert answer.status == 500 and "0123" not in answer.text
        assert site.get("/hello").body == b"Hello World!"
