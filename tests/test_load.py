# SPDX-License-Identifier: Apache-2.0
"""Many requests of many kinds at once: all answers right, nothing grows."""
import os
import socket

from harness import process
from harness.client import fetch
from harness.httpd import MEMORY_FACTOR, Sizes
from harness.load import drive, exchange
from harness.process import wait_until

MB = 1 << 20
UPLOAD = os.urandom(20000)


def mixed_exchanges():
    """A bit of everything, both languages in turn."""
    kinds = []
    for suffix in ("lua", "py"):
        kinds += [
            exchange("GET", f"/hello.{suffix}", 200, b"Hello World!"),
            exchange("GET", f"/hello.{suffix}", 200, b"Hello World!"),
            exchange("GET", f"/headers.{suffix}", 200, headers={"X-In": "\udcff x"}),
            exchange("GET", f"/fields.{suffix}?method&protocol", 200, b"method=GET\nprotocol=HTTP/1.1\n"),
            exchange("POST", f"/body.{suffix}", 200, UPLOAD, upload=UPLOAD),
            exchange("POST", f"/body.{suffix}", 200, UPLOAD, upload=UPLOAD, chunked=True),
            exchange("GET", f"/binary.{suffix}", 200, bytes(range(256)) * 2),
            exchange("GET", f"/large.{suffix}?30000", 200, b"0123456789abcdef" * 1875),
            exchange("GET", f"/status.{suffix}?404", 404, b"my own 404"),
            exchange("GET", f"/result.{suffix}?403", 403),
            exchange("GET", f"/runtime.{suffix}", 500),
            exchange("GET", f"/syntax.{suffix}", 500),
            exchange("GET", f"/nowhere.{suffix}", 404),
        ]
    return kinds[::2] + kinds[1::2]


class TestLoad:
    SIZES = Sizes(processes=1, threads=8, prefork=4)
    CONF = "PythonInterpreters 2\n"  # with own GILs there would be more in the course of the load, which is no leak
    ALLOW = (r"(LP001|PP010): .*runtime\.(lua|py)", r"(LP002|PP010): .*syntax\.(lua|py)")

    def test_20000_mixed_requests(self, server):
        exchanges = mixed_exchanges()
        warm = drive(server.port, exchanges, 4000)
        assert (warm.right, dict(warm.wrong)) == (4000, {})
        before = {pid: (process.rss(pid), len(process.descriptors(pid))) for pid in server.children()}
        outcome = drive(server.port, exchanges, 20000)
        assert (outcome.right, dict(outcome.wrong)) == (20000, {})
        assert server.children() == sorted(before), "a child was replaced"
        for pid, (rss, descriptors) in before.items():
            assert process.rss(pid) - rss < MEMORY_FACTOR * 4 * MB, f"child {pid} grew from {rss} to {process.rss(pid)} bytes"
            wait_until(lambda: len(process.descriptors(pid)) <= descriptors)

    def test_new_connections(self, server):
        outcome = drive(server.port, mixed_exchanges(), 2000, keep=False)
        assert (outcome.right, dict(outcome.wrong), outcome.reconnects) == (2000, {}, 0)

    def test_garbage_does_no_harm(self, server):
        """Nonsense, half requests and resets between good requests."""
        nonsense = [os.urandom(300), b"\r\n" * 50, b"GET", b"GET /hello.lua HTTP/9.9\r\n\r\n", b"POST /body.py HTTP/1.1\r\n"
                    b"Host: a\r\nContent-Length: -1\r\n\r\n", b"GET /hello.py HTTP/1.1\r\nHost: a\r\nX: " + b"v" * 20000,
                    b"POST /body.lua HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\nabc",
                    b"GET /../../etc/passwd HTTP/1.1\r\nHost: a\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 9]
        for i in range(300):
            with socket.create_connection(("127.0.0.1", server.port)) as s:
                s.sendall(nonsense[i % len(nonsense)])
                if i % 3 == 0:
                    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        outcome = drive(server.port, mixed_exchanges(), 500)
        assert (outcome.right, dict(outcome.wrong)) == (500, {})
        server.log.allow(r"AH\d+: |cannot read")
        assert fetch(server.port, "/hello.lua").body == fetch(server.port, "/hello.py").body == b"Hello World!"
