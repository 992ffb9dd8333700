# SPDX-License-Identifier: Apache-2.0
"""Scripts that are edited, broken, repaired and removed while the server runs."""
import os
import time

from conftest import python_conf
from harness.httpd import Sizes

TEXT = {"lua": 'function handle(r) r:puts("{}") return apache2.OK end\n',
        "python": "def handler(req):\n    req.write('{}')\n    return 0\n"}
BROKEN = {"lua": "function handle(r) this is broken\n", "python": "def handler(req) this is broken\n"}


def wait_for(site, condition):
    """Requests the script until the answer is right, for at most 10 s, and then a few times more."""
    deadline = time.monotonic() + 10
    while not condition(site.get("/edited")):
        assert time.monotonic() < deadline, "the edit was not seen"
        time.sleep(0.05)


class TestReload:
    SIZES = Sizes(threads=3)
    CONF = python_conf("{docroot}", "edited")

    def replace(self, site, text):
        """As editors do it: another file takes the name."""
        new = site.file("/edited").with_suffix(".new")
        new.write_text(text)
        os.replace(new, site.file("/edited"))

    def test_edits_are_seen(self, site, server):
        for round_ in range(4):
            self.replace(site, TEXT[site.lang].format(round_))
            wait_for(site, lambda answer: answer.text == str(round_))
            assert {site.get("/edited").text for _ in range(20)} == {str(round_)}

    def test_edits_in_place_of_the_same_size_are_seen(self, site, server):
        for round_ in range(4):
            site.file("/edited").write_text(TEXT[site.lang].format(round_))
            wait_for(site, lambda answer: answer.text == str(round_))

    def test_a_broken_edit_fails_until_it_is_repaired(self, site, server):
        self.replace(site, TEXT[site.lang].format("good"))
        wait_for(site, lambda answer: answer.text == "good")
        mark = server.log.mark()
        self.replace(site, BROKEN[site.lang])
        wait_for(site, lambda answer: answer.status == 500)
        self.replace(site, BROKEN[site.lang] + "\n")
        assert [site.get("/edited").status for _ in range(5)] == [500] * 5
        self.replace(site, TEXT[site.lang].format("repaired"))
        wait_for(site, lambda answer: answer.text == "repaired")
        assert {site.get("/edited").text for _ in range(10)} == {"repaired"}
        server.log.wait_for(r"(LP|PP)\d+: .*edited", mark)

    def test_a_removed_script_is_not_found(self, server, site_of):
        """In Lua; in Python the handler is a module, and the file behind the URL need not exist."""
        site = site_of("lua")
        self.replace(site, TEXT[site.lang].format("there"))
        wait_for(site, lambda answer: answer.text == "there")
        site.file("/edited").unlink()
        assert site.get("/edited").status == 404
        self.replace(site, TEXT[site.lang].format("back"))
        wait_for(site, lambda answer: answer.text == "back")


class TestForever:
    SIZES = Sizes(threads=2)
    CONF = python_conf("{docroot}", "edited") + """
    <IfModule luapool_module>
        LuaCodeCache forever
    </IfModule>
    <IfModule pypool_module>
        PythonAutoReload Off
    </IfModule>
    """

    def test_edits_wait_for_a_restart(self, site, server):
        site.file("/edited").write_text(TEXT[site.lang].format("old"))
        children = server.children()
        while len({site.get("/pid").text for _ in range(20)}) < len(children):
            pass
        assert site.get("/edited").text == "old"
        site.file("/edited").write_text(TEXT[site.lang].format("new"))
        if len(children) == 1:
            assert {site.get("/edited").text for _ in range(10)} == {"old"}
        server.graceful()
        wait_for(site, lambda answer: answer.text == "new")
