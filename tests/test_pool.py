# SPDX-License-Identifier: Apache-2.0
"""Requests at the same time: they run side by side, wait for each other when the pool is small, and no longer than allowed."""
import threading
import time

import pytest

from harness.httpd import Sizes


def together(*calls):
    """Runs the calls at the same time; their results in order."""
    results = [None] * len(calls)

    def run(i):
        results[i] = calls[i]()

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


@pytest.fixture
def meeting(server):
    """A fresh folder that all children may write to, for the script `wait`."""
    folder = server.docroot / "wait"
    folder.mkdir(exist_ok=True)
    folder.chmod(0o777)
    for file in folder.iterdir():
        file.unlink()
    return folder


class TestConcurrency:
    SIZES = Sizes(processes=1, threads=4)

    def test_requests_run_side_by_side(self, site, meeting):
        """Each of the four waits for the next one, in a circle: all must be in their scripts at once."""
        calls = [lambda i=i: site.get(f"/wait?m{i}&m{(i + 1) % 4}", timeout=40).text for i in range(4)]
        assert together(*calls) == ["met m1", "met m2", "met m3", "met m0"]

    def test_languages_run_side_by_side(self, server, meeting, site_of):
        calls = [lambda: site_of("lua").get("/wait?l&p", timeout=40).text,
                 lambda: site_of("python").get("/wait?p&l", timeout=40).text]
        assert together(*calls) == ["met p", "met l"]


class TestSmallPool:
    SIZES = Sizes(processes=1, threads=4, prefork=1)
    CONF = """
    <IfModule luapool_module>
        LuaPoolMax 1
        LuaPoolWaitTimeout 300ms
    </IfModule>
    <IfModule pypool_module>
        PythonInterpreters 1 exclusive
        PythonPoolWaitTimeout 300ms
    </IfModule>
    """

    @pytest.fixture(autouse=True)
    def threads_only(self, mpm):
        if mpm == "prefork":
            pytest.skip("a prefork child never has two requests at a time")

    def busy(self, site, meeting):
        """Starts a request that keeps the only interpreter; returns (thread, answers) when it is in its script."""
        answers = []
        thread = threading.Thread(target=lambda: answers.append(site.get("/wait?in&out", timeout=40)))
        thread.start()
        deadline = time.monotonic() + 20
        while not (meeting / "in").exists():
            assert time.monotonic() < deadline
            time.sleep(0.005)
        return thread, answers

    def test_a_wait_that_is_too_long_is_a_503(self, site, server, meeting):
        thread, answers = self.busy(site, meeting)
        with server.expect_log(r"(LP007|PP015): "):
            answer = site.get("/hello")
        assert answer.status == 503 and "hello" not in answer.text
        (meeting / "out").touch()
        thread.join()
        assert answers[0].text == "met out"
        assert site.get("/hello").body == b"Hello World!"

    def test_a_short_wait_is_served(self, site, meeting):
        thread, answers = self.busy(site, meeting)
        waiting = threading.Thread(target=lambda: answers.append(site.get("/hello")))
        waiting.start()
        (meeting / "out").touch()
        waiting.join()
        thread.join()
        assert sorted(answer.text for answer in answers) == ["Hello World!", "met out"]

    def test_an_aborted_wait_loses_no_interpreter(self, site, server, meeting):
        for _ in range(5):
            with site.connect() as c:
                c.send(b"GET " + site.path("/hello").encode() + b" HTTP/1.1\r\nHost: a\r\n\r\n")
                c.reset()
        assert site.get("/hello").body == b"Hello World!"
