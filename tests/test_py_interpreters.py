# SPDX-License-Identifier: Apache-2.0
"""Which interpreter serves which request, how many there are, and who waits for whom."""
import os
import re
import shutil
import sys
import threading
import time
from pathlib import Path

import pytest

from harness.client import fetch
from harness.httpd import Sizes, moduledir
from test_py_handlers import location

PATH = "PythonPath \"['{docroot}'] + sys.path\"\n"


def get(server, path, **headers):
    answer = fetch(server.port, path, headers=tuple(headers.items()))
    return answer.text if answer.status == 200 else answer.status


def at_once(server, path, number):
    """The answers to `number` concurrent requests."""
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(get(server, path))) for _ in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == number
    return answers


def status(server, key):
    """A figure of server-status?auto."""
    for line in fetch(server.port, "/server-status?auto").text.splitlines():
        name, _, value = line.partition(": ")
        if name == "Pypool" + key:
            return int(value)
    raise AssertionError(f"no {key} in server-status")


class TestNames:
    MODULES = ("pypool",)
    SCRIPTS = "pyscripts"
    CONF = PATH + "SetHandler mod_python\nPythonHandler who\n" + \
        location("/named", "PythonInterpreter mine") + \
        location("/main", "PythonInterpreter main_interpreter") + \
        location("/gil", "PythonGIL main") + \
        location("/one", "PythonInterpPerDirectory On") + \
        location("/directive", "PythonInterpPerDirective On", "PythonHandler who") + """
        <Directory {docroot}/two>
            PythonInterpPerDirective On
            PythonHandler who
        </Directory>
        """

    @pytest.mark.parametrize("path,inside,name", [
        ("/", "127.0.0.1", "127.0.0.1"), ("/named", "mine", "mine"), ("/directive", "/directive", "/directive"),
        ("/main", "main_interpreter", "main_interpreter"), ("/gil", "main_interpreter", "127.0.0.1"),
        ("/one/x", "{docroot}/one/", "{docroot}/one/"), ("/one/pack/x", "{docroot}/one/pack/", "{docroot}/one/pack/"),
        ("/two/pack/x", "{docroot}/two/", "{docroot}/two/")])
    def test_the_name(self, server, path, inside, name):
        _, _, got_inside, got_name = get(server, path).split()
        assert got_inside == inside.replace("{docroot}", str(server.docroot))
        assert got_name == name.replace("{docroot}", str(server.docroot))


class TestOne:
    """mod_python's contract: one interpreter of an application in a child, threads share it."""
    MODULES = ("pypool",)
    SCRIPTS = "pyscripts"
    SIZES = Sizes(threads=40, prefork=4)
    CONF = PATH + location("/who", "PythonHandler who", "PythonGIL shared")

    def test_concurrent_first_requests_make_one(self, server, mpm):
        made = {tuple(answer.split()[:2]) for answer in at_once(server, "/who", 40)}
        assert len(made) == len({child for child, _ in made})
        if mpm != "prefork":
            assert len(made) == 1
            assert status(server, "Interpreters") == 2


class TestSharedByThreads:
    MODULES = ("pypool",)
    SCRIPTS = "pyscripts"
    SIZES = Sizes(threads=16)
    CONF = PATH + location("/meet", "PythonHandler who::meet", "PythonGIL shared") + \
        location("/several", "PythonHandler who::slow", "PythonInterpreters 3", "PythonGIL shared")

    def test_waiting_requests_do_not_hold_each_other_up(self, server, mpm):
        if mpm == "prefork":
            pytest.skip("a process serves one request at a time")
        assert at_once(server, "/meet", 8) == ["met"] * 8

    def test_more_interpreters_are_made_when_they_are_busy(self, server, mpm):
        if mpm == "prefork":
            pytest.skip("a process serves one request at a time")
        at_once(server, "/several", 12)
        assert len({answer.split()[1] for answer in at_once(server, "/several", 12)}) == 3


class TestRefusal:
    """Extensions that load in the main interpreter only."""
    MODULES = ("pypool",)
    SCRIPTS = "pyscripts"
    CONF = PATH + location("/refuses", "PythonHandler refuses") + \
        location("/lazy", "PythonHandler refuses_later", "PythonInterpreter lazy") + \
        location("/shared", "PythonHandler refuses", "PythonGIL shared") + \
        location("/readline", "PythonHandler with_readline", "PythonInterpreter readline")

    def test_moves_the_application_to_the_main_interpreter(self, server):
        with server.expect_log("PP002: application 127.0.0.1 .*PythonGIL main"):
            assert at_once(server, "/refuses", 8) == ["main_interpreter 127.0.0.1"] * 8
        assert get(server, "/refuses") == "main_interpreter 127.0.0.1"

    def test_the_log_says_so_once(self, server, mpm):
        at_once(server, "/refuses", 8)
        told = [line for line in server.error_log() if "PP002: application 127.0.0.1 " in line]
        assert 1 <= len(told) <= (8 if mpm == "prefork" else 1)

    def test_a_request_that_had_begun_is_not_repeated(self, server, mpm):
        with server.expect_log("PP010: .*ImportError: .*subinterpreters"):
            assert get(server, "/lazy") == 500
        if mpm != "prefork":
            assert get(server, "/lazy") == "main_interpreter lazy"

    def test_what_the_administrator_chose_stays(self, server):
        with server.expect_log("PP010: .*ImportError: .*subinterpreters"):
            assert get(server, "/shared") == 500

    def test_a_real_one(self, server):
        assert get(server, "/readline").endswith("readline")


class TestOwnGIL:
    MODULES = ("pypool",)
    SCRIPTS = "pyscripts"
    SIZES = Sizes(threads=8)
    CONF = PATH + location("/imports", "PythonHandler imports", "PythonGIL own", "PythonInterpreters 3") + \
        location("/denied", "PythonHandler denied", "PythonGIL own") + \
        location("/allowed", "PythonHandler denied", "PythonGIL shared") + \
        location("/compute", "PythonHandler who::compute", "PythonGIL own") + \
        location("/few", "PythonHandler who::compute", "PythonGIL own", "PythonInterpreters 2") + \
        location("/sleep", "PythonHandler who::slow", "PythonGIL own", "PythonInterpreter sleeper") + \
        "<Directory {docroot}/vendor>\nSetHandler mod_python\nPythonHandler uses\nPythonGIL own\n</Directory>\n" \
        "PythonOwnGILDeny colorsys \"wsgiref\"\nPythonOwnGILDeny xml.sax vendored\n"

    def test_much_of_the_standard_library_in_several(self, server):
        """On 3.13 this ends the process unless datetime was in the main interpreter first."""
        for _ in range(3):
            assert set(at_once(server, "/imports", 16)) == {"fine"}
        if sys.version_info < (3, 12):
            server.log.wait_for("PP004: PythonGIL own needs Python 3.12")
        else:
            assert "PypoolGIL: own" in fetch(server.port, "/server-status?auto").text

    def used(self, server, path, enough):
        """The interpreters that answered eight requests at once, time after time until there are enough."""
        used = set()
        for _ in range(80):
            used |= {answer.split()[1] for answer in at_once(server, path, 8)}
            if len(used) >= enough:
                break
        return used

    def test_there_are_more_when_requests_wait_long_for_those_there_are(self, server, mpm):
        """Not when their handlers sleep, which lets the others in; and not more than the administrator wants."""
        if mpm == "prefork":
            pytest.skip("a process serves one request at a time")
        usual, most = (min(8, each * os.cpu_count()) if sys.version_info >= (3, 12) else 1 for each in (2, 8))
        assert usual < len(self.used(server, "/compute", usual + 1)) <= most or usual == most
        assert len(self.used(server, "/few", 3)) <= 2
        assert len({answer.split()[1] for answer in at_once(server, "/sleep", 8)}) <= usual

    def test_modules_that_must_not_be_imported_there(self, server):
        """A package's modules are refused with it, the package of a module is not."""
        refused = ["colorsys", "wsgiref", "wsgiref.util", "xml.sax"]
        if sys.version_info < (3, 12):
            refused = []  # there is no own GIL
        elif sys.version_info < (3, 14):
            refused.append("numpy")
        assert get(server, "/denied").split() == refused
        assert get(server, "/allowed") == ""
        assert get(server, "/vendor/") == ("refused" if refused else "loaded"), "one beside the script"


class TestNamesThatAreDenied:
    MODULES = ("pypool",)
    SCRIPTS = "scripts/pyapi"

    def test_those_of_a_folders_modules_are_looked_through(self, server):
        """A script's own module may have a name that begins as those do."""
        answer = fetch(server.port, "/do.py", headers=[("X-Do", b"""
from mod_python import _setup
refuse = _setup._Refuse(['denied']).find_spec
for name in '_mp_own', '_mp_own_denied', '_mp_0123456789ab_own', '_mp_0123456789ab_denied', 'denied.part':
    try:
        refuse(name)
        req.write(name + ' ')
    except ImportError:
        pass
""".hex())])
        assert answer.text.split() == ["_mp_own", "_mp_own_denied", "_mp_0123456789ab_own"]


class TestLargeOwnGIL:
    """Each interpreter holds 20 MB: two for each core take half of the memory that there may be."""
    MODULES = ("pypool",)
    SCRIPTS = "pyscripts"
    SIZES = Sizes(threads=8)
    USUAL = min(8, 2 * os.cpu_count())
    CONF = PATH + f"PythonMemoryLimit {40 * USUAL}M\n" + location("/compute", "PythonHandler large", "PythonGIL own")

    def test_long_waits_do_not_take_the_memory_that_requests_need(self, server, mpm):
        answers = [answer for _ in range(40) for answer in at_once(server, "/compute", 8)]
        assert 500 not in answers
        assert len(set(answers)) <= self.USUAL or mpm == "prefork"


class TestExclusive:
    MODULES = ("pypool",)
    SCRIPTS = "pyscripts"
    SIZES = Sizes(threads=8)
    CONF = PATH + location("/alone", "PythonHandler who::alone", "PythonInterpreters 3 exclusive") + \
        location("/auto", "PythonHandler who::alone", "PythonInterpreters auto exclusive") + \
        location("/wait", "PythonHandler who::slow", "PythonInterpreters 1 exclusive", "PythonPoolWaitTimeout 100ms") + \
        location("/main", "PythonHandler who::alone", "PythonGIL main", "PythonInterpreters 1 exclusive") + \
        location("/inner", "PythonHandler who::inner", "PythonInterpreters 1 exclusive") + \
        location("/inside", "PythonHandler who", "PythonInterpreters 1 exclusive")

    @pytest.mark.parametrize("path,most", [("/alone", 3), ("/auto", 8), ("/main", 1)])
    def test_one_request_at_a_time_in_an_interpreter(self, server, mpm, path, most):
        answers = at_once(server, path, 8)
        assert 500 not in answers
        if mpm != "prefork":
            assert 1 <= len({answer.split()[1] for answer in answers}) <= most

    def test_a_wait_has_an_end(self, server, mpm):
        if mpm == "prefork":
            pytest.skip("a process serves one request at a time")
        get(server, "/wait")
        with server.expect_log("PP015: "):
            answers = at_once(server, "/wait", 6)
        assert 503 in answers
        assert [answer for answer in answers if answer != 503]
        assert status(server, "WaitTimeouts") >= 1

    def test_a_request_within_a_request_stays_in_its_interpreter(self, server):
        assert get(server, "/inner").split()[2] == "127.0.0.1"


class TestExclusiveInMain:
    """All applications in the main interpreter share it, so with one that wants it for itself all take turns."""
    MODULES = ("pypool",)
    SCRIPTS = "pyscripts"
    SIZES = Sizes(threads=8)
    CONF = PATH + location("/alone", "PythonHandler who::alone", "PythonGIL main", "PythonInterpreters 1 exclusive") + \
        location("/guest", "PythonHandler who::alone", "PythonGIL main", "PythonInterpreter guest")

    def test_others_take_turns_with_it(self, server):
        get(server, "/alone")  # from then on
        answers = []
        threads = [threading.Thread(target=lambda path=path: answers.append(get(server, path)))
                   for path in ["/alone", "/guest"] * 4]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [answer.split()[2] for answer in answers] == ["main_interpreter"] * 8


class TestExclusiveMovedToMain(TestExclusiveInMain):
    CONF = PATH + location("/alone", "PythonHandler refuses::alone", "PythonInterpreters 1 exclusive") + \
        location("/guest", "PythonHandler who::alone", "PythonGIL main", "PythonInterpreter guest")

    def test_others_take_turns_with_it(self, server, mpm):
        if mpm == "prefork":
            pytest.skip("a process serves one request at a time")
        with server.expect_log("PP002: "):
            get(server, "/alone")
        super().test_others_take_turns_with_it(server)


class TestFailureToGrow:
    CONF = "LoadModule pypool_module {run}/own/mod_pypool.so\n" + PATH + \
        location("/slow", "PythonHandler who::slow", "PythonInterpreters 2 exclusive") + \
        location("/hold", "PythonHandler who::hold", "PythonInterpreters 2 exclusive", "PythonPoolWaitTimeout 20s") + \
        location("/one", "PythonHandler who", "PythonInterpreter one") + \
        location("/two", "PythonHandler who", "PythonInterpreter two") + "LogLevel pypool:info\n"

    @pytest.fixture
    def lone(self, make_httpd, mpm):
        """With one interpreter, and without the package that others need."""
        if mpm == "prefork":
            pytest.skip("a process serves one request at a time")
        server = make_httpd(modules=(), scripts="pyscripts", conf=self.CONF)
        shutil.copytree(Path(moduledir()) / "pypool", server.run / "own" / "pypool")
        shutil.copy(Path(moduledir()) / "mod_pypool.so", server.run / "own")
        server.start()
        get(server, "/slow")
        (server.run / "own" / "pypool").rename(server.run / "own" / "away")
        return server

    def bring_back(self, server):
        server.log.wait_for("PP101: the package mod_python is looked for")
        (server.run / "own" / "away").rename(server.run / "own" / "pypool")

    def test_who_waits_meanwhile_makes_one_when_that_is_possible(self, lone):
        """The only interpreter is in use all the time."""
        held, waited = [], []
        free = lone.docroot / "free"
        first = threading.Thread(target=lambda: held.append(get(lone, f"/hold?{free}")))
        second = threading.Thread(target=lambda: waited.append(get(lone, "/hold?/")))
        first.start()
        while status(lone, "Busy") < 1:
            assert first.is_alive()
        with lone.expect_log("PP101: an interpreter could not be made ready"):
            second.start()
            self.bring_back(lone)
        second.join()
        assert not held
        free.touch()
        first.join()
        assert held[0].split()[1] != waited[0].split()[1]

    def test_an_interpreter_that_could_not_be_made_is_tried_again_later(self, lone):
        with lone.expect_log("PP101: an interpreter could not be made ready"):
            assert len({answer.split()[1] for answer in at_once(lone, "/slow", 3)}) == 1
        self.bring_back(lone)
        end = time.monotonic() + 30
        while len({answer.split()[1] for answer in at_once(lone, "/slow", 3)}) == 1:
            assert time.monotonic() < end

    def test_the_numbers_of_those_that_could_not_be_made_are_used_again(self, lone):
        """Otherwise two applications that fail side by side use them all up."""
        lone.log.allow("PP101: |PP016: ")
        threads = [threading.Thread(target=lambda path=path: [get(lone, path) for _ in range(10)]) for path in ("/one", "/two")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.bring_back(lone)
        assert (get(lone, "/one").split()[2], get(lone, "/two").split()[2]) == ("one", "two")
        made = [re.search(r"PP001: interpreter (\d+) ", line) for line in lone.error_log()]
        assert [int(found[1]) for found in made if found] == [1, 2, 3]
