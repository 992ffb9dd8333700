# SPDX-License-Identifier: Apache-2.0
"""mod_python's `util`: forms, redirects, helpers."""
import json

import pytest

from harness.client import fetch

MULTIPART = (b'--B\r\nContent-Disposition: form-data; name="a"\r\n\r\n\xc3\xa9\r\n'
             b'--B\r\nContent-Disposition: form-data; name="up"; filename="x y.bin"\r\nContent-Type: image/png; q="1"\r\n\r\n'
             b'\0\xff\r\n\r\n--B--\r\n')
URLENCODED = "application/x-www-form-urlencoded"


class TestForms:
    MODULES = ("pypool",)
    SCRIPTS = "scripts/pyapi"

    @pytest.fixture
    def form(self, server):
        """The answer of form.py to a request, decoded."""
        def send(target="", body=None, kind=None, method=None, ask=None, keep=0, chunked=False, status=200):
            headers = [("X-Keep", str(keep))]
            headers += [("Content-Type", kind)] if kind else []
            headers += [("X-Ask", ask)] if ask else []
            response = fetch(server.port, "/form.py" + target, method or ("POST" if body is not None else "GET"), headers=headers,
                             body=body, chunked=chunked)
            assert response.status == status
            return response.text if ask else json.loads(response.body) if status == 200 else None
        return send

    def test_get_and_post_give_the_same(self, form):
        """P1, P5, X8: names and values are str, wherever they come from."""
        expected = [["x", "10", None, "text/plain"], ["y", "é", None, "text/plain"]]
        query = "x=10&y=%C3%A9"
        assert form("?" + query)["fields"] == expected
        for method in ("POST", "PUT", "PATCH"):
            for chunked in (False, True):
                assert form("", query.encode(), URLENCODED, method, chunked=chunked)["fields"] == expected
        assert form("?x=10", b"y=%C3%A9", URLENCODED + "; charset=utf-8")["fields"] == expected
        assert form("?x=1", ask="form['x'] == '1' and type(form['x']).__mro__[1] is str") == "True"

    def test_any_byte_is_text(self, form):
        """P3, P4"""
        assert form("?n=%FF&m=%00", ask="form.items()") == "[('n', '\\udcff'), ('m', '\\x00')]"

    def test_blank_values(self, form):
        assert form("?a=&b&c=1")["fields"] == [["c", "1", None, "text/plain"]]
        assert [f[:2] for f in form("?a=&b&c=1", keep=1)["fields"]] == [["a", ""], ["b", ""], ["c", "1"]]

    @pytest.mark.parametrize("boundary", ("B", '"B"'))
    def test_multipart(self, form, boundary):
        answer = form("", MULTIPART, "multipart/form-data; boundary=" + boundary)
        assert answer["fields"] == [["a", "é", None, "text/plain"], ["up", "00ff0d0a", "x y.bin", "image/png"]]
        kind = "multipart/form-data; boundary=" + boundary
        assert form("", MULTIPART, kind, ask="form['up'].file.read(), form['up'].type_options") == "(b'\\x00\\xff\\r\\n', {'q': '1'})"
        assert form("", MULTIPART, kind, ask="form['up'].headers['content-type'], form['a'].headers.get('content-type')") == (
            "('image/png; q=\"1\"', None)")
        assert form("", MULTIPART, kind, ask="form['up'].disposition_options, form['a'].disposition_options") == (
            "({'name': 'up', 'filename': 'x y.bin'}, {'name': 'a'})")

    def test_blank_values_of_multipart_are_kept(self, form):
        """Also an upload where no file was chosen: it is text, as under mod_python."""
        body = (b'--B\r\nContent-Disposition: form-data; name="a"\r\n\r\n\r\n'
                b'--B\r\nContent-Disposition: form-data; name="up"; filename=""\r\nContent-Type: application/octet-stream\r\n\r\n'
                b'\r\n--B--\r\n')
        assert form("", body, "multipart/form-data; boundary=B")["fields"] == [
            ["a", "", None, "text/plain"], ["up", "", None, "application/octet-stream"]]

    def test_callbacks_say_where_uploads_go(self, server):
        statements = ("from mod_python import util\nimport io\nform = util.FieldStorage(req, file_callback=lambda name: io.BytesIO())\n"
                      "req.write(repr((form['up'].file.getvalue(), form['up'].value, form['a'])))")
        response = fetch(server.port, "/do.py", "POST", body=MULTIPART,
                         headers=[("X-Do", statements.encode().hex()), ("Content-Type", "multipart/form-data; boundary=B")])
        assert response.text == repr((b"\0\xff\r\n", b"\0\xff\r\n", "é"))

    def do(self, server, statements, body=MULTIPART, kind="multipart/form-data; boundary=B"):
        response = fetch(server.port, "/do.py", "POST", body=body, headers=[
            ("X-Do", ("from mod_python import util\nimport io\n" + statements).encode().hex()), ("Content-Type", kind)])
        assert response.status == 200
        return response.text

    def test_callbacks_take_what_mod_pythons_take(self, server):
        """field_callback() gives the file of a field, which is a str still."""
        assert self.do(server, """
class File(io.BytesIO):
    pass
form = util.FieldStorage(req, field_callback=File)
a = form['a']
req.write(repr((a, type(a).__name__, type(a.file).__name__, a.file.read(), a.file is form['a'].file, type(form['up'].file).__name__)))
""") == repr(("é", "StringField", "File", "é".encode(), True, "BytesIO"))

    def test_a_text_field_has_the_names_that_mod_pythons_has(self, form):
        body = b'--B\r\nContent-Disposition: form-data; name="a"\r\nContent-Type: text/html\r\n\r\nx\r\n--B--\r\n'
        ask = "form['a'].ctype, form['a'].disp_options"
        assert form("", body, "multipart/form-data; boundary=B", ask=ask) == "('text/html', {'name': 'a'})"
        assert form("?a=1", ask=ask) == "('text/plain', {})"

    def test_a_value_is_read_from_the_files_start(self, server):
        assert self.do(server, """
up = util.FieldStorage(req, file_callback=lambda name: io.BytesIO())['up']
req.write(repr((up.value, up.file.read(), up.value, up.file.tell())))
""") == repr((b"\0\xff\r\n", b"\0\xff\r\n", b"\0\xff\r\n", 0))

    def test_a_field_keeps_its_file(self, form):
        assert form("?a=1%0A2%0A", ask="[form['a'].file.readline() for _ in 'abc']") == "[b'1\\n', b'2\\n', b'']"

    def test_fields_are_made_as_in_mod_python(self, form):
        """Trac makes them itself: Field(name, file, type, ...)."""
        made = "util.Field('n', __import__('io').BytesIO(b'x'), 'a/b', {'c': 'd'}, 'attachment', {'filename': 'f'}, {'h': 'v'})"
        assert form("", ask="(lambda f: (f.name, f.value, f.type, f.type_options, f.disposition, f.disposition_options, f.filename, "
                            "f.headers))(%s)" % made) == repr(
            ("n", b"x", "a/b", {"c": "d"}, "attachment", {"filename": "f"}, "f", {"h": "v"}))
        assert form("", ask="util.Field('n').filename, util.Field('n').value") == "(None, None)"

    def test_other_bodies_are_left_to_the_handler(self, form):
        """X7"""
        assert form("?a=1", b'{"b": 2}', "application/json") == {"fields": [["a", "1", None, "text/plain"]], "left": 8}
        assert form("", b"a=1", method="PUT") == {"fields": [], "left": 3}

    def test_a_post_that_does_not_say_is_urlencoded(self, form):
        assert form("", b"a=1") == {"fields": [["a", "1", None, "text/plain"]], "left": 0}

    @pytest.mark.parametrize("kind, body", ((URLENCODED, b"a=1"), ("multipart/form-data; boundary=B", MULTIPART)))
    def test_any_byte_may_stand_in_a_content_type(self, form, kind, body):
        assert form("", body, kind + "; x=\udcff")["fields"][0][0] == "a"

    def test_malformed_forms_are_400(self, form):
        form("", b"no boundary here", "multipart/form-data; boundary=B", status=400)
        form("", MULTIPART[:-10], "multipart/form-data; boundary=B", status=400)
        form("", b"x", "multipart/form-data", status=400)
        form("?" + "&".join("a=1" for _ in range(1001)), status=400)

    @pytest.mark.parametrize("ask, expected", (
        ("form['a']", "['1', '2']"), ("form['b']", "'3'"), ("form.getfirst('a')", "'1'"), ("form.getlist('a')", "['1', '2']"),
        ("form.getlist('nothing')", "[]"), ("form.getfirst('nothing', 5)", "5"), ("form.get('nothing')", "None"),
        ("form.keys()", "['a', 'b']"), ("len(form), list(form), 'a' in form, form.has_key('c'), bool(form)", "(2, ['a', 'b'], True, False, True)"),
        ("form.__setitem__('a', 'x') or form.items()", "[('b', '3'), ('a', 'x')]"), ("form.__delitem__('a') or form.keys()", "['b']"),
        ("form.add_field('c', 'd') or form['c'].name", "'c'"), ("form.clear() or bool(form)", "False"),
        ("util.apply_fs_data(greet, form, req=1)", "'None is fine'"),
        ("util.apply_fs_data(greet, form, req=1, name='x', mood='glad', other=1)", "'x is glad'"),
        ("util.apply_fs_data(lambda **names: sorted(names), form)", "['a', 'b']"),
        ("util.apply_fs_data(dict, form)", "{}"),
        ("util.parse_header(b'TEXT/html; Charset=UTF-8')", "('text/html', {'charset': 'UTF-8'})"),
        ("util.parse_header('form-data; name=\"a;b\"; x=\"q\\\\\"q\"; y=z')", "('form-data', {'name': 'a;b', 'x': 'q\"q', 'y': 'z'})"),
    ))
    def test_is_a_mapping(self, form, ask, expected):
        assert form("?a=1&b=3&a=2", ask=ask) == expected

    def test_redirect(self, server):
        def go(call):
            statements = "from mod_python import util\nutil.redirect(req, %s)" % call
            return fetch(server.port, "/do.py", headers=[("X-Do", statements.encode().hex())])
        response = go("'/a b?q=é&x=%20'")
        assert (response.status, response.get("Location")) == (302, "/a%20b?q=%C3%A9&x=%20")
        assert b'href="/a%20b?q=%C3%A9&amp;x=%20"' in response.body
        assert go("'http://other/', 1, 'moved'").status == 301
        assert go("'http://other/', permanent=True, text='moved'").body == b"moved"
        assert b"\r\nSet-Cookie" not in go("'/\\r\\nSet-Cookie: a=b'").head
