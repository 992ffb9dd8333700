# SPDX-License-Identifier: Apache-2.0
"""Scripts whose Content-Length is not true, or who frame the response themselves: the next response stays apart."""
import pytest

from harness.client import Connection, Truncated, request_bytes
from harness.httpd import Sizes

LONG = "abcHTTP/1.1 200 EVIL\\r\\nContent-Length: 4\\r\\n\\r\\nevil"

# name: (Lua, Python)
FRAMES = {
    "exact": ("r.headers_out['Content-Length'] = '6' r:puts('abc') r:flush() r:puts('def')",
              "r.set_content_length(6); r.write('abc'); r.flush(); r.write('def')"),
    "exact_large": ("r.headers_out['Content-Length'] = '300000' for i = 1, 30 do r:puts(('x'):rep(10000)) end",
                    "r.set_content_length(300000); [r.write('x' * 10000) for _ in range(30)]"),
    "long": (f"r.headers_out['Content-Length'] = '3' r:puts('{LONG[:3]}') r:flush() r:puts('{LONG[3:]}') r:flush()",
             f"r.set_content_length(3); r.write('{LONG[:3]}'); r.flush(); r.write('{LONG[3:]}'); r.flush()"),
    "long_at_once": (f"r.headers_out['Content-Length'] = '3' r:puts('{LONG}') r:flush()",
                     f"r.headers_out['Content-Length'] = '3'; r.write('{LONG}'); r.flush()"),
    "short": ("r.headers_out['Content-Length'] = '30' r:puts('abc') r:flush()",
              "r.set_content_length(30); r.write('abc'); r.flush()"),
    "wrong_in_one_piece": ("r.headers_out['Content-Length'] = '30' r:puts('abc')", "r.set_content_length(30); r.write('abc')"),
    "no_number": ("r.headers_out['Content-Length'] = '-1' r:puts('abc') r:flush() r:puts('d')",
                  "r.headers_out['Content-Length'] = '-1'; r.write('abc'); r.flush(); r.write('d')"),
    "two": ("r.headers_out:add('Content-Length', '4') r.headers_out:add('Content-Length', '9') r:puts('abc') r:flush() r:puts('d')",
            "r.headers_out.add('Content-Length', '4'); r.headers_out.add('Content-Length', '9'); r.write('abc'); r.flush(); r.write('d')"),
    "in_error_headers": ("r.err_headers_out['Content-Length'] = '1' r:puts('abc') r:flush() r:puts('d')",
                         "r.err_headers_out['Content-Length'] = '1'; r.write('abc'); r.flush(); r.write('d')"),
    "chunked_by_hand": ("r.headers_out['Transfer-Encoding'] = 'chunked' r:puts('0\\r\\n\\r\\nEVIL') r:flush()",
                        "r.headers_out['Transfer-Encoding'] = 'chunked'; r.write('0\\r\\n\\r\\nEVIL'); r.flush()"),
    "answered_by_status": ("r.err_headers_out['Content-Length'] = '1' r.err_headers_out['Transfer-Encoding'] = 'gzip' r:puts('abc') return 404",
                           "r.err_headers_out['Content-Length'] = '1'; r.err_headers_out['Transfer-Encoding'] = 'gzip'; r.write('abc'); return 404"),
}
WHOLE = {"exact": "abcdef", "exact_large": "x" * 300000, "wrong_in_one_piece": "abc", "no_number": "abcd", "two": "abcd",
         "in_error_headers": "abcd", "chunked_by_hand": "0\r\n\r\nEVIL"}


class TestFraming:
    SCRIPTS = None
    SIZES = Sizes(threads=4, prefork=2)
    CONF = ('AddHandler lua-script .lua\nAddHandler mod_python .py\n<Directory "{docroot}">\n'
            + "".join(f"<Files {name}.py>\nPythonHandler {name}\n</Files>\n" for name in FRAMES) + "</Directory>\n")

    @staticmethod
    def pipeline(server, name, lang, method="GET"):
        """A connection on which the script was asked for, and then another one."""
        lua, python = FRAMES[name]
        (server.docroot / f"{name}.lua").write_text(f"function handle(r) {lua} end\n")
        (server.docroot / f"{name}.py").write_text(f"def handler(r):\n    {python}\n    return 0\n")
        (server.docroot / "next.lua").write_text("function handle(r) r:puts('next') end\n")
        connection = Connection(server.port)
        suffix = "py" if lang == "python" else lang
        connection.send(request_bytes(method, f"/{name}.{suffix}") + request_bytes("GET", "/next.lua", {"Connection": "close"}))
        return connection

    @pytest.mark.parametrize("name", WHOLE)
    def test_both_answers_are_whole(self, server, lang, name):
        with self.pipeline(server, name, lang) as connection:
            assert connection.response().text == WHOLE[name]
            assert connection.response().text == "next"
            assert connection.at_end()

    def test_a_status_answers_in_place_of_what_was_written(self, server, lang):
        with self.pipeline(server, "answered_by_status", lang) as connection:
            answer = connection.response()
            assert (answer.status, answer.get("Transfer-Encoding")) == (404, None)
            assert "abc" not in answer.text and answer.text.endswith("</html>\n")
            assert connection.response().text == "next"

    @pytest.mark.parametrize("name", ["exact", "short", "long"])
    def test_head_has_no_body_to_count(self, server, lang, name):
        with self.pipeline(server, name, lang, "HEAD") as connection:
            assert connection.response("HEAD").body == b""
            assert connection.response().text == "next"

    @pytest.mark.parametrize("name", ["long", "long_at_once"])
    def test_what_is_too_much_is_cut(self, server, lang, name):
        with server.expect_log("longer than its Content-Length"), self.pipeline(server, name, lang) as connection:
            assert connection.response().text == "abc"
            assert connection.at_end()

    def test_what_is_too_little_ends_the_connection(self, server, lang):
        with server.expect_log("shorter than its Content-Length"), self.pipeline(server, "short", lang) as connection:
            with pytest.raises(Truncated):
                connection.response()
            assert connection.at_end()
