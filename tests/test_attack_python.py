# SPDX-License-Identifier: Apache-2.0
"""Handlers that mean harm, or don't care: ways around the limits, and out of the request, that were open once."""
import pytest

from harness.client import fetch
from harness.httpd import Sizes

HEAD = "import threading, time\nfrom mod_python import apache\n"

# What hangs a thread or kills the child when nothing limits it; what the log then says, and the answer.
HOSTILE = {
    "str_endless": ("class E(Exception):\n    def __str__(self):\n        while True: pass\ndef handler(req): raise E", "PP010: .*E: ", 500),
    "str_one_hog": ("class E(Exception):\n    def __str__(self): return 'x' * (1 << 30)\ndef handler(req): raise E", "PP010: .*E: ", 500),
    "str_many_hogs": ("class E(Exception):\n    def __str__(self):\n        hog = []\n        while True: hog.append('x' * 100000)\n"
                      "def handler(req): raise E", "PP010: .*E: ", 500),
    "long_text": ("def handler(req): raise Exception('x' * 20000000)", "PP010: .*Exception: xxx", 500),
    "odd_syntax_error": ("def handler(req):\n    e = SyntaxError('odd \\udcff')\n    e.filename, e.lineno = '\\udcff', 'x'\n    raise e",
                         "PP010: .*SyntaxError: odd", 500),
    "del_endless": ("class D:\n    def __del__(self):\n        while True: pass\ndef handler(req):\n    req.d = D()\n    return apache.OK",
                    None, 200),
    "del_after_failure": ("class D:\n    def __del__(self):\n        while True: pass\ndef handler(req):\n    req.d = D()\n    return None",
                          "PP013", 500),
    "alarm": ("import signal\ndef handler(req):\n    signal.signal(signal.SIGALRM, lambda *_: None)\n    before = signal.alarm(1)\n"
              "    signal.setitimer(signal.ITIMER_REAL, .01)\n    time.sleep(.2)\n    return apache.OK if before == 0 else 404",
              "PP110: signal.setitimer", 200),
    "cleanup_for_ever": ("def again(req): req.register_cleanup(again, req)\ndef handler(req):\n    again(req)\n    return apache.OK", "PP017", 200),
}

# Threads that go on when the handler has returned.
WRITERS = HEAD + """
ended = []
def go_on(req):
    try:
        while True:
            req.write('x')
            FLUSH
    except RuntimeError:
        ended.append(1)

def handler(req):
    if req.args:
        until = time.time() + 10
        while len(ended) < 4 and time.time() < until:
            time.sleep(.01)
        req.write(str(len(ended)))
        return apache.OK
    for _ in range(4):
        threading.Thread(target=go_on, args=(req,)).start()
    time.sleep(.05)
    LAST
    return apache.OK
"""


class TestHostile:
    MODULES = ("pypool",)
    SCRIPTS = None
    SIZES = Sizes(threads=4, prefork=2)
    CONF = ('PythonTimeLimit 300ms\nPythonMemoryLimit 100M\nAddHandler mod_python .py\n<Directory "{docroot}">\n'
            + "".join(f"<Files {name}.py>\nPythonHandler {name}\n</Files>\n" for name in [*HOSTILE, "ok"]) + "</Directory>\n")

    @pytest.mark.parametrize("deed", HOSTILE)
    def test_only_its_own_request_fails(self, server, deed):
        code, logged, status = HOSTILE[deed]
        (server.docroot / f"{deed}.py").write_text(HEAD + code + "\n")
        (server.docroot / "ok.py").write_text(HEAD + "def handler(req):\n    req.write('fine')\n    return apache.OK\n")
        children = server.children()
        mark = server.log.mark()
        assert fetch(server.port, f"/{deed}.py").status == status
        if logged:
            server.log.wait_for(logged, mark)
        server.log.allow("TimeLimitExceeded")
        assert fetch(server.port, "/ok.py").text == "fine"
        assert server.children() == children
        assert all(len(line) < 9000 for line in server.log.since(mark))


class TestThreadsLeftOver:
    MODULES = ("pypool",)
    SCRIPTS = None
    SIZES = Sizes(threads=4, prefork=1)
    NAMES = ("flushing", "writing", "cleaning")
    CONF = ("PythonInterpreters 1\nAddHandler mod_python .py\n<Directory \"{docroot}\">\n"
            + "".join(f"<Files {name}.py>\nPythonHandler {name}\n</Files>\n" for name in NAMES) + "</Directory>\n")

    @pytest.mark.parametrize("name, flush, last", [
        ("flushing", "req.flush()", "pass"), ("writing", "pass", "pass"),
        ("cleaning", "pass", "req.register_cleanup(lambda _: (len(req.notes), time.sleep(.05)))")])
    def test_the_request_ends_all_the_same(self, server, name, flush, last):
        (server.docroot / f"{name}.py").write_text(WRITERS.replace("FLUSH", flush).replace("LAST", last))
        assert set(fetch(server.port, f"/{name}.py").body) == set(b"x")
        assert fetch(server.port, f"/{name}.py?ended").text == "4"
