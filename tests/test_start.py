# SPDX-License-Identifier: Apache-2.0
"""Starting: what is loaded together, what is refused, what server-status shows."""
import re

import pytest

from harness.client import fetch
from harness.httpd import ServerError, Sizes, has_module, load_module

STOCK = {"lua": ("lua", "luapool"), "python": ("python", "pypool")}
PREFIX = {"lua": "Luapool", "python": "Pypool"}


class TestBeside:
    @pytest.mark.parametrize("stock_first", [True, False], ids=["before", "after"])
    def test_the_stock_module_stops_the_start(self, make_httpd, lang, stock_first):
        stock, ours = STOCK[lang]
        if not has_module(stock):
            pytest.skip(f"mod_{stock}.so is not installed")
        httpd = make_httpd(modules=() if stock_first else (ours,), scripts=None, sizes=Sizes(threads=2),
                           conf=load_module(stock) + (f'Include "${{INTERPOOL_CONF}}/{ours}.conf"\n' if stock_first else ""))
        status, output = httpd.check_configuration()
        with pytest.raises(ServerError) as refusal:
            httpd.start()
        told = output + str(refusal.value)
        assert re.search(rf"mod_{stock}\b", told) and re.search(rf"mod_{ours}\b|{ours}_module", told), told
        assert "LoadModule" in told, told

    @pytest.mark.parametrize("modules", [("luapool",), ("pypool",), ("luapool", "pypool"), ("pypool", "luapool")],
                             ids="-".join)
    def test_alone_and_together(self, make_httpd, modules):
        httpd = make_httpd(modules=modules, sizes=Sizes(threads=2)).start()
        served = {"luapool": "/hello.lua", "pypool": "/hello.py"}
        for name, target in served.items():
            answer = fetch(httpd.port, target)
            assert (answer.body == b"Hello World!") is (name in modules)


class TestStatus:
    SIZES = Sizes(threads=3)

    def values(self, server, prefix):
        """{key: value} of the module's lines in /server-status?auto."""
        text = fetch(server.port, "/server-status?auto").text
        return dict(re.findall(rf"^({prefix}\w+): (.*)$", text, re.M))

    def test_auto_has_one_line_a_value(self, site, server):
        assert site.get("/hello").status == 200
        values = self.values(server, PREFIX[site.lang])
        assert len(values) >= 4, values
        assert all(re.fullmatch(r"[\w. :-]+", value) for value in values.values()), values

    def test_page_has_a_table(self, site, server):
        answer = fetch(server.port, "/server-status")
        assert answer.status == 200
        assert re.search(STOCK[site.lang][1], answer.text, re.I) and answer.text.count("<table") >= 2

    def test_children_that_have_gone_are_not_shown(self, site, server):
        site.get("/hello")
        server.graceful()
        site.get("/hello")
        page = fetch(server.port, "/server-status").text
        assert page.count("</table>") == page.count("<table")
