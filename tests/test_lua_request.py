# SPDX-License-Identifier: Apache-2.0
"""The object r: its properties, tables and methods, as mod_lua has them where mod_lua is right."""
import time

import pytest

from harness.client import Connection, fetch
from harness.httpd import Sizes


def run(server, code, target="", method="GET", **options):
    """The answer of a script whose handle(r) is this code."""
    (server.docroot / "t.lua").write_text(f"function handle(r)\n{code}\nend\n")
    return fetch(server.port, "/t.lua" + target, method, **options)


def wait_until(condition, seconds=20):
    """Polls until the condition holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "not within the time"
        time.sleep(0.02)


PROPERTIES = {
    "method": "GET", "uri": "/t.lua/more", "args": "a=1&b=%20", "unparsed_uri": "/t.lua/more?a=1&b=%20",
    "path_info": "/more", "protocol": "HTTP/1.1", "hostname": "example.test", "the_request": "GET /t.lua/more?a=1&b=%20 HTTP/1.1",
    "useragent_ip": "127.0.0.1", "handler": "lua-script", "status": "200", "is_https": "false", "is_initial_req": "true",
    "user": "nil", "ap_auth_type": "nil", "range": "nil", "content_encoding": "nil", "content_type": "nil",
    "proxyreq": "PROXYREQ_NONE", "assbackwards": "false", "some_auth_required": "true", "nonsense": "nil",
    "basic_auth_pw": "", "auth_name": "", "context_prefix": "", "server_name": "example.test", "remaining": "0",
    "options": "FollowSymLinks", "allowoverrides": "None",
}


class TestProperties:
    MODULES = ("luapool",)
    SCRIPTS = None
    SIZES = Sizes(threads=3, prefork=1)

    @pytest.mark.parametrize("name", PROPERTIES)
    def test_reads(self, server, name):
        answer = run(server, f"r:puts(tostring(r.{name}))", "/more?a=1&b=%20", headers={"Host": "example.test"})
        assert answer.text == PROPERTIES[name]

    def test_reads_what_depends_on_the_server(self, server):
        text = run(server, "r:puts(table.concat({r.filename, r.canonical_filename, r.document_root, r.context_document_root, "
                           "r.port, r.started // 1000000000, r.limit_req_body >= 0 and 'limit', r.banner, r.server_built, "
                           "tostring(r)}, '\\n'))").text.split("\n")
        script = str(server.docroot / "t.lua")
        assert text[:4] == [script, script, str(server.docroot), str(server.docroot)]
        assert text[4:7] == ["80", "1", "limit"]
        assert text[7].startswith("Apache") and text[8] and text[9].startswith("request: 0x")

    def test_writes(self, server):
        answer = run(server, "r.status = 201 r.content_type = 'text/x; charset=utf-8' r.user = 'me' r.handler = 'h' r.uri = '/u' "
                             "r.args = 'z' r.filename = '/f' r.ap_auth_type = 'T' r.proxyreq = apache2.PROXYREQ_REVERSE "
                             "r:puts(r.user, r.handler, r.uri, r.args, r.filename, r.ap_auth_type, r.proxyreq, r.status)")
        assert (answer.status, answer.get("content-type")) == (201, "text/x; charset=utf-8")
        assert answer.text == "meh/uz/fTPROXYREQ_REVERSE201"

    def test_no_property_becomes_nil(self, server):
        with server.expect_log("LP001: .*string expected, got nil"):
            assert run(server, "r.content_type = nil").status == 500

    @pytest.mark.parametrize("body, status, text", [
        ("r:puts('x')", 200, "x"), ("r:puts('x') return nil", 200, "x"), ("r:puts('x') return 200", 200, "x"),
        ("return r:puts('x')", 200, "x"), ("r:puts('x') return r:flush()", 200, "x"), ("r:puts('x') return false", 200, "x"),
        ("r:puts('x') return apache2.OK", 200, "x"), ("r:puts('x') return apache2.DONE", 200, "x"),
        ("r:puts('x') return 0.0", 200, "x"), ("r.status = 404 r:puts('own')", 404, "own"),
        ("return 404", 404, None), ("return apache2.HTTP_FORBIDDEN", 403, None), ("return 503.0", 503, None),
        ("return 204", 204, ""), ("r:puts('gone') return apache2.HTTP_GONE", 410, None),
        ("r.headers_out.Location = '/there' return 302", 302, None), ("r.status = 500 return 200", 500, ""),
    ])
    def test_what_handle_returns(self, server, body, status, text):
        answer = run(server, body)
        assert answer.status == status
        if text is not None:
            assert answer.text == text

    def test_declined_leaves_it_to_other_handlers(self, server):
        answer = run(server, "return apache2.DECLINED")
        assert answer.status == 200 and "function handle" in answer.text

    def test_head_has_the_headers_of_get(self, server):
        body = "r.status = 201 r.headers_out['X-A'] = 'b' r.content_type = 'a/b' r:puts('12345')"
        get, head = run(server, body), run(server, body, method="HEAD")
        assert (get.body, head.body) == (b"12345", b"")
        assert head.status == get.status == 201
        for name in ("x-a", "content-type", "content-length"):
            assert head.get(name) == get.get(name) is not None

    @pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "STRANGE"])
    def test_any_method_runs_the_script(self, server, method):
        assert run(server, "r:puts(r.method)", method=method).text == method


class TestTables:
    MODULES = ("luapool",)
    SCRIPTS = None
    SIZES = Sizes(threads=3, prefork=1)

    def test_incoming(self, server):
        answer = run(server, "local h = r.headers_in r:puts(h['x-one'], h['X-TWO'], tostring(h.none), tostring(h[1]), "
                             "tostring(r.headers_in == h))", headers=[("X-One", "1"), ("X-Two", "2"), ("X-Two", "3")])
        assert answer.text == "12, 3nilniltrue"

    def test_outgoing(self, server):
        answer = run(server, "local h = r.headers_out h['X-A'] = 'a' h['X-A'] = 'b' h['X-N'] = 7 h['X-Gone'] = 'x' h['X-Gone'] = nil "
                             "h:add('Link', '<a>') h:add('Link', '<b>') r.err_headers_out['X-E'] = 'e' h['X-Tab'] = 'a\\tb'")
        assert answer.get_all("x-a") == ["b"] and answer.get_all("x-n") == ["7"] and answer.get("x-gone") is None
        assert answer.get_all("link") == ["<a>", "<b>"] and answer.get("x-e") == "e" and answer.get("x-tab") == "a\tb"

    def test_error_headers_are_sent_with_errors(self, server):
        answer = run(server, "r.headers_out['X-A'] = 'a' r.err_headers_out['X-E'] = 'e' return 404")
        assert (answer.get("x-a"), answer.get("x-e")) == (None, "e")

    def test_pairs(self, server):
        answer = run(server, "local t = {} r.notes.a = '1' r.notes.b = 'x\\ny' for k, v in pairs(r.notes) do t[#t + 1] = k .. v end "
                             "table.sort(t) r:puts(table.concat(t, ';')) for k in pairs(r.headers_in) do r.headers_in[k] = nil end")
        assert answer.text == "a1;bx\ny"

    def test_notes_and_environment(self, server):
        assert run(server, "r.subprocess_env.X = 'y' r.notes.n = 1 r:puts(r.subprocess_env.X, r.notes.n, r.notes.N)").text == "y11"

    def test_their_metatables_are_hidden(self, server):
        assert run(server, "r:puts(getmetatable(r), getmetatable(r.notes), tostring(pcall(setmetatable, r, {})))"
                   ).text == "Apache2.RequestApr.Tablefalse"


class TestOutput:
    MODULES = ("luapool",)
    SCRIPTS = None
    SIZES = Sizes(threads=3, prefork=1)

    def test_bytes_pass_unchanged(self, server):
        answer = run(server, r"r:puts('a\0b', 1, 2.5) r:write('\0\xff\r\n') r:puts(r:write('four'), tostring(r:puts()))")
        assert answer.body == b"a\0b12.5\0\xff\r\nfour4true"

    def test_flush_sends_what_there_is(self, server):
        (server.docroot / "f.lua").write_text("function handle(r) r:puts('one') r:puts(tostring(r:flush())) local t = os.time() + 2 "
                                              "while os.time() < t do end r:puts('two') end")
        with Connection(server.port) as c:
            c.send(b"GET /f.lua HTTP/1.0\r\n\r\n")
            seen = b""
            while b"one" not in seen:
                seen += c.socket.recv(1000)
            assert b"two" not in seen

    def test_large(self, server):
        answer = run(server, "local s = ('x'):rep(1 << 20) for i = 1, 24 do r:write(s) end")
        assert len(answer.body) == 24 << 20 and not answer.body.strip(b"x")

    def test_log_levels(self, server):
        with server.expect_log(r"\[luapool:error\] .* my error"):
            run(server, "r:err('my error') r:debug('my debug') r:trace8('t')")
        with server.expect_log(r"\[luapool:warn\] .* a%sb"):
            run(server, "r:warn('a%sb')")
        with server.expect_log(r"\[luapool:info\] .*a\\nb"):
            run(server, "r:info('a\\nb')")
        assert not any("my debug" in line for line in server.error_log())

    def test_a_client_that_leaves_is_told_to_the_script(self, server):
        out = server.docroot / "left.txt"
        out.write_text("")
        out.chmod(0o666)
        (server.docroot / "l.lua").write_text(
            "function handle(r) local ok, why for i = 1, 100000 do ok, why = r:write(('x'):rep(10000)) if not ok then break end r:flush() end\n"
            f"local f = io.open('{out}', 'w') f:write(tostring(ok), ' ', tostring(why)) f:close() end")
        with Connection(server.port) as c:
            c.send(b"GET /l.lua HTTP/1.0\r\n\r\n")
            c.socket.recv(1000)
        wait_until(out.read_text)
        assert out.read_text() == "nil the client closed the connection"


FORM = ("local a, b = %s if not a then r:puts('nil ', b) return end local t = {} for k, v in pairs(a) do t[#t + 1] = "
        "('%%q=%%q(%%s)'):format(k, v, table.concat(b[k], '|')) end table.sort(t) r:puts(table.concat(t, ' '))")


class TestForms:
    MODULES = ("luapool",)
    SCRIPTS = None
    SIZES = Sizes(threads=3, prefork=1)
    CONF = "LuaBodyLimit 1M\n"

    @pytest.mark.parametrize("query, text", [
        ("", ""), ("?", ""), ("?a=1", '"a"="1"(1)'), ("?a=1&a=2", '"a"="1"(1|2)'), ("?b=x+y%20z", '"b"="x y z"(x y z)'),
        ("?a", '"a"=""()'), ("?a=&b=2", '"a"=""() "b"="2"(2)'), ("?%61=%3d", '"a"="="(=)'), ("?a=1&&b=2&", '"a"="1"(1) "b"="2"(2)'),
    ])
    def test_query_string(self, server, query, text):
        assert run(server, FORM % "r:parseargs()", query).text == text

    @pytest.mark.parametrize("chunked", [False, True])
    def test_urlencoded_body(self, server, chunked):
        answer = run(server, FORM % "r:parsebody()", method="POST", body=b"a=1&a=2&c=x%00y", chunked=chunked,
                     headers={"Content-Type": "application/x-www-form-urlencoded"})
        assert answer.text == '"a"="1"(1|2) "c"="x\\0y"(x\0y)'

    def test_multipart_body(self, server):
        body = (b'--XX\r\nContent-Disposition: form-data; name="e"\r\n\r\n\r\n--XX\r\nContent-Type: text/plain\r\n'
                b'Content-Disposition: form-data; name=f; filename="f.bin"\r\n\r\na\0b\r\n--XX--\r\n')
        answer = run(server, FORM % "r:parsebody()", method="POST", body=body,
                     headers={"Content-Type": 'multipart/form-data; boundary="XX"'})
        assert answer.text == '"e"=""() "f"="a\\0b"(a\0b)'

    def test_limits_are_told(self, server):
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        body = b"a=" + b"x" * 9000
        assert run(server, FORM % "r:parsebody()", method="POST", body=body, headers=form).text.startswith("nil ")
        assert len(run(server, FORM % "r:parsebody(10000)", method="POST", body=body, headers=form).text) > 9000
        assert len(run(server, FORM % "r:parsebody(0)", method="POST", body=body, headers=form).text) > 9000
        huge = b"a=" + b"x" * (1 << 20)
        for most in ("0", "1 << 30"):
            assert run(server, FORM % f"r:parsebody({most})", method="POST", body=huge, headers=form).text.startswith("nil ")

    def test_a_body_that_is_no_form_is_left_to_requestbody(self, server):
        answer = run(server, "local first, all = r:parsebody() r:puts(#all, next(first) or 'none', ' ', r:requestbody())",
                     method="POST", body=b'{"a": 1}', headers={"Content-Type": "application/json"})
        assert answer.text == '0none {"a": 1}'

    def test_malformed_multipart_is_told(self, server):
        answer = run(server, FORM % "r:parsebody()", method="POST", headers={"Content-Type": "multipart/form-data; boundary=4"},
                     body=b'4\r\nContent-Disposition: form-data; name="name"\r\n\r\n04\r\n')
        assert answer.text.startswith("nil ")


class TestBody:
    MODULES = ("luapool",)
    SCRIPTS = None
    SIZES = Sizes(threads=3, prefork=1)
    ECHO = "local b, e = r:requestbody() if b then r:write(b) else r:puts('none ', tostring(e)) end"

    @pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
    @pytest.mark.parametrize("chunked", [False, True])
    def test_is_read_whole(self, server, method, chunked):
        body = bytes(range(256)) * 200
        assert run(server, self.ECHO, method=method, body=body, chunked=chunked).body == body

    def test_none_is_nil(self, server):
        assert run(server, self.ECHO).text == "none nil"

    def test_too_large_is_told(self, server):
        text = run(server, self.ECHO.replace("requestbody()", "requestbody(nil, 10)"), method="POST", body=b"x" * 11).text
        assert text.startswith("none ") and "limit" in text
        assert run(server, self.ECHO.replace("requestbody()", "requestbody(nil, 10)"), method="POST", body=b"x" * 10).text == "x" * 10

    def test_cut_short_is_told(self, server):
        out = server.docroot / "cut.txt"
        out.write_text("")
        out.chmod(0o666)
        (server.docroot / "c.lua").write_text(f"function handle(r) local b, e = r:requestbody() local f = io.open('{out}', 'w') "
                                              "f:write(tostring(b), ' ', tostring(e)) end")
        with Connection(server.port) as c:
            c.send(b"POST /c.lua HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf")
        wait_until(out.read_text)
        assert out.read_text().startswith("nil the ") and "nil nil" not in out.read_text()

    def test_goes_to_a_file(self, server):
        folder = server.docroot / "up"
        folder.mkdir(exist_ok=True)
        folder.chmod(0o777)
        body = b"\0\1\2" * 50000
        answer = run(server, f"r:puts(tostring(r:requestbody('{folder}/a')))", method="POST", body=body)
        assert answer.text == "150000" and (folder / "a").read_bytes() == body
        assert run(server, f"r:puts(tostring(r:requestbody('{folder}/b', 10)))", method="POST", body=body).text == "nil"
        assert not (folder / "b").exists()
        assert "No such file" in run(server, "r:puts(select(2, r:requestbody('/nowhere/x')))", method="POST", body=b"x").text


class TestOverRequests:
    """r kept beyond its request, where the state lives longer."""
    MODULES = ("luapool",)
    SCRIPTS = None
    SIZES = Sizes(threads=1, prefork=1)
    CONF = "LuaScope thread\n"

    @pytest.mark.parametrize("use", ["kept.uri", "kept:puts('x')", "kept.headers_in", "headers.Host", "headers['X'] = 'y'",
                                     "headers:add('X', 'y')", "pairs(headers)", "kept.status = 200", "method(kept, 'x')",
                                     "kept:requestbody()", "iterate()"])
    def test_raises_a_clear_error(self, server, use):
        (server.docroot / "k.lua").write_text(
            "function handle(r) if r.args == 'keep' then kept, headers, method = r, r.headers_in, r.puts iterate = pairs(headers) "
            f"else {use if ' = ' in use else 'local _ = ' + use} end end")
        assert fetch(server.port, "/k.lua?keep").status == 200
        with server.expect_log("LP001: .*the request is over"):
            assert fetch(server.port, "/k.lua?use").status == 500
        assert fetch(server.port, "/k.lua?keep").status == 200
