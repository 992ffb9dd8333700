# SPDX-License-Identifier: Apache-2.0
"""What a Python handler sees: req, its methods and attributes, and what it may not do with them."""
import gzip
import json
import threading
import time

import pytest

from harness.client import Connection, Truncated, fetch
from harness.httpd import Sizes, load_module


def hexed(text):
    return text.encode("utf-8", "surrogateescape").hex()


class Script:
    """The scripts of tests/scripts/pyapi on one server."""

    def __init__(self, server):
        self.server = server

    def fetch(self, target, method="GET", **options):
        return fetch(self.server.port, target, method, **options)

    def ask(self, *expressions, target="/ask.py", method="GET", headers=(), **options):
        """The repr of each expression's value, or its exception."""
        pairs = [*(headers.items() if isinstance(headers, dict) else headers), ("X-Ask", hexed("\n".join(expressions)))]
        response = self.fetch(target, method, headers=pairs, **options)
        assert response.status == 200, response.text
        answers = json.loads(response.body)
        assert len(answers) == len(expressions)
        return answers[0] if len(answers) == 1 else answers

    def do(self, statements, target="/do.py", method="GET", headers=(), **options):
        """The response to a request whose handler runs these statements."""
        pairs = [*(headers.items() if isinstance(headers, dict) else headers), ("X-Do", hexed(statements))]
        return self.fetch(target, method, headers=pairs, **options)


@pytest.fixture
def script(server):
    return Script(server)


class PyServer:
    MODULES = ("pypool",)
    SCRIPTS = "scripts/pyapi"
    CONF = "PythonOption one 1\nPythonOption two 2\nPythonAutoReload On\n"


class TestAttributes(PyServer):
    def test_describe_the_request(self, script):
        expected = {
            "req.method": "'GET'", "req.method_number == apache.M_GET": "True", "req.uri": "'/ask.py/more'",
            "req.path_info": "'/more'", "req.args": "'a=1&b=%20'", "req.unparsed_uri": "'/ask.py/more?a=1&b=%20'",
            "req.the_request": "'GET /ask.py/more?a=1&b=%20 HTTP/1.1'", "req.protocol": "'HTTP/1.1'",
            "req.proto_num": "1001", "req.hostname": "'localhost'", "req.header_only": "0", "req.useragent_ip": "'127.0.0.1'",
            "req.useragent_addr[0]": "'127.0.0.1'", "req.handler": "'mod_python'", "req.user": "None",
            "req.ap_auth_type": "None", "req.status": "200", "req.main": "None", "req.prev": "None", "req.next": "None",
            "req.assbackwards": "0", "req.proxyreq == apache.PROXYREQ_NONE": "True", "req.content_type": "None",
            "req.parsed_uri[apache.URI_PATH]": "'/ask.py/more'", "req.parsed_uri[apache.URI_QUERY]": "'a=1&b=%20'",
            "len(req.parsed_uri)": "9", "req.phase": "'PythonHandler'", "req.extension": "None", "req.allowed_methods": "()",
            "req.hlist.handler": "'ask'", "req.hlist.location": "None", "req.finfo.filetype == apache.APR_REG": "True",
            "req.finfo[apache.FINFO_FILETYPE] == apache.APR_REG": "True", "req.finfo[6] == req.finfo.size > 0": "True",
            "req.finfo[apache.FINFO_FNAME] == req.filename": "True", "req.filename.endswith('/ask.py')": "True",
            "abs(req.request_time - __import__('time').time()) < 60": "True", "req.eos_sent": "0", "req._bytes_queued": "0",
            "type(req.interpreter)": "<class 'str'>", "req.read_chunked": "0", "req.expecting_100": "0",
        }
        answers = script.ask(*expected, target="/ask.py/more?a=1&b=%20")
        assert dict(zip(expected, answers)) == expected

    def test_give_the_same_object_each_time(self, script):
        names = ("headers_in", "headers_out", "err_headers_out", "notes", "subprocess_env", "connection", "server")
        assert script.ask(*("req.%s is req.%s" % (name, name) for name in names)) == ["True"] * len(names)

    def test_any_byte_of_a_request_is_text(self, script):
        headers = [("X-Foo", b"\xff"), ("X-Multi", b"a\xe9"), ("X-Multi", b"b\xe9"), ("Cookie", b"a=\xff"), ("X-Utf", "é")]
        answers = script.ask(
            "req.headers_in['X-Foo']", "req.headers_in.get('X-Foo')", "req.headers_in['X-Multi']",
            "[v for k, v in req.headers_in.items() if k == 'X-Foo']", "'\\udcff' in req.headers_in.values()",
            "req.headers_in['X-Utf']", "req.headers_in['cookie'].encode('utf-8', 'surrogateescape')", "req.args", "req.uri",
            "req.path_info", "req.unparsed_uri", "util.parse_qsl(req.args)", "util.parse_qs(req.args)",
            "req.parsed_uri[apache.URI_QUERY]", "req.the_request",
            target=b"/ask.py/%ff\xe9?a=%FF&b=\xff".replace(b"\xe9", b"%e9").replace(b"\xff", b"%ff"), headers=headers)
        assert answers == [
            "'\\udcff'", "'\\udcff'", "'a\\udce9, b\\udce9'", "['\\udcff']", "True", "'é'", "b'a=\\xff'",
            "'a=%FF&b=%ff'", "'/ask.py/\\udcff\\udce9'", "'/\\udcff\\udce9'", "'/ask.py/%ff%e9?a=%FF&b=%ff'",
            "[('a', '\\udcff'), ('b', '\\udcff')]", "{'a': ['\\udcff'], 'b': ['\\udcff']}", "'a=%FF&b=%ff'",
            "'GET /ask.py/%ff%e9?a=%FF&b=%ff HTTP/1.1'"]

    def test_bytes_survive_the_way_through_the_script(self, script):
        response = script.do("req.headers_out['X-Back'] = req.headers_in['X-Foo']\nreq.write(req.headers_in['X-Foo'])",
                             headers=[("X-Foo", b"a\xff\xc3\xa9")])
        assert response.body == b"a\xff\xc3\xa9"
        assert b"X-Back: a\xff\xc3\xa9\r\n" in response.head

    def test_can_be_set(self, script):
        expected = {
            "setattr(req, 'user', 'joe') or req.user": "'joe'", "setattr(req, 'user', b'jo\\xff') or req.user": "'jo\\udcff'",
            "setattr(req, 'user', None) or req.user": "None", "setattr(req, 'args', 'x=1') or req.args": "'x=1'",
            "setattr(req, 'args', None) or req.args": "None", "setattr(req, 'uri', '/é') or req.uri": "'/é'",
            "setattr(req, 'filename', '/x') or req.filename": "'/x'", "setattr(req, 'path_info', '/p') or req.path_info": "'/p'",
            "setattr(req, 'handler', None) or req.handler": "None", "setattr(req, 'no_cache', 1) or req.no_cache": "1",
            "setattr(req, 'ap_auth_type', 'Basic') or req.ap_auth_type": "'Basic'",
            "setattr(req, 'content_type', 'a/b') or (req.content_type, req._content_type_set)": "('a/b', 1)",
            "setattr(req, 'content_type', None) or (req.content_type, req._content_type_set)": "(None, 0)",
            "setattr(req, 'status_line', '404 Gone fishing') or req.status": "404", "setattr(req, 'status', 200)": "None",
            "setattr(req, 'status_line', None) or req.status_line": "None", "setattr(req, 'mine', [1]) or req.mine": "[1]",
            "setattr(req, 'finfo', apache.stat('/tmp', apache.APR_FINFO_NORM)) or req.finfo.filetype == apache.APR_DIR": "True",
            "req.finfo == apache.stat('/tmp', apache.APR_FINFO_NORM)": "True",
            "setattr(req, 'finfo', apache.stat('/not/there', apache.APR_FINFO_NORM)) or req.finfo.filetype": "0",
            "setattr(req, 'finfo', (1,) * 13)": "TypeError: req.finfo must be what apache.stat gives, not tuple",
            "setattr(req, 'finfo', type(req.finfo)(['x'] * 13))": "TypeError: 'str' object cannot be interpreted as an integer",
            "setattr(req, 'finfo', type(req.finfo)([2 ** 62] * 10 + [None, None, 1]))": "ValueError: req.finfo: atime is no time",
            "sorted(req.__dict__)": "['mine']", "delattr(req, 'mine') or hasattr(req, 'mine')": "False",
        }
        assert dict(zip(expected, script.ask(*expected))) == expected

    def test_refuse_what_would_break_a_message(self, script):
        answers = script.ask(*("setattr(req, %r, %s)" % (name, value)
                               for name in ("uri", "args", "user", "content_type", "filename", "path_info", "handler")
                               for value in ("'a\\rb'", "'a\\nb'", "'a\\0b'", "b'a\\n'", "bytearray(b'a\\r\\n')")))
        assert [a for a in answers if not a.startswith("ValueError: req.")] == []
        answers = script.ask("req.headers_out.__setitem__('X', 'a\\r\\nSet-Cookie: b')", "req.headers_out.add('X', b'\\n')",
                             "req.err_headers_out.__setitem__('X\\n', 'a')", "req.headers_out.__setitem__('', 'a')",
                             "req.headers_out.__setitem__('A B', 'a')", "req.headers_out.__setitem__('X', ['a', 'b\\n'])",
                             "req.headers_out.setdefault('X', '\\0')", "req.headers_out.update({'X': '\\n'})")
        assert [a for a in answers if not a.startswith("ValueError: ")] == []
        assert script.ask("req.notes.__setitem__('x', 'two\\nlines') or req.notes['x']") == "'two\\nlines'"

    def test_name_what_is_wrong(self, script):
        expected = {
            "setattr(req, 'uri', 5)": "TypeError: req.uri must be str or bytes-like, not int",
            "setattr(req, 'uri', None)": "TypeError: req.uri must be str or bytes-like, not NoneType",
            "setattr(req, 'status', 'x')": "TypeError: req.status must be int, not str",
            "setattr(req, 'status', 10 ** 30)": "ValueError: req.status must be from 100 to 999, not " + str(10 ** 30),
            "delattr(req, 'status')": "AttributeError: req.status can't be deleted",
            "delattr(req, 'user')": "AttributeError: req.user can't be deleted",
            "delattr(req, 'method')": "AttributeError: attribute 'method' of '_apache.request' objects is not writable",
            "setattr(req, 'status_line', 'nope')":
                "ValueError: req.status_line must be like '404 Not Found', not 'nope'",
            "req.nothing": "AttributeError: '_apache.request' object has no attribute 'nothing'",
            "type(req)()": "TypeError: cannot create '_apache.request' instances",
            "setattr(type(req), 'uri', 5)": "TypeError: cannot set 'uri' attribute of immutable type '_apache.request'",
            "setattr(apache.table, 'get', 5)": "TypeError: cannot set 'get' attribute of immutable type '_apache.table'",
            "setattr(req.connection, 'keepalive', 9)": "ValueError: connection.keepalive must be from 0 to 2, not 9",
        }
        assert dict(zip(expected, script.ask(*expected))) == expected
        assert script.ask("object.__new__(type(req))").startswith("TypeError")

    def test_server_and_connection(self, script):
        port = str(script.server.port)
        expected = {
            "req.connection.client_ip": "'127.0.0.1'", "req.connection.remote_ip": "'127.0.0.1'",
            "req.connection.client_addr[0]": "'127.0.0.1'", "req.connection.local_addr": "('127.0.0.1', %s)" % port,
            "req.connection.aborted": "0", "req.connection.keepalives": "0", "req.connection.base_server.is_virtual": "0",
            "req.connection.notes": "{}", "req.connection.hlist": "None", "type(req.connection.id)": "<class 'int'>",
            "setattr(req.connection, 'keepalive', apache.AP_CONN_CLOSE) or req.connection.keepalive": "1",
            "req.server.timeout > 0": "True", "req.server.limit_req_line": "8190", "req.server.names": "()",
            "req.server.keep_alive in (0, 1)": "True", "req.server.next": "None", "req.server.my_generation": "0",
            "req.server.loglevel > 0": "True", "sorted(req.server.get_options().items())": "[('one', '1'), ('two', '2')]",
            "sorted(req.get_options().items())": "[('one', '1'), ('two', '2')]",
            "req.get_config()": "{'PythonAutoReload': '1'}", "apache.interpreter == req.interpreter": "True",
            "apache.main_server.server_hostname == req.server.server_hostname": "True",
            "setattr(req.server, 'mine', 1) or req.server.mine": "1",
        }
        assert dict(zip(expected, script.ask(*expected))) == expected


class TestModule(PyServer):
    def test_functions(self, script):
        threaded = script.server.mpm != "prefork"
        expected = {
            "apache.OK, apache.DECLINED, apache.DONE": "(0, -1, -2)", "apache.HTTP_NOT_FOUND": "404",
            "apache.HTTP_IM_A_TEAPOT": "418", "apache.M_POST": "2", "apache.REMOTE_NOLOOKUP": "2", "apache.APLOG_DEBUG": "7",
            "apache.mpm_query(apache.AP_MPMQ_IS_THREADED) > 0": str(threaded), "apache.exists_config_define('FOREGROUND')": "True",
            "apache.exists_config_define('NOT_THERE')": "False", "apache.server_root() == %r" % str(script.server.run): "True",
            "apache.stat(req.filename, apache.APR_FINFO_NORM).filetype == apache.APR_REG": "True",
            "apache.stat('/not/there', apache.APR_FINFO_NORM).filetype == apache.APR_NOFILE": "True",
            "apache.stat('/tmp', apache.APR_FINFO_NORM)[apache.FINFO_FILETYPE] == apache.APR_DIR": "True",
            "('ServerRoot' in str(apache.config_tree()), type(apache.config_tree()))": "(False, <class 'list'>)",
            "apache.mpm_query(999)": "ValueError: mpm_query: this MPM does not answer 999",
            "issubclass(apache.SERVER_RETURN, Exception)": "True", "apache.make_table is apache.table": "True",
        }
        assert dict(zip(expected, script.ask(*expected))) == expected

    def test_parse_qsl(self, script):
        expected = {
            "util.parse_qsl('x=10&y=20')": "[('x', '10'), ('y', '20')]", "util.parse_qsl('a=1+2%2B&a=')": "[('a', '1 2+')]",
            "util.parse_qsl('a=&b', 1)": "[('a', ''), ('b', '')]", "util.parse_qsl('b', 1, 1)":
                "ValueError: the form has a field without '='",
            "util.parse_qs('a=1&b=2&a=3')": "{'a': ['1', '3'], 'b': ['2']}", "util.parse_qsl('n=%C3%A9t%C3%A9')": "[('n', 'été')]",
            "util.parse_qsl(b'a=%00b')": "[('a', '\\x00b')]", "util.parse_qsl('')": "[]",
            "util.parse_qsl(None)": "TypeError: the query must be str or bytes-like, not NoneType",
            "len(util.parse_qsl('&'.join('a=1' for i in range(1000))))": "1000",
        }
        assert dict(zip(expected, script.ask(*expected))) == expected

    def test_log_error(self, script):
        mark = script.server.log.mark()
        script.server.log.allow(r"from the (handler|module|server|connection)")
        assert script.ask("req.log_error('from the handler \\udcff')", "apache.log_error('from the module', apache.APLOG_CRIT, req.server)",
                          "req.server.log_error(b'from the server')", "req.connection.log_error('from the connection')",
                          "req.log_error('not shown', apache.APLOG_TRACE8)", "apache.log_error('m', 3, 5)") == ["None"] * 5 + [
            "TypeError: the server must be like req.server, not int"]
        lines = "\n".join(script.server.log.since(mark))
        assert "[pypool:error]" in lines and "from the handler \\xff" in lines and "[pypool:crit]" in lines
        assert "from the server" in lines and "from the connection" in lines and "not shown" not in lines


class TestOddArguments(PyServer):
    def test_give_ordinary_exceptions(self, script):
        script.server.log.allow(r".")
        response = script.fetch("/odd.py")
        assert response.status == 200
        assert json.loads(response.get("X-Found")) == []
        assert script.ask("req.uri") == "'/ask.py'"


class TestWriting(PyServer):
    def test_takes_text_and_bytes(self, script):
        response = script.do("req.write('é\\udcff')\nreq.write(b'\\0b')\nreq.write(bytearray(b'c'))\n"
                             "req.write(memoryview(b'xdx')[1:2])\nreq.write('')")
        assert response.body == b"\xc3\xa9\xff\0bcd"
        assert response.get("Content-Length") == str(len(response.body))

    def test_refuses_the_rest(self, script):
        answers = script.ask("req.write(5)", "req.write(None)", "req.write()", "req.write('a', 0, 0)", "req.write('a', flash=1)",
                             "req.write('\\ud800')", "req.write(memoryview(b'abcd')[::2])")
        assert [a.split(":")[0] for a in answers] == ["TypeError"] * 5 + ["UnicodeEncodeError", "BufferError"]

    @pytest.mark.parametrize("size", (0, 1, 7999, 8000, 8001, 16000, 65535, 65536))
    def test_what_fits_goes_in_one_piece(self, script, size):
        response = script.do("req.write('x' * %d)" % size)
        assert (response.get("Content-Length"), response.body) == (str(size), b"x" * size)

    def test_small_pieces_arrive_in_order(self, script):
        response = script.do("for i in range(30000): req.write('%d\\n' % i)")
        assert response.body == b"".join(b"%d\n" % i for i in range(30000))
        assert response.get("Transfer-Encoding") == "chunked"

    def test_large_pieces_arrive_whole(self, script):
        response = script.do("req.write('head')\nreq.write(b'x' * 3000000)\nreq.write(memoryview(b'y' * 70000))\nreq.write('tail')")
        assert response.body == b"head" + b"x" * 3000000 + b"y" * 70000 + b"tail"

    def test_flush_sends_at_once(self, script):
        """The handler goes on only when the client has got what was flushed."""
        gates = [script.server.run / name for name in ("gate1", "gate2")]
        wait = "\nfor _ in range(500):\n    if os.path.exists(%r): break\n    time.sleep(0.01)\nelse: raise RuntimeError('not sent')\n"
        statements = ("import os, time\nreq.write('first', 1)" + wait % str(gates[0]) +
                      "req.write('second')\nreq.flush()" + wait % str(gates[1]) + "req.write('third', flush=True)")
        with Connection(script.server.port) as connection:
            connection.send(b"GET /do.py HTTP/1.1\r\nHost: x\r\nX-Do: %s\r\n\r\n" % hexed(statements).encode())
            head = connection.response_head()
            for text, gate in zip((b"first", b"second"), gates):
                assert connection.until(text, "the body")
                gate.touch()
            assert connection.until(b"third", "the body")
            assert head.get("Transfer-Encoding") == "chunked"

    def test_head_has_the_length_and_no_body(self, script):
        response = script.do("req.write('12345')", method="HEAD")
        assert (response.get("Content-Length"), response.body) == ("5", b"")

    def test_nothing_written_is_an_empty_response(self, script):
        response = script.do("pass")
        assert (response.status, response.body) == (200, b"")

    def test_headers_and_status(self, script):
        response = script.do("req.status = apache.HTTP_CONFLICT\nreq.content_type = 'text/x-tea'\n"
                             "req.headers_out['X-A'] = 'é'\nreq.headers_out.add('X-A', 'two')\n"
                             "req.err_headers_out['X-E'] = 'e'\nreq.write('short and stout')")
        assert (response.status, response.body) == (409, b"short and stout")
        assert response.get("Content-Type").startswith("text/x-tea")
        assert response.get_all("X-A") == ["é", "two"] and response.get("X-E") == "e"

    def test_status_line_is_sent(self, script):
        response = script.do("req.status_line = '404 Gone fishing'\nreq.write('!')")
        assert (response.status, response.reason, response.body) == (404, "Gone fishing", b"!")

    def test_error_keeps_err_headers_and_drops_what_was_written(self, script):
        response = script.do("req.write('half a page')\nreq.headers_out['X-O'] = 'o'\nreq.err_headers_out['X-E'] = 'e'\n"
                             "raise apache.SERVER_RETURN(apache.HTTP_NOT_FOUND)")
        assert response.status == 404 and b"half a page" not in response.body
        assert response.get("X-E") == "e" and response.get("X-O") is None

    def test_returned_status_is_answered_like_a_raised_one(self, script):
        response = script.do("req.write('half a page')\nresult = apache.HTTP_FORBIDDEN")
        assert response.status == 403 and b"half a page" not in response.body

    def test_content_length_of_the_script_is_kept(self, script):
        response = script.do("req.set_content_length(200000)\nfor i in range(20): req.write(b'z' * 10000)")
        assert (response.get("Content-Length"), response.body) == ("200000", b"z" * 200000)

    def test_client_that_leaves_is_an_oserror(self, script):
        statements = ("import time\ntry:\n    for i in range(2000):\n        req.write('x' * 100000)\nexcept OSError as e:\n"
                      "    req.log_error('gone: %s' % type(e).__name__, apache.APLOG_NOTICE)\n")
        mark = script.server.log.mark()
        connection = Connection(script.server.port)
        connection.send(b"GET /do.py HTTP/1.1\r\nHost: x\r\nX-Do: %s\r\n\r\n" % hexed(statements).encode())
        connection.socket.recv(1000)
        connection.reset()
        script.server.log.wait_for("gone: BrokenPipeError", mark, seconds=20)

    def test_others_are_served_while_a_client_stalls(self, script):
        """The GIL is not held while bytes wait for a client that does not read."""
        stalled = Connection(script.server.port)
        stalled.send(b"GET /do.py HTTP/1.1\r\nHost: x\r\nX-Do: %s\r\n\r\n" % hexed("req.write(b'x' * 30000000)").encode())
        time.sleep(0.3)
        assert [script.ask("req.uri") for _ in range(20)] == ["'/ask.py'"] * 20
        assert len(stalled.response().body) == 30000000
        stalled.close()


class TestSendfile(PyServer):
    def test_sends_a_file(self, script):
        path = script.server.run / "data.bin"
        path.write_bytes(bytes(range(256)) * 400)
        path.chmod(0o644)
        data = path.read_bytes()
        response = script.do("req.write('before ')\nn = req.sendfile(%r)\nreq.write(' after %%d' %% n)" % str(path))
        assert response.body == b"before " + data + b" after 102400"
        assert response.get("Content-Length") == str(len(response.body))
        for arguments, expected in (("10", data[10:]), ("10, 20", data[10:30]), ("0, 0", b""), ("102400", b""), ("999999", b""),
                                    ("102000, 999999", data[102000:])):
            assert script.do("req.sendfile(%r, %s)" % (str(path), arguments)).body == expected
        answers = script.ask("req.sendfile('/not/there')", "req.sendfile('/tmp')", "req.sendfile(%r, -1)" % str(path),
                             "req.sendfile(%r, 0, -2)" % str(path), "req.sendfile('a\\0b')", "req.sendfile(5)")
        assert [a.split(":")[0] for a in answers] == ["FileNotFoundError", "IsADirectoryError", "ValueError", "ValueError",
                                                      "ValueError", "TypeError"]


class TestReading(PyServer):
    CONF = PyServer.CONF + "PythonBodyLimit 1M\n"
    BODY = b"".join(b"line %d\n" % i for i in range(5000)) + b"no end"
    READ = "b''.join(iter(%s, b'')) == req.headers_in['X-Want'].encode()"

    @pytest.mark.parametrize("chunked", (False, True))
    @pytest.mark.parametrize("method", ("POST", "PUT", "PATCH", "DELETE"))
    def test_whole(self, script, method, chunked):
        response = script.do("req.write(req.read())\nreq.write(repr(req.read()))", method=method, body=self.BODY, chunked=chunked)
        assert response.body == self.BODY + b"b''"

    @pytest.mark.parametrize("chunked", (False, True))
    @pytest.mark.parametrize("call", ("req.read(1)", "req.read(1000)", "req.read(40000)", "req.readline()", "req.readline(3)",
                                      "b''.join(req.readlines(100))"))
    def test_by_pieces(self, script, call, chunked):
        response = script.do("for piece in iter(lambda: %s, b''): req.write(piece)" % call, method="POST", body=self.BODY,
                             chunked=chunked)
        assert response.body == self.BODY

    def test_lines(self, script):
        response = script.do("req.write(repr([req.readline(), req.read(2), req.readline(2), req.readline(), req.read(0),"
                             "req.readline(0), req.readlines(1), req.readlines()]))", method="POST", body=b"one\ntwo3\nfour\n\nfive")
        assert response.text == repr([b"one\n", b"tw", b"o3", b"\n", b"", b"", [b"four\n"], [b"\n", b"five"]])

    def test_no_body(self, script):
        assert script.ask("req.read()", "req.read(5)", "req.readline()", "req.readlines()", "req.discard_request_body()") == \
            ["b''", "b''", "b''", "[]", "0"]
        answers = script.ask("req.read('x')", "req.read(None)", "req.read(10 ** 30)", "req.readline(1, 2)", "req.readlines({})")
        assert [a.split(":")[0] for a in answers] == ["TypeError", "TypeError", "OverflowError", "TypeError", "TypeError"]

    @pytest.mark.parametrize("chunked", (False, True))
    @pytest.mark.parametrize("call", ("read()", "read(2000000)", "readlines()"))
    def test_too_large_is_413(self, script, call, chunked):
        script.server.log.allow(r"too large|larger than|limit")
        response = script.do("req.%s" % call, method="POST", body=b"x" * (1 << 20) + b"y", chunked=chunked)
        assert response.status == 413
        assert script.do("req.write(str(len(req.read())))", method="POST", body=b"x" * (1 << 20)).text == str(1 << 20)

    def test_too_large_can_be_handled(self, script):
        response = script.do("try: req.read()\nexcept apache.BodyError as e: req.write('%d %s' % (e.status, isinstance(e, OSError)))",
                             method="POST", body=b"x" * 1100000)
        assert response.text == "413 True"

    def test_truncated_is_an_oserror(self, script):
        mark = script.server.log.mark()
        statements = "try:\n    req.%s\nexcept OSError as e:\n    req.log_error('cut: %%s' %% e, apache.APLOG_NOTICE)"
        for call in ("read()", "read(900000)", "readline()", "readlines()"):
            with Connection(script.server.port) as connection:
                connection.send(b"POST /do.py HTTP/1.1\r\nHost: x\r\nX-Do: %s\r\nContent-Length: 1000000\r\n\r\nonly this"
                                % hexed(statements % call).encode())
                connection.half_close()
                try:
                    connection.response()
                except Truncated:
                    pass
        script.server.log.wait_for("cut: ", mark, seconds=20)
        deadline = time.monotonic() + 20
        while sum("cut: " in line for line in script.server.log.since(mark)) < 4:
            assert time.monotonic() < deadline
            time.sleep(0.05)


class TestMethods(PyServer):
    CONF = PyServer.CONF + "ServerName test.example\nUseCanonicalName Off\n"

    def test_ask_httpd(self, script):
        expected = {
            "req.construct_url('/é')": "'http://localhost/é'",
            "req.document_root() == %r" % str(script.server.docroot): "True", "req.auth_name()": "None", "req.auth_type()": "None",
            "req.get_remote_host(apache.REMOTE_NOLOOKUP)": "'127.0.0.1'",
            "req.get_remote_host(apache.REMOTE_NOLOOKUP, 1)": "('127.0.0.1', 1)", "req.is_https()": "0",
            "req.ssl_var_lookup('HTTPS') in (None, 'off', '')": "True", "req.meets_conditions()": "0",
            "req.add_common_vars() or req.subprocess_env['DOCUMENT_ROOT'] == req.document_root()": "True",
            "req.add_cgi_vars() or req.subprocess_env['REQUEST_METHOD']": "'GET'", "req.send_http_header()": "None",
            "req.get_basic_auth_pw(), req.user, req.ap_auth_type": "('sésame', 'aladdin', 'Basic')",
        }
        header = [("Authorization", b"Basic " + __import__("base64").b64encode("aladdin:sésame".encode()))]
        assert dict(zip(expected, script.ask(*expected, headers=header))) == expected
        assert script.ask("req.get_basic_auth_pw()") == "None"

    def test_conditional_request(self, script):
        statements = "req.update_mtime(86400)\nreq.set_last_modified()\nreq.set_etag()\nresult = req.meets_conditions()\nreq.write('x')"
        response = script.do(statements)
        assert (response.status, response.get("Last-Modified")) == (200, "Fri, 02 Jan 1970 00:00:00 GMT")
        again = script.do(statements, headers=[("If-None-Match", response.get("ETag"))])
        assert (again.status, again.body) == (304, b"")
        answers = script.ask("req.update_mtime(float('nan'))", "req.update_mtime(1e300)", "req.update_mtime('x')",
                             "req.update_mtime(2.5) or req.mtime")
        assert [a.split(":")[0] for a in answers] == ["ValueError", "ValueError", "TypeError", "2.5"]

    def test_allow_methods(self, script):
        assert script.ask("req.allow_methods(['GET', 'POST', 'BREW'])", "req.allowed_methods", "req.allowed_xmethods",
                          "req.allow_methods(['PUT'], 1)", "req.allowed_methods", "req.allow_methods('GET')",
                          "req.allow_methods([5])") == [
            "None", "('GET', 'POST', 'BREW')", "('BREW',)", "None", "('PUT',)",
            "TypeError: allow_methods takes a sequence of names", "TypeError: a method must be str or bytes-like, not int"]
        response = script.do("req.allow_methods(['BREW', 'PUT'])\nresult = apache.HTTP_METHOD_NOT_ALLOWED")
        assert response.status == 405 and "PUT" in response.get("Allow")

    def test_internal_redirect(self, script):
        response = script.do("req.token = 'from before'\nreq.internal_redirect('/nothing.txt')")
        assert response.status == 404
        target = "/ask.py?" + hexed("x")
        response = script.do("req.headers_in['X-Ask'] = %r\nreq.token = ['shared']\nreq.internal_redirect(%r)\nreq.after = 1"
                             % (hexed("req.prev.token\nreq.prev.uri\nreq.prev is req.prev\nreq.prev.next.uri\nreq.main\n"
                                      "setattr(req.prev, 'seen', 1)"), target))
        assert json.loads(response.body) == ["['shared']", "'/do.py'", "True", "'/ask.py'", "None", "None"]

    def test_nothing_can_be_written_after_a_redirect(self, script):
        mark = script.server.log.mark()
        response = script.do("req.headers_in['X-Ask'] = %r\nreq.internal_redirect('/ask.py')\ntry: req.write('more')\n"
                             "except RuntimeError as e: req.log_error('said: %%s' %% e, apache.APLOG_NOTICE)" % hexed("req.uri"))
        assert json.loads(response.body) == ["'/ask.py'"]
        script.server.log.wait_for("said: the response is complete", mark, seconds=10)

    @pytest.mark.parametrize("then", ["result = 404", "result = apache.DECLINED", "raise apache.SERVER_RETURN(403)", "pass"])
    def test_a_status_after_a_redirect_is_no_second_response(self, script, then):
        """On a kept connection the client would take it for the answer to its next request."""
        redirect = "req.headers_in['X-Ask'] = %r\nreq.internal_redirect('/ask.py')\n%s" % (hexed("req.uri"), then)
        with Connection(script.server.port) as c:
            for _ in range(2):
                assert json.loads(c.get("/do.py", {"X-Do": hexed(redirect)}).body) == ["'/ask.py'"]

    def test_cleanups_run_after_the_response(self, script):
        mark = script.server.log.mark()
        script.server.log.allow(r"PP017.*boom")
        response = script.do("def note(data): req.log_error('cleaned %s %s' % (data, req.uri), apache.APLOG_NOTICE)\n"
                             "def bad(data): raise ValueError('boom')\n"
                             "req.register_cleanup(note, 'first')\nreq.register_cleanup(bad)\nreq.register_cleanup(note, 'second')\n"
                             "req.write('done')")
        assert response.text == "done"
        script.server.log.wait_for("cleaned first /do.py", mark, seconds=10)
        lines = [line for line in script.server.log.since(mark) if "cleaned" in line or "boom" in line]
        assert ["second" in lines[0], "boom" in lines[1], "first" in lines[2]] == [True, True, True]
        assert script.ask("req.register_cleanup(5)").startswith("ValueError")

    def test_cgi_environment(self, script):
        answers = script.ask("(lambda env: [env[n] for n in ('REQUEST_METHOD', 'SCRIPT_NAME', 'PATH_INFO', 'QUERY_STRING',"
                             "'GATEWAY_INTERFACE', 'HTTP_HOST', 'HTTP_AUTHORIZATION')])(apache.build_cgi_env(req))",
                             target="/ask.py/p%20i?q=1", headers=[("Authorization", "Basic eDp5")])
        assert answers == repr(["GET", "/ask.py", "/p i", "q=1", "Python-CGI/1.1", "localhost", "Basic eDp5"])


class TestFilters(PyServer):
    CONF = PyServer.CONF + load_module("deflate")

    def test_of_httpd_can_be_added(self, script):
        response = script.do("req.content_type = 'text/plain'\nreq.add_output_filter('deflate')\nreq.write('x' * 5000)",
                             headers=[("Accept-Encoding", "gzip")])
        assert (response.get("Content-Encoding"), gzip.decompress(response.body)) == ("gzip", b"x" * 5000)
        body = gzip.compress(b"y" * 5000)
        response = script.do("req.add_input_filter('DEFLATE')\nreq.write(req.read())", method="POST", body=body,
                             headers=[("Content-Encoding", "gzip")])
        assert response.body == b"y" * 5000

    def test_of_no_known_name_are_refused(self, script):
        answers = script.ask("req.add_output_filter('nothing')", "req.add_input_filter(b'x')", "req.add_output_filter(5)")
        assert answers == ["ValueError: httpd has no such filter: 'nothing'", "ValueError: httpd has no such filter: b'x'",
                           "TypeError: the filter's name must be str or bytes-like, not int"]


class TestAfterTheRequest(PyServer):
    CONF = PyServer.CONF + "PythonInterpreters 1\n"
    SIZES = Sizes(processes=1, threads=1, prefork=1)

    LATE = """
class Late:
    def __init__(self, req): self.req = req
    def __del__(self): self.req.late = 1
req.late = Late(req)
del req
"""
    SEARCH = """
import gc
old = [o for o in gc.get_objects() if type(o) is type(req) and o is not req]
for o in old: o.found = 1
o = old = None
del req
"""

    def test_what_is_put_on_a_request_that_has_ended_is_not_on_the_next(self, script):
        for statements in (self.LATE, self.SEARCH, "pass"):
            assert script.do("req.write(repr(sorted(vars(req))))\n" + statements).text == "[]"

    def test_what_is_kept_is_refused(self, script):
        assert script.fetch("/keep.py").body == b"{}"
        for _ in range(3):
            answers = json.loads(script.fetch("/keep.py").body)
            assert answers.pop("same") is False
            assert set(answers.values()) == {"RuntimeError: the request is over: what belongs to it can't be used any more"}
            assert len(answers) == 13


class TestThreads(PyServer):
    CONF = PyServer.CONF + "PythonInterpreters 1\n"

    def test_write_together(self, script):
        response = script.fetch("/threads.py")
        lines = response.text.split("\n")
        assert sorted(set(lines)) == ["", "a" * 79, "b" * 79, "c" * 79, "d" * 79]
        assert [lines.count(letter * 79) for letter in "abcd"] == [2000] * 4

    def test_request_ends_under_a_thread_that_uses_it(self, script):
        if script.server.mpm == "prefork":
            pytest.skip("the thread would have to be asked in its own process")
        assert script.fetch("/threads.py?outlive").status == 200
        assert script.fetch("/threads.py?late").text.startswith("the request is over")


class TestLeaks(PyServer):
    SIZES = Sizes(processes=1, threads=2, prefork=1)

    def test_nothing_grows(self, script):
        script.fetch("/leak.py", timeout=120)
        grown = json.loads(script.fetch("/leak.py", timeout=120).body)
        assert {name: blocks for name, (blocks, _) in grown.items() if blocks > 200} == {}
        assert {name: rss for name, (_, rss) in grown.items() if rss > 2 << 20} == {}

    def test_aborted_uploads_leave_nothing(self, script):
        """P24: what was read before the failure is freed."""
        def upload():
            with Connection(script.server.port) as connection:
                connection.send(b"POST /do.py HTTP/1.1\r\nHost: x\r\nX-Do: %s\r\nContent-Length: 50000000\r\n\r\n"
                                % hexed("try: req.read()\nexcept OSError: pass").encode())
                connection.send(b"x" * 2000000)
                connection.half_close()
                try:
                    connection.response()
                except Truncated:
                    pass
        for _ in range(5):
            upload()
        before = script.server.rss()
        for _ in range(20):
            upload()
        assert script.server.rss() - before < 8 << 20


def test_concurrent_requests_keep_their_own(make_httpd):
    server = make_httpd(modules=("pypool",), scripts="scripts/pyapi", sizes=Sizes(processes=1, threads=8))
    server.start()
    script, wrong = Script(server), []

    def client(number):
        for i in range(50):
            token = "%d-%d" % (number, i)
            answer = script.ask("req.headers_in['X-Token'], req.args", target="/ask.py?" + token, headers=[("X-Token", token)])
            if answer != repr((token, token)):
                wrong.append((token, answer))

    threads = [threading.Thread(target=client, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


class TestOtherRequests(PyServer):
    CONF = PyServer.CONF + load_module("include") + ("AddHandler server-parsed .shtml\n"
                                                     "ErrorDocument 404 /do.py\n<Directory {docroot}>\nOptions +Includes\n</Directory>\n")

    def test_part_of_a_page(self, script):
        """A sub-request writes its part, at its place."""
        response = script.do("req.write('%s %s' % (req.args, req.main.uri))\nreq.main.notes.add('n', 'x')\n"
                             "req.write(repr(req.main.notes['n']))", target="/page.shtml")
        assert response.text == "inner /page.shtml'x'|inner /page.shtml['x', 'x']\n"

    def test_part_of_a_page_that_is_large(self, script):
        response = script.do("req.write('x' * 50000)\nreq.flush()\nreq.write('y' * 100000)", target="/page.shtml")
        assert response.body == b"|".join([b"x" * 50000 + b"y" * 100000] * 2) + b"\n"

    def test_error_document(self, script):
        response = script.do("req.write('%s %s %s' % (req.status, req.prev.uri, req.prev.status))", target="/nothing.txt")
        assert (response.status, response.text) == (404, "404 /nothing.txt 404")
        assert script.do("req.status = 200\nreq.write('fine')", target="/nothing.txt").status == 200
