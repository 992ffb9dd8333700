# SPDX-License-Identifier: Apache-2.0
"""Scripts that never end, take all the memory, or end the process: only their own request suffers."""
import threading

import pytest

from harness import process
from harness.client import Truncated, request_bytes
from harness.httpd import MEMORY_FACTOR, Sizes
from harness.process import wait_until

LUA_LOOPS = ("plain", "catch", "coroutine")
PYTHON_LOOPS = ("plain", "catch")


class TestTime:
    SIZES = Sizes(threads=4)
    CONF = """
    <IfModule luapool_module>
        LuaTimeLimit 500ms
    </IfModule>
    <IfModule pypool_module>
        PythonTimeLimit 500ms
    </IfModule>
    """

    @pytest.mark.parametrize("lang, how", [("lua", how) for how in LUA_LOOPS] + [("python", how) for how in PYTHON_LOOPS])
    def test_an_endless_script_is_stopped(self, server, lang, how, site_of):
        site = site_of(lang)
        with server.expect_log(rf"(LP|PP)\d+: .*loop\{site.suffix}"):
            answer = site.get("/loop?" + how)
        assert answer.status == 503
        assert site.suffix not in answer.text
        assert site.get("/hello").body == b"Hello World!"

    def test_others_are_served_meanwhile(self, site, server):
        answers = []
        with server.expect_log(r"loop\.(lua|py)", count=2):
            loops = [threading.Thread(target=lambda: answers.append(site.get("/loop").status)) for _ in range(2)]
            for loop in loops:
                loop.start()
            for _ in range(50):
                assert site.get("/hello").body == b"Hello World!"
            for loop in loops:
                loop.join()
        assert answers == [503, 503]

    def test_a_client_that_sends_its_body_in_drops_ends_with_it(self, site, server):
        with server.expect_log(r"(LP006|PP011): "), site.connect() as c:
            c.send(request_bytes("POST", site.path("/body"), {"Content-Length": "100000"}))
            c.drip()
            assert c.response().status == 503


class TestMemory:
    SIZES = Sizes(threads=3)
    CONF = """
    <IfModule luapool_module>
        LuaMemoryLimit 8M
    </IfModule>
    <IfModule pypool_module>
        PythonMemoryLimit 128M
    </IfModule>
    """

    @pytest.mark.parametrize("how", ["table", "string"])
    def test_a_hog_is_stopped(self, site, server, how):
        for _ in range(2):
            with server.expect_log(r"(LP|PP)\d+: .*"):
                answer = site.get("/hog?" + how)
            assert answer.status == 500
            assert site.get("/hello").body == b"Hello World!"
        assert max(map(process.rss, server.children())) < MEMORY_FACTOR * 300 << 20

    def test_a_script_may_handle_it(self, site):
        answer = site.get("/hog?catch")
        assert answer.status == 200 and answer.text.startswith("false ") and "memory" in answer.text


class TestEnd:
    SIZES = Sizes(threads=2)

    def test_ending_the_process_is_an_error(self, site, server):
        children = server.children()
        with server.expect_log(r"(LP|PP)\d+: .*leave"):
            assert site.get("/leave").status == 500
        assert site.get("/hello").body == b"Hello World!"
        assert server.children() == children

    def test_ending_it_with_force_costs_the_child_only(self, server, site_of):
        """os._exit can't be stopped: what else that child was serving is lost, and httpd makes another."""
        site = site_of("python")
        with pytest.raises(Truncated):
            site.get("/leave?hard")
        wait_until(lambda: answers(site))


def answers(site):
    """Whether the script is served."""
    try:
        return site.get("/hello").body == b"Hello World!"
    except (OSError, Truncated):
        return False
