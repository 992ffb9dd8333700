# SPDX-License-Identifier: Apache-2.0
"""Scripts as parts of a site: virtual hosts, .htaccess files, server-side includes, other modules, paths."""
import gzip

import pytest

from harness.client import Connection, fetch
from harness.httpd import Sizes, load_module

SMALL = Sizes(threads=3, prefork=2)


class TestHosts:
    SIZES = SMALL
    CONF = """
    <VirtualHost *:{port}>
        ServerName one.example
    </VirtualHost>
    <VirtualHost *:{port}>
        ServerName two.example
        <IfModule luapool_module>
            LuaBodyLimit 1000
            LuaErrorDetails On
        </IfModule>
        <IfModule pypool_module>
            PythonBodyLimit 1000
            PythonDebug On
        </IfModule>
    </VirtualHost>
    """

    def test_settings_of_one_host_are_its_own(self, site, server):
        body = b"x" * 2000
        with server.expect_log("cannot read", count=1):
            two = site.post("/body", body, headers={"Host": "two.example"})
        one = site.post("/body", body, headers={"Host": "one.example"})
        assert (one.status, one.body, two.status) == (200, body, 400)
        with server.expect_log(r"runtime\.(lua|py)", count=2):
            texts = [site.get("/runtime", headers={"Host": host}).text for host in ("one.example", "two.example")]
        assert ["runtime" in text for text in texts] == [False, True]

    def test_host_names_arrive(self, site):
        for host in ("one.example", "two.example"):
            assert site.get("/fields?hostname", headers={"Host": host}).text == f"hostname={host}\n"


class TestHostsState:
    SIZES = Sizes(threads=3, prefork=1)
    CONF = """
    <VirtualHost *:{port}>
        ServerName one.example
    </VirtualHost>
    <VirtualHost *:{port}>
        ServerName two.example
    </VirtualHost>
    <IfModule luapool_module>
        LuaScope server 1 1
    </IfModule>
    """

    def test_globals_of_one_host_are_not_seen_in_another(self, site):
        hosts = ["one.example"] * 3 + ["two.example"] * 2 + ["one.example"]
        assert [site.get("/count", headers={"Host": host}).text for host in hosts] == ["1", "2", "3", "1", "2", "4"]


class TestHtaccess:
    SIZES = SMALL
    CONF = """
    <Directory "{docroot}">
        AllowOverride All
    </Directory>
    """

    def test_settings_come_from_it(self, site, server):
        folder = server.docroot / f"ht{site.lang}"
        folder.mkdir(exist_ok=True)
        (folder / ("hello" + site.suffix)).write_text(site.file("/hello").read_text())
        settings = {"lua": "LuaCodeCache forever\nLuaScope thread", "python": "PythonHandler result\nPythonOption a b"}
        (folder / ".htaccess").write_text(f"<Files hello{site.suffix}>\n{settings[site.lang]}\n</Files>\n")
        (folder / "result.py").write_text("def handler(req):\n    req.write('htaccess ' + req.get_options()['a'])\n    return 0\n")
        answers = [site.get(f"/ht{site.lang}/hello").text, site.get("/hello").text]
        assert answers == [{"lua": "Hello World!", "python": "htaccess b"}[site.lang], "Hello World!"]

    def test_what_protects_the_server_is_the_admins(self, site, server):
        folder = server.docroot / f"no{site.lang}"
        folder.mkdir(exist_ok=True)
        (folder / ".htaccess").write_text({"lua": "LuaBodyLimit 1G\n", "python": "PythonBodyLimit 1G\n"}[site.lang])
        (folder / ("hello" + site.suffix)).write_text(site.file("/hello").read_text())
        with server.expect_log(r"\.htaccess: .*BodyLimit not allowed here"):
            assert site.get(f"/no{site.lang}/hello").status == 500

    def test_a_mistake_in_it_is_a_500(self, site, server):
        folder = server.docroot / f"bad{site.lang}"
        folder.mkdir(exist_ok=True)
        (folder / ".htaccess").write_text({"lua": "LuaScope perhaps", "python": "PythonDebug Perhaps"}[site.lang])
        (folder / ("hello" + site.suffix)).write_text(site.file("/hello").read_text())
        with server.expect_log(r"\.htaccess: "):
            assert site.get(f"/bad{site.lang}/hello").status == 500


class TestIncludes:
    SIZES = SMALL
    CONF = load_module("include") + """
    AddType text/html .shtml
    AddOutputFilter INCLUDES .shtml
    <Directory "{docroot}">
        Options +Includes
        <FilesMatch "^include\\.">
            SetOutputFilter INCLUDES
        </FilesMatch>
    </Directory>
    <IfModule luapool_module>
        LuaPoolWaitTimeout 2s
    </IfModule>
    """

    def test_a_page_includes_scripts(self, site, server):
        page = server.docroot / f"page-{site.lang}.shtml"
        target = site.path("/hello")
        page.write_text(f'a <!--#include virtual="{target}" --> b <!--#include virtual="{target}" --> c')
        assert fetch(server.port, "/" + page.name).body == b"a Hello World! b Hello World! c"

    @pytest.mark.parametrize("other", ["/hello.lua", "/hello.py"])
    def test_a_script_includes_a_script(self, site, other):
        assert site.get("/include?" + other).body == b"before Hello World! after"

    def test_a_script_includes_itself(self, site):
        inner = site.path("/include") + "?" + site.path("/hello")
        assert site.get("/include?" + inner).body == b"before before Hello World! after after"

    def test_an_included_script_that_fails_after_writing(self, site, server):
        with server.expect_log(r"partial\.(lua|py)"):
            answer = site.get("/include?" + site.path("/partial"))
        assert answer.status == 200 and answer.text.startswith("before ") and "partial" not in answer.text

    def test_an_included_script_that_fails(self, site, server):
        with server.expect_log(r"runtime\.(lua|py)"):
            answer = site.get("/include?" + site.path("/runtime"))
        assert answer.status == 200 and answer.text.startswith("before ")
        assert "attempt" not in answer.text and "KeyError" not in answer.text and ".lua:" not in answer.text
        assert site.get("/hello").body == b"Hello World!"
        server.log.allow("mod_include|AH0134|unable to include")


class TestIncludesWithOneInterpreter:
    """A script within a script, where another interpreter than the one in use can't be had."""
    SIZES = Sizes(threads=3, prefork=1)
    CONF = load_module("include") + """
    <Directory "{docroot}">
        Options +Includes
        <FilesMatch "^include\\.">
            SetOutputFilter INCLUDES
        </FilesMatch>
    </Directory>
    <IfModule luapool_module>
        LuaScope server 1 1
        LuaPoolWaitTimeout 1s
    </IfModule>
    <IfModule pypool_module>
        PythonInterpreters 1 exclusive
        PythonPoolWaitTimeout 1s
    </IfModule>
    """

    def test_a_script_includes_another(self, site):
        for _ in range(3):
            assert site.get("/include?" + site.path("/hello")).body == b"before Hello World! after"

    def test_a_script_includes_itself(self, site):
        inner = site.path("/include") + "?" + site.path("/hello")
        assert site.get("/include?" + inner).body == b"before before Hello World! after after"


class TestOtherModules:
    SIZES = SMALL
    CONF = load_module("deflate") + load_module("filter") + load_module("headers") + load_module("rewrite") + """
    RewriteEngine On
    RewriteRule "^/nice/(.*)\\.(lua|py)$" "/$1.$2" [PT]
    Header always set X-Added yes
    <LocationMatch "^/large">
        SetOutputFilter DEFLATE
    </LocationMatch>
    """

    def test_compressed_output(self, site):
        answer = site.get("/large?50000", headers={"Accept-Encoding": "gzip"})
        assert answer.get("Content-Encoding") == "gzip"
        assert gzip.decompress(answer.body) == b"0123456789abcdef" * 3125

    def test_rewritten_urls(self, site):
        assert site.get("/nice/hello").body == b"Hello World!"

    def test_added_headers(self, site, server):
        assert site.get("/hello").get("X-Added") == "yes"
        with server.expect_log(r"runtime\.(lua|py)"):
            assert site.get("/runtime").get("X-Added") == "yes"


class TestPaths:
    SIZES = SMALL

    @pytest.mark.parametrize("target", [
        "/../outside", "/%2e%2e/outside", "/sub/../../outside", "/..%2foutside", "/sub/..;/..;/outside", "/%00/outside",
        "//..//outside", "/sub/%2e%2e/%2e%2e/outside", "/\\..\\outside", "/.%252e/outside"])
    def test_do_not_leave_the_document_root(self, site, server, target):
        outside = server.run / ("outside" + site.suffix)
        outside.write_text(site.file("/hello").read_text())
        outside.chmod(0o644)
        (server.docroot / "sub").mkdir(exist_ok=True)
        with Connection(server.port) as c:
            answer = c.get(target + site.suffix)
        assert answer.status in (400, 403, 404), answer.text
        assert b"Hello" not in answer.body and str(server.run) not in answer.text
        server.log.allow("AH10244|AH00127|AH10508|AH00126|AH00026")

    def test_a_link_out_is_followed_only_where_allowed(self, site, server):
        outside = server.run / ("outside" + site.suffix)
        outside.write_text(site.file("/hello").read_text())
        (server.docroot / "nolinks").mkdir(exist_ok=True)
        (server.docroot / "nolinks" / "hello.txt").write_text("x")
        link = server.docroot / "nolinks" / ("hello" + site.suffix)
        if not link.exists():
            link.symlink_to(outside)
        server.conf += f'<Directory "{server.docroot}/nolinks">\nOptions None\n</Directory>\n'
        server.write_configuration()
        server.graceful(drained=True)
        with server.expect_log("AH00037"):
            assert site.get("/nolinks/hello").status == 403
