# SPDX-License-Identifier: Apache-2.0
"""Scripts that fail: the client gets a plain 500 and learns nothing, the log says all, others go on."""
import os
import re
import shutil

import pytest

from conftest import python_conf
from harness.client import Truncated

HTTPDS_500 = "The server encountered an internal error or\nmisconfiguration"
LUA_ODD = ("none", "table", "code", "bool", "number", "func", "thread", "tostring", "evil", "liar", "named", "nul", "bytes",
           "lines", "long", "empty")
PYTHON_ODD = ("plain", "none", "empty", "evil", "liar", "deep", "base", "exit", "interrupt", "generator", "stop", "memory",
              "chain", "nul", "bytes", "surrogate", "lines", "long", "code")
ODD = [("lua", name) for name in LUA_ODD] + [("python", name) for name in PYTHON_ODD]


def assert_plain(answer, site):
    """httpd's own page, and no word of the script, its path or its error."""
    assert answer.status == 500
    assert HTTPDS_500 in answer.text
    assert answer.get("Content-Type").startswith("text/html")
    told = (answer.head + answer.body).decode("latin-1")
    for word in ("secret", "words", str(site.server.docroot), site.suffix, "Traceback", "traceback", "stack", "[string"):
        assert word not in told, f"the client was told {word!r}"


def failed_line(server, mark, name):
    """The one log line about a failure of script `name`."""
    lines = server.log.wait_for(r":error\].*(LP|PP)\d+: ", mark)
    assert len(lines) == 1, lines
    assert name in lines[0], lines
    return lines[0]


class TestFailures:
    CONF = python_conf("{docroot}", "emptyfile", "unreadable")

    @pytest.mark.parametrize("name, place", [("syntax", r"syntax\.(lua|py):3"), ("runtime", r"runtime\.(lua|py):[78]"),
                                             ("partial", r"partial\.(lua|py):(9|10)\b")])
    def test_answer_is_plain_and_log_is_full(self, site, server, name, place):
        mark = server.log.mark()
        assert_plain(site.get("/" + name), site)
        line = failed_line(server, mark, name + site.suffix)
        assert re.search(place, line), line

    def test_traceback_is_in_the_same_line(self, site, server):
        mark = server.log.mark()
        assert_plain(site.get("/runtime"), site)
        line = failed_line(server, mark, "runtime" + site.suffix)
        assert "inner" in line and {"lua": "attempt to index", "python": "KeyError"}[site.lang] in line

    @pytest.mark.parametrize("lang, name", ODD)
    def test_odd_values(self, server, lang, name, site_of):
        site = site_of(lang)
        mark = server.log.mark()
        assert_plain(site.get("/odd?" + name), site)
        line = failed_line(server, mark, "odd" + site.suffix)
        assert len(line) < 10000
        assert not line.startswith("[fake]")
        assert not any(entry.startswith("[fake]") for entry in server.log.since(mark))
        assert site.get("/hello").body == b"Hello World!"

    def test_nothing_is_left_of_a_response_that_was_begun(self, site, server):
        with server.expect_log(r"partial\.(lua|py)"):
            answer = site.get("/partial")
        assert_plain(answer, site)
        assert answer.get("X-Partial") is None and "partial" not in answer.text

    def test_a_response_on_its_way_is_cut_off(self, site, server):
        with server.expect_log(r"partial\.(lua|py)"), site.connect() as c:
            with pytest.raises(Truncated) as cut:
                c.get(site.path("/partial?flush"))
                c.response()
        assert cut.value.partial is not None, "the whole answer came, as if nothing had happened"
        assert (cut.value.partial.status, cut.value.partial.body) == (200, b'{"partial":')

    def test_a_script_without_the_function(self, site, server):
        with server.expect_log(r"(LP|PP)\d+: .*nohandler\.(lua|py)"):
            assert_plain(site.get("/nohandler"), site)

    def test_a_failure_ends_the_connection_in_order(self, site, server):
        """httpd closes after a 500; the answer before it and the 500 itself are whole."""
        with server.expect_log(r"runtime\.(lua|py)"), site.connect() as c:
            assert c.get(site.path("/hello")).body == b"Hello World!"
            assert_plain(c.get(site.path("/runtime")), site)
            assert c.at_end()

    def test_an_empty_file(self, site, server):
        site.file("/emptyfile").write_text("")
        with server.expect_log(r"(LP|PP)\d+: .*emptyfile"):
            assert_plain(site.get("/emptyfile"), site)

    def test_head_of_a_failing_script(self, site, server):
        with server.expect_log(r"runtime\.(lua|py)"), site.connect() as c:
            answer = c.request("HEAD", site.path("/runtime"))
            assert (answer.status, answer.body) == (500, b"")
            assert c.at_end()

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root's children may be denied a file of root")
    def test_an_unreadable_script_is_refused(self, site, server):
        file = site.file("/hello").with_name("unreadable" + site.suffix)
        shutil.copy(site.file("/hello"), file)
        file.chmod(0o600)
        mark = server.log.mark()
        answer = site.get("/unreadable")
        assert answer.status in (403, 404, 500)
        assert str(server.docroot) not in answer.text
        server.log.wait_for("unreadable", mark)


class TestDetails:
    CONF = """
    <IfModule luapool_module>
        LuaErrorDetails On
    </IfModule>
    <IfModule pypool_module>
        PythonDebug On
    </IfModule>
    """

    def test_are_shown_escaped(self, site, server):
        with server.expect_log(r"runtime\.(lua|py)"):
            answer = site.get("/runtime")
        assert answer.status == 500
        assert "runtime" + site.suffix in answer.text
        assert "&lt;b&gt;secret &amp; words" in answer.text and "<b>" not in answer.text

    @pytest.mark.parametrize("lang, name", ODD)
    def test_of_odd_values(self, server, lang, name, site_of):
        with server.expect_log(r"odd\.(lua|py)"):
            answer = site_of(lang).get("/odd?" + name)
        assert answer.status == 500 and "odd" in answer.text
        assert b"\0" not in answer.body
