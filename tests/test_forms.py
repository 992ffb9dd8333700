# SPDX-License-Identifier: Apache-2.0
"""Query strings and posted forms, decoded the same in both languages."""
import pytest

URLENCODED = {"Content-Type": "application/x-www-form-urlencoded"}


def parse(answer):
    """[(name, [values])] as bytes, from what the form script printed."""
    assert answer.status == 200 and not answer.text.startswith("error"), answer.text
    pairs = [line.split("=") for line in answer.text.splitlines()]
    return [(bytes.fromhex(name), [bytes.fromhex(v) for v in values.split(",")]) for name, values in pairs]


CASES = [
    ("", []),
    ("a=1", [(b"a", [b"1"])]),
    ("a=1&b=2", [(b"a", [b"1"]), (b"b", [b"2"])]),
    ("a=1&a=2&a=3", [(b"a", [b"1", b"2", b"3"])]),
    ("a=x+y%20z", [(b"a", [b"x y z"])]),
    ("a=%2B%26%3d", [(b"a", [b"+&="])]),
    ("a=x%00y", [(b"a", [b"x\0y"])]),
    ("a=", [(b"a", [b""])]),
    ("a%3db=c=d", [(b"a=b", [b"c=d"])]),
    ("a=%ff", [(b"a", [b"\xff"])]),
    ("a=%C3%A9t%C3%A9", [(b"a", ["\u00e9t\u00e9".encode()])]),
    ("&&a=1&", [(b"a", [b"1"])]),
]


class TestForms:
    @pytest.mark.parametrize("text, expected", CASES)
    def test_query(self, site, text, expected):
        assert parse(site.get("/form?" + text if text else "/form")) == expected

    @pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunked"])
    @pytest.mark.parametrize("text, expected", CASES)
    def test_posted(self, site, text, expected, chunked):
        assert parse(site.post("/form", text.encode(), headers=URLENCODED, chunked=chunked)) == expected

    @pytest.mark.parametrize("method", ["PUT", "PATCH"])
    def test_other_methods_with_a_form(self, site, method):
        assert parse(site.fetch("/form", method, body=b"a=1&b=2", headers=URLENCODED)) == [
            (b"a", [b"1"]), (b"b", [b"2"])]

    @pytest.mark.parametrize("kind", ["application/json", "text/plain; charset=utf-8", "application/x-www-form"])
    def test_a_body_of_another_type_is_no_form(self, site, kind):
        assert parse(site.post("/form", b'{"a":1}&b=2', headers={"Content-Type": kind})) == []

    def test_a_body_without_a_type_is_one(self, site):
        assert parse(site.post("/form", b"a=1&b=2")) == [(b"a", [b"1"]), (b"b", [b"2"])]

    def test_many_values_keep_their_order(self, site):
        values = [str(i).encode() for i in range(200)]
        body = b"&".join(b"k=" + value for value in values)
        assert parse(site.post("/form", body, headers=URLENCODED)) == [(b"k", values)]

    def test_a_large_value(self, site):
        value = b"v" * 1_000_000
        assert parse(site.post("/form", b"k=" + value, headers=URLENCODED)) == [(b"k", [value])]


def multipart(parts, boundary=b"XX"):
    """A body of (header lines, value) parts."""
    return b"".join(b"--" + boundary + b"\r\n" + head + b"\r\n\r\n" + value + b"\r\n" for head, value in parts) + \
        b"--" + boundary + b"--\r\n"


def field(name, value):
    return b'Content-Disposition: form-data; name="' + name + b'"', value


class TestMultipart:
    @pytest.mark.parametrize("content_type", [
        "multipart/form-data; boundary=XX", 'multipart/form-data; boundary="XX"', "multipart/form-data; Boundary=XX",
        "multipart/form-data; charset=utf-8; boundary=XX", "Multipart/Form-Data; boundary=XX"])
    @pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunked"])
    def test_spellings_of_the_boundary(self, site, content_type, chunked):
        body = multipart([field(b"a", b"1"), field(b"b", b"x\0y\r\n")])
        answer = site.post("/form", body, headers={"Content-Type": content_type}, chunked=chunked)
        assert parse(answer) == [(b"a", [b"1"]), (b"b", [b"x\0y\r\n"])]

    @pytest.mark.parametrize("parts, expected", [
        ([field(b"a", b""), field(b"b", b"2")], [(b"a", [b""]), (b"b", [b"2"])]),
        ([(b"Content-Type: text/plain\r\nContent-Disposition: form-data; name=\"a\"", b"1")], [(b"a", [b"1"])]),
        ([(b"Content-Disposition: form-data; name=a", b"1")], [(b"a", [b"1"])]),
        ([field(b"a", b"1"), field(b"a", b"2")], [(b"a", [b"1", b"2"])]),
        ([(b'content-disposition: form-data; name="f"; filename="x.bin"\r\nContent-Type: application/octet-stream',
           bytes(range(256)) * 4)], [(b"f", [bytes(range(256)) * 4])]),
        ([field(b"a", b"--XY\r\n-XX\r\n")], [(b"a", [b"--XY\r\n-XX\r\n"])]),
    ])
    def test_parts(self, site, parts, expected):
        answer = site.post("/form", multipart(parts), headers={"Content-Type": "multipart/form-data; boundary=XX"})
        assert parse(answer) == expected

    @pytest.mark.parametrize("boundary, body", [
        ("4", b'4\r\nContent-Disposition: form-data; name="name"\r\n\r\n04\r\n'),
        ("XX", b"no boundary in here"), ("XX", b"--XX"), ("XX", b"--XX\r\n"), ("XX", b"--XX\r\n\r\n--XX--"),
        ("XX", b'--XX\r\nContent-Disposition: form-data; name="a"\r\n\r\nnot ended'), ("", b"----\r\n"),
        ("X" * 5000, b"--XX--\r\n"), ("XX", b"--XX\r\n" + b"H: v\r\n" * 10000),
    ])
    def test_malformed_ones_do_no_harm(self, site, server, boundary, body):
        answer = site.post("/form", body, headers={"Content-Type": "multipart/form-data; boundary=" + boundary})
        assert answer.status in (200, 400, 500)
        if answer.status == 500:
            server.log.wait_for(r"form\.(lua|py)")
        assert site.get("/hello").status == 200
