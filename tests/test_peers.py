# SPDX-License-Identifier: Apache-2.0
"""The same script, unchanged, under the stock module and under ours."""
import pytest

from harness.client import fetch
from harness.httpd import Sizes, has_module, load_module

STOCK = {"lua": "lua", "python": "python"}
OURS = {"lua": "luapool", "python": "pypool"}
SUFFIX = {"lua": "lua", "python": "py"}
TARGETS = ("/hello", "/fields?method&uri&args&hostname&useragent_ip", "/large?1000", "/result?404", "/status?404")


def answers(httpd, lang):
    """What a server says to TARGETS, without what changes from run to run and how the body is framed."""
    found = []
    for target in TARGETS:
        path, mark, args = target.partition("?")
        answer = fetch(httpd.port, f"{path}.{SUFFIX[lang]}{mark}{args}", headers={"Host": "example.org"})
        headers = [(name, value) for name, value in answer.headers
                   if name not in ("Date", "Server", "Content-Length", "Transfer-Encoding")]
        found.append((target, answer.status, sorted(headers), answer.body))
    return found


class TestSameAsStock:
    def test_answers_are_the_same(self, make_httpd, lang):
        stock = STOCK[lang]
        if not has_module(stock):
            pytest.skip(f"mod_{stock}.so is not installed")
        handlers = f"<IfModule {stock}_module>\nAddHandler {'lua-script .lua' if lang == 'lua' else 'mod_python .py'}\n</IfModule>\n"
        if lang == "python":
            names = {target.partition("?")[0].strip("/") for target in TARGETS}
            handlers += '<Directory "{docroot}">\n' + "".join(
                f"<Files {name}.py>\nPythonHandler {name}\n</Files>\n" for name in sorted(names)) + "</Directory>\n"
        peer = make_httpd(modules=(), conf=load_module(stock) + handlers, sizes=Sizes(threads=2)).start()
        ours = make_httpd(modules=(OURS[lang],), sizes=Sizes(threads=2)).start()
        assert answers(ours, lang) == answers(peer, lang)
        assert answers(ours, lang)[0][3] == b"Hello World!"
        peer.log.allow("python_init: |AH|mod_python")
