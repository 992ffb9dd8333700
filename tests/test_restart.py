# SPDX-License-Identifier: Apache-2.0
"""Graceful restarts: no request is lost, and the parent stays as it is however many there are. A stop ends what runs."""
import threading

import pytest

from conftest import LANGUAGES
from harness import process
from harness.client import Connection, fetch
from harness.httpd import SANITIZED, Sizes
from harness.load import drive, exchange

HELLOS = [exchange("GET", f"/hello.{suffix}", 200, b"Hello World!") for suffix in ("lua", "py")]
RESTARTS = 200


class TestUnderLoad:
    SIZES = Sizes(processes=1, threads=4)

    def test_no_request_is_lost(self, server):
        done = threading.Event()
        problems = []

        def restart():
            try:
                for _ in range(8):
                    server.graceful()
            except (AssertionError, OSError) as e:
                problems.append(e)
            done.set()

        restarting = threading.Thread(target=restart)
        restarting.start()
        right = 0
        while not done.is_set() or right < 1000:
            outcome = drive(server.port, HELLOS, 200, connections=8, keep=False)
            assert (dict(outcome.wrong), outcome.reconnects) == ({}, 0)
            right += outcome.right
        restarting.join()
        assert not problems

    def test_kept_connections_end_between_answers(self, server):
        done = threading.Event()

        def restart():
            for _ in range(5):
                server.graceful()
            done.set()

        restarting = threading.Thread(target=restart)
        restarting.start()
        while not done.is_set():
            outcome = drive(server.port, HELLOS, 400, connections=4)
            assert dict(outcome.wrong) == {}
        restarting.join()


class TestParent:
    SIZES = Sizes(processes=1, threads=1)
    CONF = "LogLevel warn luapool:warn pypool:warn"

    def test_is_flat_over_200_restarts(self, server):
        for _ in range(10):
            server.graceful()
        rss, descriptors = process.rss(server.pid), process.descriptors(server.pid)
        for _ in range(RESTARTS):
            server.graceful()
        assert fetch(server.port, "/hello.lua").body == fetch(server.port, "/hello.py").body == b"Hello World!"
        assert len(process.descriptors(server.pid)) == len(descriptors)
        if SANITIZED:
            return  # it keeps a record of each module that was ever loaded
        assert process.rss(server.pid) - rss < 1 << 20, f"{rss} bytes, {process.rss(server.pid)} after {RESTARTS} restarts"

    def test_changed_configuration_is_used(self, server):
        server.conf += "\n<Location /hello.lua>\nSetHandler default-handler\n</Location>\n"
        server.write_configuration()
        server.graceful(drained=True)
        assert b"function handle" in fetch(server.port, "/hello.lua").body
        assert fetch(server.port, "/hello.py").body == b"Hello World!"


class TestLibpython:
    def test_stays_when_the_module_is_loaded_anew(self, make_httpd, tmp_path):
        """Each time it was loaded it would take a thread key from the process, which has 1,024 (Python 3.13 and later)."""
        trace = tmp_path / "linker"
        server = make_httpd(modules=("pypool",), env={"LD_DEBUG": "files", "LD_DEBUG_OUTPUT": str(trace)})
        server.start()
        server.graceful()
        server.graceful()
        lines = trace.with_suffix(f".{server.pid}").read_text(errors="replace").splitlines()
        unloaded = [line for line in lines if line.split(":")[0].strip() == str(server.pid) and "calling fini: " in line]
        assert any("mod_pypool" in line for line in unloaded)
        assert not any("libpython" in line for line in unloaded)


class TestStop:
    def test_takes_memory_from_a_script(self, make_httpd, mpm, lang):
        """prefork ends a child in a signal's handler, here in the middle of malloc() or free(), which have a lock."""
        if mpm != "prefork":
            pytest.skip("a thread is waited for until the parent's patience ends")
        server = make_httpd(sizes=Sizes(prefork=8), env={"GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"})
        for _ in range(3):
            server.start()
            connections = [Connection(server.port) for _ in range(8)]
            for connection in connections:
                connection.send(f"GET /allocate.{LANGUAGES[lang]} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
            for connection in connections:
                assert connection.response_head().status == 200
            server.stop()  # a child that has to be killed would be an error in the log
            for connection in connections:
                connection.close()
