# SPDX-License-Identifier: Apache-2.0
"""PythonTimeLimit and PythonMemoryLimit: who goes beyond them fails, and nobody else."""
import os
import sys
import threading

import pytest

from harness import process
from harness.client import fetch
from test_py_handlers import location
from test_py_interpreters import PATH, status

NAMES = ("fine", "spin", "endless_error", "endless_cleanup", "stubborn", "nap", "hog", "hog_small", "hog_once", "collect")


def get(server, path):
    answer = fetch(server.port, path)
    return answer.text if answer.status == 200 else answer.status


class TestTime:
    MODULES = ("pypool",)
    SCRIPTS = "pyscripts"
    CONF = PATH + "PythonTimeLimit 300ms\n" + \
        "".join(location(f"/{name}", f"PythonHandler limits::{name}") for name in NAMES) + \
        location("/endless", "PythonHandler limits::nap", "PythonTimeLimit 0") + \
        location("/strict", "PythonHandler limits::nap", "PythonTimeLimit 50ms")

    def test_an_endless_handler_is_stopped(self, server):
        with server.expect_log(r"PP011: .*/limits.py:\d+: TimeLimitExceeded"):
            assert get(server, "/spin") == 503
        assert get(server, "/fine") == "fine"

    def test_it_is_stopped_as_often_as_it_takes(self, server):
        """What it does after that is its own affair: it returns."""
        assert get(server, "/stubborn") == ""

    def test_others_are_not_disturbed(self, server):
        answers = []
        with server.expect_log("PP011: ", 3):
            threads = [threading.Thread(target=lambda: answers.append(get(server, "/spin"))) for _ in range(3)]
            for thread in threads:
                thread.start()
            assert {get(server, "/fine") for _ in range(30)} == {"fine"}
            for thread in threads:
                thread.join()
        assert answers == [503] * 3

    def test_the_limit_of_the_place_counts(self, server):
        assert get(server, "/nap") == "fine"
        assert get(server, "/endless") == "fine"
        with server.expect_log("PP011: "):
            assert get(server, "/strict") == 503

    def test_an_error_that_takes_for_ever_to_describe_is_described_without(self, server):
        with server.expect_log(r"PP010: .*/limits.py:\d+: Endless: <exception str\(\) failed>"):
            assert get(server, "/endless_error") == 500

    def test_cleanups_are_stopped_too(self, server):
        with server.expect_log("PP017: .*TimeLimitExceeded"):
            assert get(server, "/endless_cleanup") == "fine"

    def test_nothing_is_left_over_for_the_next_request(self, server):
        with server.expect_log("PP011: ", 3):
            for _ in range(3):
                assert get(server, "/spin") == 503
                assert {get(server, "/fine") for _ in range(10)} == {"fine"}
        assert status(server, "Overtime") >= 3


class TestTimeBesideOwnGIL:
    """An interpreter's limits hold whatever another one, with another GIL, is in."""
    MODULES = ("pypool",)
    SCRIPTS = "pyscripts"
    CONF = PATH + "PythonGIL own\nPythonTimeLimit 300ms\n" + \
        "".join(location(f"/{name}", f"PythonHandler limits::{name}", f"PythonInterpreter {name}")
                for name in ("backtrack", "spin"))

    def test_a_call_into_c_code_holds_up_no_other_limit(self, server):
        if sys.version_info < (3, 12):
            pytest.skip("there is no own GIL")
        ended = []
        with server.expect_log("PP011: ", 2):
            thread = threading.Thread(target=lambda: (get(server, "/backtrack"), ended.append("/backtrack")))
            thread.start()
            server.log.wait_for("backtracking")
            ended.append(get(server, "/spin"))
            thread.join()
        assert ended == [503, "/backtrack"]


class TestTimeOfLoading:
    """The modules of a directory are loaded one after the other."""
    MODULES = ("pypool",)
    SCRIPTS = "pyscripts"
    CONF = "PythonGIL shared\nPythonTimeLimit 300ms\n"

    def test_waiting_for_a_module_that_is_long_in_loading_has_an_end(self, server, mpm):
        if mpm == "prefork":
            pytest.skip("a process serves one request at a time")
        ended = []
        with server.expect_log(r"PP011: .*TimeLimitExceeded", 2):
            thread = threading.Thread(target=lambda: (get(server, "/imports/slow.py"), ended.append("slow")))
            thread.start()
            server.log.wait_for(" loading")
            ended.append(get(server, "/imports/fast.py"))
            thread.join()
        assert ended == [503, "slow"]
        assert get(server, "/imports/fast.py") == ""


class TestMemory:
    MODULES = ("pypool",)
    SCRIPTS = "pyscripts"
    CONF = PATH + "PythonMemoryLimit 80M\n" + \
        "".join(location(f"/{name}", f"PythonHandler limits::{name}") for name in NAMES)

    @pytest.mark.parametrize("name", ["hog", "hog_small", "hog_once"])
    def test_a_hog_gets_a_memory_error(self, server, name):
        for _ in range(2):
            with server.expect_log(r"PP012: .*/limits.py:\d+: MemoryError"):
                assert get(server, f"/{name}") == 500
            assert get(server, "/collect") == "fine"
        if "INTERPOOL_PRELOAD" not in os.environ:  # a sanitizer keeps what is freed
            assert max(map(process.rss, server.children())) < 150 << 20
