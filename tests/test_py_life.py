# SPDX-License-Identifier: Apache-2.0
"""How Python starts and ends in a child, and what scripts can't do to the server."""
import shutil
import time
import venv
from pathlib import Path

import pytest

from harness import process
from harness.client import Connection, fetch
from harness.httpd import Sizes, has_module, load_module, moduledir
from test_py_handlers import location
from test_py_interpreters import PATH

NAMES = ("handler", "fork", "signals", "thread", "thread_logs", "at_exit", "at_exit_hangs", "busy", "later", "seen_later", "lends", "adds")
CONF = PATH + "".join(location(f"/{name}", f"PythonHandler hazards::{name}") +
                      location(f"/main/{name}", f"PythonHandler hazards::{name}", "PythonGIL main") for name in NAMES)


def get(server, path):
    answer = fetch(server.port, path)
    return answer.text if answer.status == 200 else answer.status


class TestHazards:
    MODULES = ("pypool",)
    SCRIPTS = "pyscripts"
    CONF = CONF
    SIZES = Sizes(threads=4)

    def test_fork_is_refused_where_it_would_crash(self, server):
        assert get(server, "/fork").startswith("refused: ")

    def test_fork_in_the_main_interpreter_is_refused_beside_others(self, server, mpm):
        assert get(server, "/handler") == "2026-11-30"
        if mpm != "prefork":
            assert get(server, "/main/fork").startswith("refused: os.fork() would crash")

    def test_signals_stay_httpds(self, server):
        with server.expect_log("PP110: .*signal.signal"):
            assert get(server, "/signals") == "True"

    def test_a_request_that_is_over_can_not_be_used(self, server, mpm):
        if mpm == "prefork":
            pytest.skip("the next request may meet another process")
        get(server, "/later")
        end = time.monotonic() + 5
        while not (seen := get(server, "/seen_later")):
            assert time.monotonic() < end
            time.sleep(0.05)
        assert "request" in seen


    def test_cleanups_come_after_what_another_handler_sends(self, server):
        answer = fetch(server.port, "/lends")
        assert (answer.status, answer.text) == (200, "lent")
        end = time.monotonic() + 5
        while Path(answer.get("x-path")).exists():
            assert time.monotonic() < end
            time.sleep(0.01)

    def test_what_another_handler_answers_counts(self, server):
        answer = fetch(server.port, "/lends?absent")
        assert answer.status == 404
        assert get(server, "/handler") == "2026-11-30"


    def test_a_cleanup_adds_nothing_to_an_answer(self, server):
        with server.expect_log("PP017: .*the response is complete", 2):
            assert get(server, "/adds") == 410


class TestRequestsWithinRequests:
    """They have pools and a connection in common, so one thread at a time uses any of them."""
    MODULES = ("pypool",)
    SCRIPTS = "pyscripts"
    SIZES = Sizes(threads=4)
    CONF = load_module("include") + PATH + \
        "".join(location(f"/{name}", f"PythonHandler within::{name}", "Options +Includes")
                for name in ("outer", "asks", "kept", "asks_while_one_writes", "includes", "includes_at_last", "adds",
                             "again", "plain", "cleans", "in_thread")) + "ErrorDocument 404 /cleans\n"

    def test_threads_of_the_inner_one_may_use_both(self, server):
        assert get(server, "/outer?/asks") == "/outer /asks"

    def test_what_is_kept_of_the_inner_one_is_over(self, server):
        for _ in range(3):
            assert get(server, "/outer?/kept") == "over"

    @pytest.mark.parametrize("how", ["write", "flush", "sendfile", "internal_redirect", "add_output_filter"])
    def test_a_filters_output_is_not_touched_by_what_the_filter_calls(self, server, how):
        """mod_include does not stand being called again in the middle of its work."""
        children = server.children()
        assert get(server, f"/includes?{how}") == "(nothing can be added to a response while a filter works on it )"
        assert server.children() == children

    def test_cleanups_of_one_that_no_script_serves_run(self, server):
        mark = server.log.mark()
        assert fetch(server.port, "/absent").text == "cleans"
        server.log.wait_for("within: cleaned", mark)

    def test_a_thread_may_redirect(self, server):
        assert get(server, "/in_thread") == "/in_thread /asks"

    def test_what_another_serves_is_not_redirected(self, server):
        children = server.children()
        assert get(server, "/includes_at_last?internal_redirect") == \
            "(only the request that a script serves can be redirected )"
        assert server.children() == children

    @pytest.mark.parametrize("path", ["/again", "/outer?/again"])
    def test_there_is_no_second_response(self, server, path):
        with server.expect_log("RuntimeError: the response is complete"), Connection(server.port) as c:
            assert c.get(path).text == "plain"
            assert c.at_end()

    def test_while_one_sends_nobody_touches_the_other(self, server):
        """The client takes nothing until it is known."""
        with Connection(server.port) as c:
            c.send(b"GET /outer?/asks_while_one_writes HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            server.log.wait_for("within: 0 have asked", seconds=20)
            assert len(c.response().body) == 1 << 25
        server.log.wait_for("within: all have asked", seconds=20)


class TestAlone:
    MODULES = ("pypool",)
    SCRIPTS = "pyscripts"
    CONF = CONF

    def test_fork_in_the_main_interpreter_works_without_others(self, server):
        assert get(server, "/main/fork") == "forked"


class TestEnd:
    def server(self, make_httpd, **options):
        return make_httpd(modules=("pypool",), scripts="pyscripts", conf=CONF, sizes=Sizes(threads=4), **options)

    def test_exit_functions_run(self, make_httpd):
        server = self.server(make_httpd)
        folder = server.run / "ended"
        folder.mkdir()
        folder.chmod(0o777)
        server.env["INTERPOOL_TEST_FOLDER"] = str(folder)
        server.start()
        assert get(server, "/at_exit") == "registered"
        assert get(server, "/main/at_exit") == "registered"
        server.stop()
        assert list(folder.iterdir())

    def test_exit_functions_that_hang_are_cut_off(self, make_httpd):
        server = self.server(make_httpd).start()
        assert get(server, "/at_exit_hangs") == "registered"
        with server.expect_log("PP104: "):
            server.stop()

    def test_threads_left_over_do_not_hold_the_child(self, make_httpd):
        server = self.server(make_httpd).start()
        for path in ("/thread", "/thread", "/main/thread", "/thread_logs", "/main/thread_logs"):
            assert get(server, path) == "left"
        server.stop()  # a child that has to be killed would be an error in the log

    def test_a_graceful_restart_ends_them_too(self, make_httpd):
        server = self.server(make_httpd).start()
        old = set(server.children())
        assert get(server, "/thread") == "left"
        server.graceful()
        end = time.monotonic() + 15
        while old & set(server.children()):
            assert time.monotonic() < end
            time.sleep(0.1)
        assert get(server, "/handler") == "2026-11-30"

    @pytest.mark.parametrize("path", ["/busy", "/main/busy"])
    def test_a_stop_in_the_middle_of_python_code_is_clean(self, make_httpd, mpm, path):
        if mpm != "prefork":
            pytest.skip("a thread is waited for until the parent's patience ends")
        server = self.server(make_httpd).start()
        connections = [Connection(server.port) for _ in range(2)]
        for connection in connections:
            connection.send(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        for connection in connections:
            assert connection.response_head().status == 200  # and its body never ends
        server.stop()
        for connection in connections:
            connection.close()


class TestStart:
    def test_the_stock_module_beside_ours_stops_the_start(self, make_httpd):
        if not has_module("python"):
            pytest.skip("mod_python is not installed")
        server = make_httpd(modules=("pypool",), scripts=None, conf=load_module("python"))
        from harness.httpd import ServerError
        with pytest.raises(ServerError, match='PP105: .*remove the line "LoadModule python_module'):
            server.start()

    def test_python_does_not_run_where_nothing_asks_for_it(self, make_httpd):
        server = make_httpd(modules=("pypool",), scripts=None).start()
        assert fetch(server.port, "/server-status?auto").status == 200
        assert not [line for line in server.error_log() if "PP003" in line]

    def test_htaccess_starts_it_at_the_first_request(self, make_httpd):
        server = make_httpd(modules=("pypool",), scripts=None,
                            conf="<Directory {docroot}>\nAllowOverride FileInfo\n</Directory>\n")
        (server.docroot / ".htaccess").write_text("SetHandler mod_python\nPythonHandler page\nPythonOption a b\n")
        (server.docroot / "page.py").write_text(
            "from mod_python import apache\ndef handler(req):\n    req.write('here ' + req.get_options()['a'])\n"
            "    return apache.OK\n")
        for path in server.docroot.iterdir():
            path.chmod(0o644)
        server.start()
        assert not [line for line in server.error_log() if "PP003" in line]
        assert {get(server, "/x") for _ in range(10)} == {"here b"}

    def test_without_its_package_requests_get_an_error(self, make_httpd):
        server = make_httpd(modules=(), scripts=None, conf="LoadModule pypool_module {run}/alone/mod_pypool.so\n" +
                            location("/", "PythonHandler page"))
        alone = server.run / "alone"
        alone.mkdir()
        shutil.copy(Path(moduledir()) / "mod_pypool.so", alone)
        server.start()
        for pattern in ("PP101: .*No module named 'mod_python", "PP101: .* is looked for in ", "PP100: "):
            server.log.wait_for(pattern, count=len(server.children()))
        for _ in range(3):
            with server.expect_log("PP016: "):
                assert get(server, "/") == 500

    def test_a_virtual_environment_is_used(self, make_httpd):
        server = make_httpd(modules=("pypool",), scripts=None, conf="PythonHome {run}/venv\n" + location(
            "/", "PythonPath \"['{docroot}'] + sys.path\"", "PythonHandler page"))
        venv.create(server.run / "venv", symlinks=True)
        (library,) = (server.run / "venv").glob("lib/python3*/site-packages")
        (library / "only_there.py").write_text("X = 'from the environment'\n")
        (server.docroot / "page.py").write_text(
            "import sys\nimport only_there\nfrom mod_python import apache\ndef handler(req):\n"
            "    req.write(only_there.X + ' ' + sys.prefix)\n    return apache.OK\n")
        server.start()
        assert get(server, "/") == f"from the environment {server.run}/venv"

    def test_nothing_of_python_is_in_the_parent(self, make_httpd):
        server = make_httpd(modules=("pypool",), scripts="pyscripts", conf=CONF).start()
        assert get(server, "/handler") == "2026-11-30"
        assert process.threads(server.pid) == 1
        maps = open(f"/proc/{server.pid}/maps", encoding="utf-8").read()
        assert "libpython" in maps  # pinned, so that no restart loads it anew
        assert "lib-dynload" not in maps
