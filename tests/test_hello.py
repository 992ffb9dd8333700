# SPDX-License-Identifier: Apache-2.0
"""The simplest script, byte for byte, in every way that HTTP allows to ask for it."""
import pytest

from harness.client import Connection, request_bytes

HEADERS = {"date", "server", "content-length", "content-type"}


class TestHello:
    def test_body_and_headers(self, site):
        answer = site.get("/hello")
        assert (answer.status, answer.body) == (200, b"Hello World!")
        assert answer.get("Content-Length") == "12"
        assert answer.get("Content-Type") == "text/plain"
        assert {name.lower() for name, _ in answer.headers} == HEADERS | {"connection"}

    def test_head_has_the_headers_of_get(self, site):
        with site.connect() as c:
            get = c.get(site.path("/hello"))
            head = c.request("HEAD", site.path("/hello"))
            assert c.get(site.path("/hello")).body == b"Hello World!"
        assert head.body == b""
        without_date = [[pair for pair in answer.headers if pair[0] != "Date"] for answer in (get, head)]
        assert without_date[0] == without_date[1]

    def test_keeps_the_connection(self, site):
        with site.connect() as c:
            for _ in range(20):
                assert c.get(site.path("/hello")).body == b"Hello World!"

    def test_pipelined_requests_are_answered_in_order(self, site):
        targets = [site.path("/hello"), site.path("/fields?method"), "/nowhere", site.path("/hello")] * 10
        with site.connect() as c:
            c.send(b"".join(request_bytes("GET", target) for target in targets))
            answers = [c.response() for _ in targets]
        assert [a.status for a in answers] == [200, 200, 404, 200] * 10
        assert [a.text for a in answers if a.status == 200] == ["Hello World!", "method=GET\n", "Hello World!"] * 10

    def test_http_1_0(self, site):
        with site.connect() as c:
            c.send(request_bytes("GET", site.path("/hello"), version="HTTP/1.0"))
            assert c.response().body == b"Hello World!"
            assert c.at_end()

    def test_one_byte_at_a_time(self, site):
        with site.connect() as c:
            for byte in request_bytes("GET", site.path("/hello")):
                c.send(bytes([byte]))
            assert c.response().body == b"Hello World!"

    @pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "MADEUP"])
    def test_other_methods(self, site, method):
        answer = site.fetch("/fields?method", method)
        assert (answer.status, answer.text) == (200, f"method={method}\n")

    def test_a_script_that_writes_nothing(self, site):
        answer = site.get("/nothing")
        assert (answer.status, answer.body, answer.get("Content-Length")) == (200, b"", "0")

    def test_a_missing_script_is_not_found(self, site):
        assert site.get("/nowhere").status == 404

    def test_both_languages_on_one_connection(self, server):
        with Connection(server.port) as c:
            for suffix in ("lua", "py") * 10:
                assert c.get("/hello." + suffix).body == b"Hello World!"
