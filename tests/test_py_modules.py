# SPDX-License-Identifier: Apache-2.0
"""Where handlers' modules are found, how they are kept apart, and how edits are seen."""
import os
import threading
import time

from harness.client import fetch
from harness.httpd import Sizes

SAY = "from mod_python import apache\ndef handler(req):\n    req.write({})\n    return apache.OK\n"


def get(server, path):
    answer = fetch(server.port, path)
    return answer.text if answer.status == 200 else answer.status


def write(server, name, text):
    """An edit as an editor does it: the file changes in one step."""
    path = server.docroot / name
    path.parent.mkdir(exist_ok=True)
    path.parent.chmod(0o755)
    fresh = path.with_suffix(".new")
    fresh.write_text(text)
    fresh.chmod(0o644)
    os.replace(fresh, path)


def until(wanted, ask, seconds=10):
    """Asks until the answer is `wanted`."""
    end = time.monotonic() + seconds
    while (answer := ask()) != wanted:
        assert time.monotonic() < end, f"{answer!r} instead of {wanted!r}"
        time.sleep(0.05)


class TestDirectories:
    MODULES = ("pypool",)
    SCRIPTS = "pyscripts"
    CONF = "".join(f"<Directory {{docroot}}/{name}>\nPythonHandler same\n</Directory>\n" for name in ("one", "two"))

    def test_equal_names_do_not_collide(self, server):
        for _ in range(3):
            one, two = get(server, "/one/same.py"), get(server, "/two/same.py")
            assert one.startswith("one helper of one part of one with helper of one ")
            assert two.startswith("two helper of two part of two with helper of two ")

    def test_no_bytecode_is_written(self, server):
        assert "one" in get(server, "/one/same.py")
        assert not list(server.docroot.rglob("__pycache__"))


class TestReload:
    MODULES = ("pypool",)
    SCRIPTS = None
    SIZES = Sizes(threads=4)
    CONF = """
        <Directory {docroot}/auto>
            PythonHandler page
        </Directory>
        <Directory {docroot}/off>
            PythonHandler page
            PythonAutoReload Off
        </Directory>
        <Location /path>
            SetHandler mod_python
            PythonPath "['{docroot}/lib'] + sys.path"
            PythonHandler fromlib
        </Location>
        <Directory {docroot}/broken>
            PythonHandler page
        </Directory>
    """

    def test_edits_are_seen_by_all(self, server, mpm):
        for value in (1, 2, 3):
            write(server, "auto/page.py", SAY.format(f"'v{value}'"))
            until(f"v{value}", lambda: get(server, "/auto/page.py"))
            time.sleep(1.1)  # each interpreter looks at most once a second
            assert {get(server, "/auto/page.py") for _ in range(20)} == {f"v{value}"}

    def test_an_edit_of_the_requested_file_is_seen_at_once(self, server):
        for value in range(5):
            write(server, "auto/page.py", SAY.format(f"'n{value}'"))
            assert {get(server, "/auto/page.py") for _ in range(5)} == {f"n{value}"}

    def test_a_broken_edit_stays_broken_until_it_is_repaired(self, server):
        write(server, "auto/page.py", SAY.format("'fine'"))
        assert get(server, "/auto/page.py") == "fine"
        for text in ("def handler(", "import no_such_module_1", "x ="):
            write(server, "auto/page.py", text + "\n")
            with server.expect_log("PP010: ", 5):
                assert [get(server, "/auto/page.py") for _ in range(5)] == [500] * 5
        write(server, "auto/page.py", SAY.format("'repaired'"))
        assert {get(server, "/auto/page.py") for _ in range(5)} == {"repaired"}

    def test_edits_of_a_module_it_imports_are_seen(self, server):
        write(server, "auto/other.py", "X = 'a'\n")
        write(server, "auto/page.py", "import other\n" + SAY.format("other.X"))
        until("a", lambda: get(server, "/auto/page.py"))
        write(server, "auto/other.py", "X = 'b'\n")
        until("b", lambda: get(server, "/auto/page.py"))

    def test_edits_of_a_module_found_on_the_path_are_seen(self, server):
        write(server, "lib/fromlib.py", SAY.format("'l1'"))
        until("l1", lambda: get(server, "/path"))
        write(server, "lib/fromlib.py", SAY.format("'l2'"))
        until("l2", lambda: get(server, "/path"))

    def test_off_means_once(self, server, mpm):
        write(server, "off/page.py", SAY.format("'o1'"))
        if mpm == "prefork":  # each child loads it for itself: all of them first
            until({"o1"}, lambda: {get(server, "/off/page.py") for _ in range(40)})
        assert get(server, "/off/page.py") == "o1"
        write(server, "off/page.py", SAY.format("'o2'"))
        time.sleep(1.1)
        assert get(server, "/off/page.py") == "o1"

    def test_a_syntax_error_names_its_place_and_is_repaired_by_an_edit(self, server):
        write(server, "broken/page.py", "x = 1\ndef handler(req)\n    pass\n")
        with server.expect_log(r"PP010: .*/broken/page.py:2: SyntaxError"):
            assert get(server, "/broken/page.py") == 500
        write(server, "broken/page.py", SAY.format("'fine'"))
        until("fine", lambda: get(server, "/broken/page.py"))


class TestPathOfEachFolder:
    """The handler is named once, the PythonPath in each folder's .htaccess file, whose text goes with its request."""
    MODULES = ("pypool",)
    SCRIPTS = None
    SIZES = Sizes(processes=1, prefork=1)
    CONF = """
        <Directory {docroot}>
            AllowOverride All
            AddHandler mod_python .x
            PythonHandler place
        </Directory>
    """

    def test_is_evaluated_when_it_is_met_first(self, server):
        write(server, "still.txt", "still")
        write(server, "place.py", "import sys\n" + SAY.format("sys.path[0]"))
        for i in range(40):
            write(server, f"{i}/page.x", "")
            write(server, f"{i}/.htaccess", f"PythonPath \"['/folder{i}'] + sys.path[-3:]\"\n")
        for i in range(40):
            assert get(server, f"/{i}/page.x") == f"/folder{i}"
            for _ in range(i % 8):
                assert get(server, "/still.txt") == "still"


class TestAutoReloadHereAndNotThere:
    """One PythonHandler line for both, so what it stands for is kept in one place."""
    MODULES = ("pypool",)
    SCRIPTS = None
    SIZES = Sizes(processes=1, prefork=1)
    CONF = """
        PythonHandler both
        PythonPath "['{docroot}/lib'] + sys.path"
        PythonInterpreters 1
        <Location /off>
            SetHandler mod_python
            PythonAutoReload Off
        </Location>
        <Location /on>
            SetHandler mod_python
        </Location>
    """

    def test_an_edit_is_seen_where_it_is_on(self, server):
        write(server, "lib/both.py", SAY.format("'first'"))
        assert get(server, "/off") == get(server, "/on") == "first"
        write(server, "lib/both.py", SAY.format("'second'"))
        until("second", lambda: get(server, "/on"))


class TestReplacedMeanwhile:
    """Looking whether files have changed lets other threads run, and one of them may find the handler broken."""
    MODULES = ("pypool",)
    SCRIPTS = None
    SIZES = Sizes(threads=4)
    CONF = """
        PythonInterpreters 1
        PythonHandler page
        <Location /good>
            SetHandler mod_python
            PythonPath "['{docroot}/lib'] + sys.path"
        </Location>
        <Location /bad>
            SetHandler mod_python
            PythonPath "1/0"
        </Location>
    """

    def test_the_request_is_served(self, server):
        write(server, "lib/page.py", "import os, time\nif not hasattr(os, 'quick_stat'):\n    os.quick_stat = os.stat\n"
              "def slow(*args, **options):\n    time.sleep(0.2)\n    return os.quick_stat(*args, **options)\n"
              "os.stat = slow\n" + SAY.format("'fine'"))
        assert get(server, "/good") == "fine"
        children = server.children()
        server.log.allow("PP010: .*ZeroDivisionError")
        for _ in range(3):
            time.sleep(1.1)  # after a second it is looked
            answers = []
            thread = threading.Thread(target=lambda: answers.append(get(server, "/good")))
            thread.start()
            while thread.is_alive():
                assert get(server, "/bad") == 500
            thread.join()
            assert answers == ["fine"]
        assert server.children() == children


class TestFirstRequests:
    MODULES = ("pypool",)
    SCRIPTS = None
    SIZES = Sizes(threads=12)
    CONF = "<Directory {docroot}/slow>\nPythonHandler slow\n</Directory>\n"

    def test_all_wait_for_the_one_import(self, server):
        write(server, "slow/slow.py", "import time\ntime.sleep(1)\n" + SAY.format("'ready'"))
        answers = []
        threads = [threading.Thread(target=lambda: answers.append(get(server, "/slow/slow.py"))) for _ in range(10)]
        for thread in threads:
            thread.start()
            time.sleep(0.05)
        for thread in threads:
            thread.join()
        assert answers == ["ready"] * 10


class TestCrosswise:
    """One request loads a module of the folder, which imports one from the path; meanwhile another request imports
    that one, which asks for another module of the folder."""
    MODULES = ("pypool",)
    SCRIPTS = None
    SIZES = Sizes(threads=4)
    CONF = """
        PythonInterpreters 1
        PythonPath "['{docroot}/lib'] + sys.path"
        PythonTimeLimit 20s
        <Directory {docroot}/folder>
            PythonHandler page
        </Directory>
        <Location /lib>
            SetHandler mod_python
            PythonHandler common
        </Location>
        <Directory {docroot}/left>
            PythonHandler page
        </Directory>
        <Directory {docroot}/right>
            PythonHandler page
        </Directory>
    """
    ASKS = "from mod_python import apache\nother = apache.import_module({!r}, path=[{!r}])\n"

    def both(self, server, first, second):
        answers = {}
        threads = [threading.Thread(target=lambda path=path: answers.update({path: get(server, path)}))
                   for path in (first, second)]
        for thread in threads:
            thread.start()
            time.sleep(0.3)
        for thread in threads:
            thread.join()
        return answers[first], answers[second]

    def test_one_from_the_path(self, server, mpm):
        write(server, "folder/page.py", "import common\n" + SAY.format("common.other.X"))
        write(server, "folder/other.py", "X = 'other'\n")
        write(server, "lib/common.py", "import time\ntime.sleep(1)\n" +
              self.ASKS.format("other", f"{server.docroot}/folder") + SAY.format("other.X"))
        assert self.both(server, "/lib", "/folder/page.py") == ("other", "other")

    def test_two_folders(self, server, mpm):
        for here, there in ("left", "right"), ("right", "left"):
            write(server, f"{here}/page.py", "import time\ntime.sleep(0.6)\n" +
                  self.ASKS.format("part", f"{server.docroot}/{there}") + SAY.format("other.X"))
            write(server, f"{here}/part.py", f"X = 'of {here}'\n")
        assert self.both(server, "/left/page.py", "/right/page.py") == ("of right", "of left")


class TestSomethingElseInItsPlace:
    """What a module puts into sys.modules instead of itself need not look like a module."""
    MODULES = ("pypool",)
    SCRIPTS = None
    CONF = "<Directory {docroot}/own>\nPythonHandler page\n</Directory>\n"

    def test_is_imported(self, server):
        write(server, "own/settings.py", "import sys\nclass Settings:\n    __slots__ = ('color',)\n"
              "sys.modules[__name__] = it = Settings()\nit.color = 'red'\n")
        write(server, "own/page.py", "import settings\n" +
              SAY.format("settings.color + __import__('settings').color"))
        assert get(server, "/own/page.py") == "redred"
        time.sleep(1.1)
        write(server, "own/settings.py", "import sys\nclass Settings:\n    color = 'blue'\n"
              "sys.modules[__name__] = Settings()\n")
        until("blueblue", lambda: get(server, "/own/page.py"))
