# SPDX-License-Identifier: Apache-2.0
"""The same script, unchanged, under the stock module and under ours."""
import pytest

from harness.client import Truncated, fetch
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


def answers_of_stock(httpd, lang):
    """As answers(); skips the test where the stock module can't serve its own scripts."""
    httpd.log.allow("python_init: |AH|mod_python")
    try:
        return answers(httpd, lang)
    except (OSError, Truncated):
        crash = httpd.log.wait_for("exit signal")  # fails the test when it is something else
        pytest.skip(f"the stock module crashes here: {crash[0]}")


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
        stock_answers = answers_of_stock(peer, lang)
        assert answers(ours, lang) == stock_answers
        assert stock_answers[0][3] == b"Hello World!"
