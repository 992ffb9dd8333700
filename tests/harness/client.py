# SPDX-License-Identifier: Apache-2.0
"""A small HTTP/1.1 client on a plain socket: sends exactly the bytes it is told to, and keeps the bytes
of the answer, so that tests can send what no decent client would and see what no decent client shows."""
import select
import socket
import time
from dataclasses import dataclass, field

from .httpd import PATIENCE


class Truncated(Exception):
    """The connection ended before the answer did. `partial` is the Response so far (None: no header)."""

    def __init__(self, message, partial=None):
        super().__init__(message)
        self.partial = partial


@dataclass
class Response:
    """One answer. `headers` in order, names as sent; `head` is the raw header block."""
    status: int
    reason: str
    headers: list
    head: bytes
    body: bytes = b""
    trailers: list = field(default_factory=list)

    def get_all(self, name):
        """All values of a header, in order."""
        return [value for key, value in self.headers if key.lower() == name.lower()]

    def get(self, name, default=None):
        """The first value of a header."""
        return next(iter(self.get_all(name)), default)

    @property
    def text(self):
        """The body as text; stray bytes survive as surrogates."""
        return self.body.decode("utf-8", "surrogateescape")


def _to_bytes(text):
    return text if isinstance(text, bytes) else str(text).encode("utf-8", "surrogateescape")


def request_bytes(method, target, headers=(), body=None, chunked=False, version="HTTP/1.1"):
    """The bytes of a request. A body gets a Content-Length, or chunk framing of up to 8000 bytes a piece."""
    pairs = list(headers.items() if isinstance(headers, dict) else headers)
    names = {_to_bytes(name).lower() for name, _ in pairs}
    if b"host" not in names and version != "HTTP/1.0":
        pairs.insert(0, ("Host", "localhost"))
    if body is not None:
        if chunked:
            pairs.append(("Transfer-Encoding", "chunked"))
        elif b"content-length" not in names:
            pairs.append(("Content-Length", len(body)))
    head = b" ".join(map(_to_bytes, (method, target, version))) + b"\r\n"
    head += b"".join(_to_bytes(name) + b": " + _to_bytes(value) + b"\r\n" for name, value in pairs)
    if body is None:
        return head + b"\r\n"
    return head + b"\r\n" + (chunk(body) if chunked else body)


def chunk(body, size=8000):
    """`body` in chunked framing, with the last chunk."""
    pieces = (body[at:at + size] for at in range(0, len(body), size))
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


class Connection:
    """One connection; answers are read in the order of the requests sent."""

    def __init__(self, port, timeout=20.0):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout * PATIENCE)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer = bytearray()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Closes the connection."""
        self.socket.close()

    def reset(self):
        """Closes the connection so that the peer sees a reset."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.socket.close()

    def send(self, data):
        """Sends bytes as they are."""
        self.socket.sendall(data)

    def drip(self, seconds=20.0):
        """Sends a byte now and then, until the peer answers."""
        end = time.monotonic() + seconds * PATIENCE
        while not select.select([self.socket], [], [], 0.05)[0]:
            if time.monotonic() > end:
                raise TimeoutError(f"no answer within {seconds * PATIENCE} s")
            self.send(b"x")

    def half_close(self):
        """Tells the peer that no more will be sent; answers can still be read."""
        self.socket.shutdown(socket.SHUT_WR)

    def request(self, method, target, headers=(), body=None, chunked=False):
        """Sends one request and reads its answer."""
        self.send(request_bytes(method, target, headers, body, chunked))
        return self.response(method)

    def get(self, target, headers=()):
        """GET"""
        return self.request("GET", target, headers)

    def at_end(self):
        """Waits; True when the peer has closed and nothing is left to read."""
        return not self._buffer and not self._fill()

    # -- reading -------------------------------------------------------------------------------------

    def _fill(self):
        try:
            data = self.socket.recv(1 << 18)
        except ConnectionResetError:
            return False
        self._buffer += data
        return bool(data)

    def _take(self, n):
        data = bytes(self._buffer[:n])
        del self._buffer[:n]
        return data

    def until(self, mark, what):
        """Reads up to and including `mark`; `what` names the part of the answer in the error."""
        while True:
            at = self._buffer.find(mark)
            if at >= 0:
                return self._take(at + len(mark))
            if not self._fill():
                raise Truncated(f"the connection ended inside {what}: {bytes(self._buffer[-200:])!r}")

    def response(self, method="GET"):
        """Reads the answer to a request of that method; raises Truncated when it is cut off. Interim
        (1xx) answers are skipped."""
        while True:
            response = self.response_head()
            if response.status >= 200 or response.status == 101:
                break
        if method != "HEAD" and response.status not in (204, 304, 101):
            self._read_body(response)
        return response

    def response_head(self):
        """Reads a header block only; the body is still to come."""
        head = self.until(b"\r\n\r\n", "the header")
        status_line, *lines = head[:-4].split(b"\r\n")
        version, status, *reason = status_line.decode("latin-1").split(" ", 2)
        if not version.startswith("HTTP/"):
            raise Truncated(f"no HTTP answer: {head[:200]!r}")
        return Response(int(status), "".join(reason), [_header(line) for line in lines], head)

    def _read_body(self, response):
        try:
            if (response.get("Transfer-Encoding") or "").lower() == "chunked":
                self._read_chunks(response)
            elif response.get("Content-Length") is not None:
                self._read_exactly(response, int(response.get("Content-Length")))
            else:
                while self._fill():
                    pass
                response.body = self._take(len(self._buffer))
        except Truncated as e:
            e.partial = response
            raise

    def _read_exactly(self, response, n):
        while len(self._buffer) < n:
            if not self._fill():
                response.body += self._take(len(self._buffer))
                raise Truncated(f"{n} bytes announced, {len(response.body)} came")
        response.body += self._take(n)

    def _read_chunks(self, response):
        pieces = []
        try:
            while True:
                size = int(self.until(b"\r\n", "a chunk size").split(b";")[0], 16)
                if size == 0:
                    break
                while len(self._buffer) < size + 2:
                    if not self._fill():
                        pieces.append(self._take(len(self._buffer)))
                        raise Truncated("the connection ended inside a chunk")
                pieces.append(self._take(size))
                assert self._take(2) == b"\r\n", "a chunk has no end"
        finally:
            response.body = b"".join(pieces)
        while (line := self.until(b"\r\n", "the trailers")) != b"\r\n":
            response.trailers.append(_header(line[:-2]))


def _header(line):
    name, _, value = line.partition(b":")
    return name.decode("latin-1"), value.strip(b" \t").decode("utf-8", "surrogateescape")


def fetch(port, target, method="GET", headers=(), body=None, chunked=False, timeout=20.0):
    """One request on a connection of its own."""
    with Connection(port, timeout) as connection:
        pairs = list(headers.items() if isinstance(headers, dict) else headers)
        return connection.request(method, target, [*pairs, ("Connection", "close")], body, chunked)
