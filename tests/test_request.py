# SPDX-License-Identifier: Apache-2.0
"""What a script sees of its request, and the five tables."""
import pytest

from harness.client import Connection


def fields(site, query, path="/fields", **options):
    """{name: value} that the script found; a name without a value is None."""
    names = "&".join(query)
    answer = site.fetch(f"{path}?{names}", **options)
    assert answer.status == 200, answer.text
    lines = [line.partition("=") for line in answer.text.splitlines()]
    return {name: value if mark else None for name, mark, value in lines}


class TestFields:
    def test_of_a_plain_request(self, site, server):
        names = ["method", "uri", "args", "filename", "hostname", "useragent_ip"]
        assert fields(site, names, headers={"Host": "example.org"}) == {
            "method": "GET", "uri": site.path("/fields"), "args": "&".join(names),
            "filename": str(site.file("/fields")), "hostname": "example.org", "useragent_ip": "127.0.0.1"}

    def test_of_the_request_line(self, site):
        names = ["the_request", "unparsed_uri", "protocol", "path_info", "handler"]
        target = site.path("/fields") + "/more/%41?" + "&".join(names)
        with site.connect() as c:
            answer = c.get(target)
        found = dict(line.split("=", 1) for line in answer.text.splitlines())
        assert found["the_request"] == f"GET {target} HTTP/1.1"
        assert found["unparsed_uri"] == target
        assert found["protocol"] == "HTTP/1.1"
        assert found["path_info"] == "/more/A"
        assert found["handler"] == {"lua": "lua-script", "python": "mod_python"}[site.lang]

    def test_absent_ones_are_nil_or_none(self, site):
        assert fields(site, ["user", "content_encoding", "ap_auth_type"]) == {
            "user": None, "content_encoding": None, "ap_auth_type": None}

    @pytest.mark.parametrize("raw", [b"\xff", b"\xc3\x28", b"\xe4\xf6", "\u00e9t\u00e9".encode()])
    def test_bytes_that_are_no_text_survive(self, site, raw):
        target = site.path("/fields").encode() + b"/" + raw + b"?path_info&args"
        with site.connect() as c:
            c.send(b"GET " + target + b" HTTP/1.1\r\nHost: a\r\n\r\n")
            assert c.response().body == b"path_info=/" + raw + b"\nargs=path_info&args\n"

    def test_escaped_bytes_survive(self, site):
        with site.connect() as c:
            answer = c.get(site.path("/fields") + "/%ff%fe?path_info")
        assert answer.body == b"path_info=/\xff\xfe\n"


class TestHeaders:
    def test_all_tables(self, site):
        answer = site.get("/headers", headers={"X-In": "sent"})
        assert answer.text.splitlines() == [
            "X-In=sent", "case=true", "absent=nil", "changed=changed", "removed=nil", "note=a note", "env=value"]
        assert answer.get_all("X-Out") == ["two"]
        assert answer.get("X-Gone") is None
        assert answer.get_all("X-Err") == ["always"]
        assert answer.get("X-Echo") == "sent"

    def test_without_the_header(self, site):
        answer = site.get("/headers")
        assert answer.text.splitlines()[0] == "X-In=nil"
        assert answer.get("X-Echo") is None

    @pytest.mark.parametrize("raw", [b"\xff", b"caf\xe9", b"\xc3\x28 x", "\u20ac".encode(), bytes(range(128, 256))])
    def test_any_byte_survives_a_round_trip(self, site, raw):
        with site.connect() as c:
            c.send(b"GET " + site.path("/headers").encode() + b" HTTP/1.1\r\nHost: a\r\nX-In: " + raw + b"\r\n\r\n")
            answer = c.response()
        assert answer.status == 200
        assert b"X-Echo: " + raw + b"\r\n" in answer.head
        assert answer.body.startswith(b"X-In=" + raw + b"\n")

    def test_repeated_headers_are_all_seen(self, site):
        answer = site.get("/headers", headers=[("X-In", "1"), ("X-In", "2")])
        assert answer.text.startswith("X-In=1, 2\n")

    def test_a_long_header(self, site):
        value = "v" * 8000
        assert site.get("/headers", headers={"X-In": value}).get("X-Echo") == value

    @pytest.mark.parametrize("what", ["cr", "lf", "crlf", "nul"])
    @pytest.mark.parametrize("where", ["headers_out", "err_headers_out", "name", "content_type"])
    def test_line_breaks_are_refused(self, site, server, where, what):
        with server.expect_log(r"inject\.(lua|py)"):
            answer = site.get(f"/inject?{where}-{what}")
        assert answer.status == 500
        assert b"X-Injected" not in answer.head + answer.body
        assert "accepted" not in answer.text


class TestIsolationOfRequests:
    def test_tables_do_not_outlive_the_request(self, site):
        with Connection(site.server.port) as c:
            assert c.get(site.path("/headers"), {"X-In": "1"}).get("X-Echo") == "1"
            answer = c.get(site.path("/hello"))
        assert answer.get("X-Echo") is None and answer.get("X-Err") is None
