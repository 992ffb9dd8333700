# SPDX-License-Identifier: Apache-2.0
"""Many requests over many connections from one thread, each answer compared with what it must be. For correctness under
load; what is fast is measured elsewhere."""
import re
import selectors
import socket
import time
from collections import Counter
from dataclasses import dataclass, field

from .client import request_bytes
from .httpd import PATIENCE

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)\r\n", re.I)
_CHUNKED = re.compile(rb"\r\ntransfer-encoding: *chunked\r\n", re.I)


@dataclass(frozen=True)
class Exchange:
    """A request and what must come back; `body` None means: whatever is well-framed."""
    request: bytes
    status: int = 200
    body: bytes = None


def exchange(method, target, status=200, body=None, *, upload=None, headers=(), chunked=False):
    """An Exchange from its parts."""
    return Exchange(request_bytes(method, target, headers, upload, chunked), status, body)


@dataclass
class Outcome:
    """`wrong` counts answers that differ, by what was wrong; `reconnects` counts kept connections that the server had closed
    when the next request was sent (HTTP allows that; the request is sent again)."""
    right: int = 0
    reconnects: int = 0
    wrong: Counter = field(default_factory=Counter)


class _Connection:
    """One connection with at most one request under way."""

    def __init__(self, port):
        self.port = port
        self.socket = None
        self.exchange = None
        self.buffer = bytearray()
        self.served = 0  # answers on this socket

    def send(self, selector, next_exchange):
        """Sends a request, on a new socket when there is none."""
        self.exchange = next_exchange
        self.buffer.clear()
        if not self.socket:
            self.socket = socket.create_connection(("127.0.0.1", self.port), timeout=20 * PATIENCE)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.served = 0
            selector.register(self.socket, selectors.EVENT_READ, self)
        self.socket.sendall(next_exchange.request)

    def close(self, selector):
        if self.socket:
            selector.unregister(self.socket)
            self.socket.close()
            self.socket = None

    def receive(self):
        """Reads what is there: "more", "whole", "end" (clean end before an answer), or what is wrong."""
        try:
            data = self.socket.recv(1 << 16)
        except OSError as e:
            return "end" if not self.buffer and self.served else f"{type(e).__name__} after {len(self.buffer)} bytes"
        self.buffer += data
        if not data:
            return "end" if not self.buffer and self.served else f"cut off after {len(self.buffer)} bytes"
        return "whole" if self._whole() else "more"

    def _whole(self):
        at = self.buffer.find(b"\r\n\r\n")
        if at < 0:
            return False
        head = bytes(self.buffer[:at + 2])
        if _CHUNKED.search(head):
            return self.buffer.endswith(b"0\r\n\r\n")
        length = _LENGTH.search(head)
        return bool(length) and len(self.buffer) >= at + 4 + int(length.group(1))

    def judge(self):
        """None when the answer is right, else what is wrong."""
        head, _, body = bytes(self.buffer).partition(b"\r\n\r\n")
        status = int(head.split(b" ", 2)[1])
        if status != self.exchange.status:
            return f"status {status} instead of {self.exchange.status}"
        if _CHUNKED.search(head + b"\r\n"):
            body = _unchunk(body)
        if self.exchange.body is not None and body != self.exchange.body:
            return f"{len(body)} bytes, not the {len(self.exchange.body)} expected"
        return None

    def closes(self):
        """Whether the server said that it closes."""
        return b"\r\nConnection: close\r\n" in self.buffer[:2000]


def _unchunk(data):
    pieces = []
    while data:
        size, _, data = data.partition(b"\r\n")
        n = int(size, 16)
        pieces.append(data[:n])
        data = data[n + 2:]
    return b"".join(pieces)


def drive(port, exchanges, total, connections=32, keep=True, seconds=50, meanwhile=None):
    """Sends `total` requests, taking `exchanges` in turn, over `connections` at a time. `meanwhile` is called after every
    hundredth answer (for a restart under load). Returns an Outcome; right + wrong = total."""
    outcome = Outcome()
    deadline = time.monotonic() + seconds * PATIENCE
    todo = (exchanges[i % len(exchanges)] for i in range(total))
    with selectors.DefaultSelector() as selector:
        for _ in range(min(connections, total)):
            _Connection(port).send(selector, next(todo))
        while selector.get_map():
            events = selector.select(1)
            if time.monotonic() > deadline:
                outcome.wrong["no answer in time"] += total - outcome.right - outcome.wrong.total()
                break
            for key, _ in events:
                if _step(key.data, selector, todo, outcome, keep) and meanwhile and outcome.right % 100 == 0:
                    meanwhile()
        for key in list(selector.get_map().values()):
            key.fileobj.close()
    return outcome


def _step(connection, selector, todo, outcome, keep):
    """Handles one readable connection; true when an answer was counted."""
    event = connection.receive()
    if event == "more":
        return False
    if event == "end":
        outcome.reconnects += 1
        connection.close(selector)
        connection.send(selector, connection.exchange)
        return False
    problem = connection.judge() if event == "whole" else event
    if problem:
        outcome.wrong[f"{connection.exchange.request[:40]!r}: {problem}"] += 1
    else:
        outcome.right += 1
    connection.served += 1
    if problem or not keep or connection.closes():
        connection.close(selector)
    following = next(todo, None)
    if following:
        connection.send(selector, following)
    else:
        connection.close(selector)
    return not problem
