# SPDX-License-Identifier: Apache-2.0
"""A web server that misbehaves as its paths say, and counts what it was asked.

    with BadServer() as server:
        ... server.url + "/short" ...
        server.requests["/short"]      # requests read whole, by path (without the query)

`?n=5` gives a behaviour its number: every 5th, after 5, 5 seconds. With `?after=5` a connection's first five requests
are answered as /ok is. Run as a program, it serves until interrupted."""
import collections
import socket
import ssl
import struct
import sys
import threading
import time
from urllib.parse import parse_qs, urlsplit

HELLO = b"Hello World!"


def answer(body=HELLO, status="200 OK", headers=(), length=True):
    lines = [f"HTTP/1.1 {status}", "Server: bad/1.0 (test)", *headers]
    if length:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def chunked(*parts):
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


CHUNKED_HEAD = answer(b"", headers=["Transfer-Encoding: chunked"], length=False)


class Request:
    def __init__(self, head, body, number):
        line, _, rest = head.partition("\r\n")
        self.method, target, self.version = line.split(" ")
        url = urlsplit(target)
        self.target, self.path = target, url.path
        query = parse_qs(url.query)
        self.n, self.after = float(query.get("n", ["10"])[0]), int(query.get("after", ["0"])[0])
        self.head, self.body = head, body
        self.number = number           # how many requests of this path came before and with it
        self.headers = {name.strip().lower(): value.strip()
                        for name, _, value in (h.partition(":") for h in rest.split("\r\n") if h)}
        connection = self.headers.get("connection", "").lower()
        self.keeps = connection == "keep-alive" if self.version == "HTTP/1.0" else connection != "close"


class Close(Exception):
    """The behaviour is over: close the connection."""


def reset(sock):
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    raise Close


class Behaviours:
    """One method for each path, with '-' written '_'. Returning keeps the connection."""

    def __init__(self, server):
        self.server = server

    def ok(self, sock, r):
        headers = ["Content-Length: 12", *(["Connection: Keep-Alive"] if r.version == "HTTP/1.0" and r.keeps else [])]
        sock.sendall(answer(b"" if r.method == "HEAD" else HELLO, headers=headers, length=False))

    def vary(self, sock, r):
        sock.sendall(answer(b"x" * (10 + r.number % 2)))

    def chunked_one(self, sock, r):
        sock.sendall(CHUNKED_HEAD + chunked(b"Hello ", b"World!"))

    def chunked_two(self, sock, r):
        sock.sendall(CHUNKED_HEAD)
        time.sleep(0.01)
        sock.sendall(chunked(b"Hello ", b"World!"))

    def chunked_trailers(self, sock, r):
        sock.sendall(CHUNKED_HEAD + b"c;name=value\r\nHello World!\r\n0\r\nX-Sum: 1\r\n\r\n")

    def dribble(self, sock, r):
        for byte in CHUNKED_HEAD + chunked(b"Hello ", b"World!"):
            sock.sendall(bytes([byte]))

    def nospace(self, sock, r):
        sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length:12\r\n\r\nHello World!")

    def lowercase(self, sock, r):
        sock.sendall(b"HTTP/1.1 200\ncontent-LENGTH: 12 \nconnection: Keep-Alive\n\nHello World!")

    def zero(self, sock, r):
        sock.sendall(answer(b""))

    def empty204(self, sock, r):
        sock.sendall(answer(b"", "204 No Content", length=False))

    def unchanged304(self, sock, r):
        sock.sendall(answer(b"", "304 Not Modified", ["Content-Length: 5000"], length=False))

    def interim(self, sock, r):
        sock.sendall(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
        time.sleep(0.005)
        sock.sendall(answer())

    def short(self, sock, r):
        sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + b"x" * 50)
        raise Close

    def short_head(self, sock, r):
        sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Le")
        raise Close

    def short_chunk(self, sock, r):
        sock.sendall(CHUNKED_HEAD + b"c\r\nHello")
        raise Close

    def reset(self, sock, r):
        """Every n-th request is answered with a reset."""
        if r.number % r.n == 0:
            reset(sock)
        self.ok(sock, r)

    def reset_in(self, sock, r):
        sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + b"x" * 50)
        time.sleep(0.05)
        reset(sock)

    def closes_after(self, sock, r):
        """Closes after n answers without having said so."""
        self.ok(sock, r)
        if r.on_connection >= r.n:
            raise Close

    def drops_after(self, sock, r):
        """Takes one request more than it answers on a connection."""
        if r.on_connection > r.n:
            raise Close
        self.ok(sock, r)

    def says_close_after(self, sock, r):
        if r.on_connection < r.n:
            return self.ok(sock, r)
        sock.sendall(answer(headers=["Connection: close"]))
        raise Close

    def closed(self, sock, r):
        raise Close

    def never(self, sock, r):
        self.server.stopping.wait(60)
        raise Close

    def hang_once(self, sock, r):
        if r.number == 1:
            self.never(sock, r)
        self.ok(sock, r)

    def stall_once(self, sock, r):
        """One answer takes n seconds."""
        if r.number == 50:
            self.server.stopping.wait(r.n)
        self.ok(sock, r)

    def stall_in(self, sock, r):
        sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\nHello")
        self.never(sock, r)

    def slow(self, sock, r):
        self.server.stopping.wait(r.n)
        self.ok(sock, r)

    def error500(self, sock, r):
        sock.sendall(answer(b"sorry", "500 Internal Server Error"))

    def half500(self, sock, r):
        (self.error500 if r.number % 2 else self.ok)(sock, r)

    def wrong_body(self, sock, r):
        """The first answer is right, then every n-th is wrong."""
        sock.sendall(answer(b"Hello Wurld!" if r.number % r.n == 0 else HELLO))

    def wrong_length(self, sock, r):
        sock.sendall(answer(HELLO + b"!" if r.number % r.n == 0 else HELLO))

    def foreign(self, sock, r):
        sock.sendall(answer(headers=["X-Note: Keep-Alive", "X-Content-Length: 5", "Connection: close"]))
        raise Close

    def http10(self, sock, r):
        sock.sendall(b"HTTP/1.0 200 OK\r\n\r\nHello World!")
        raise Close

    def http10_alive(self, sock, r):
        sock.sendall(b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 12\r\n\r\nHello World!")

    def close_delimited(self, sock, r):
        sock.sendall(answer(length=False))
        time.sleep(0.005)
        sock.sendall(b" And more.")
        raise Close

    def garbage(self, sock, r):
        sock.sendall(b"220 mail.example.com ESMTP\r\n")
        raise Close

    def two_lengths(self, sock, r):
        sock.sendall(answer(headers=["Content-Length: 13"]))

    def same_lengths(self, sock, r):
        sock.sendall(answer(headers=["Content-Length: 12, 12"]))

    def endless_head(self, sock, r):
        sock.sendall(b"HTTP/1.1 200 OK\r\n")
        for _ in range(20):
            sock.sendall(b"X-Filler: " + b"x" * 8000 + b"\r\n")
        raise Close

    def long_line(self, sock, r):
        sock.sendall(answer(headers=["Set-Cookie: " + "x" * 9000]))

    def bad_chunk(self, sock, r):
        sock.sendall(CHUNKED_HEAD + b"5\r\nHello World!\r\n0\r\n\r\n")
        raise Close

    def excess(self, sock, r):
        sock.sendall(answer() + b"and something else")

    def early(self, sock, r):
        """Answered before the body of the request was read; see BadServer.serve()."""
        sock.sendall(answer(b"no", "413 Content Too Large", ["Connection: close"]))
        raise Close

    def tally(self, sock, r):
        sock.sendall(answer(headers=[f"X-Worker: {r.number % int(r.n)}"]))

    def echo(self, sock, r):
        sock.sendall(answer(r.body))

    def head(self, sock, r):
        """The head of the request as it came."""
        sock.sendall(answer(r.head.encode("latin-1")))

    def large(self, sock, r):
        """n bytes."""
        sock.sendall(answer(b"x" * int(r.n)))


class BadServer:
    def __init__(self, host="127.0.0.1", certificate=None, path=None, backlog=1024):
        self.requests = collections.Counter()
        self.connections = 0
        self.bodies = []
        self.stopping = threading.Event()
        self.lock = threading.Lock()
        self.behaviours = Behaviours(self)
        self.context = None
        if certificate:
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(certificate)
        family = socket.AF_UNIX if path else socket.AF_INET6 if ":" in host else socket.AF_INET
        self.listener = socket.socket(family, socket.SOCK_STREAM)
        self.listener.bind(path or (host, 0))
        self.listener.listen(backlog)
        scheme = "https" if certificate else "http"
        if not path:
            self.port = self.listener.getsockname()[1]
            self.url = f"{scheme}://{f'[{host}]' if ':' in host else host}:{self.port}"
        self.open = set()

    def __enter__(self):
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        with self.lock:
            for sock in self.open:
                try:
                    sock.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def accept(self):
        while not self.stopping.is_set():
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.connection, args=(sock,), daemon=True).start()

    def connection(self, sock):
        with self.lock:
            self.connections += 1
            self.open.add(sock)
        try:
            if sock.family != socket.AF_UNIX:
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            raw = sock
            if self.context:
                sock = self.context.wrap_socket(sock, server_side=True)
            self.serve(sock)
        except (Close, OSError, ssl.SSLError):
            pass
        finally:
            with self.lock:
                self.open.discard(raw)
            sock.close()

    def read_body(self, sock, headers, rest):
        size = int(headers.get("content-length", 0))
        while len(rest) < size:
            more = sock.recv(65536)
            if not more:
                raise Close
            rest += more
        return rest[:size], rest[size:]

    def serve(self, sock):
        data, count = b"", 0
        while True:
            while b"\r\n\r\n" not in data:
                more = sock.recv(65536)
                if not more:
                    return
                data += more
            head, _, data = data.partition(b"\r\n\r\n")
            r = Request(head.decode("latin-1"), b"", 0)
            if r.method == "CONNECT":
                return self.tunnel(sock, r)
            if r.path != "/early":
                r.body, data = self.read_body(sock, r.headers, data)
            count += 1
            with self.lock:
                self.requests[r.path] += 1
                r.number, r.on_connection = self.requests[r.path], count
            behaviour = "ok" if count <= r.after else r.path[1:].replace("-", "_") or "ok"
            getattr(self.behaviours, behaviour)(sock, r)
            if not r.keeps:
                return

    def tunnel(self, sock, r):
        """As a proxy: the port named is taken on this machine; port 1 is forbidden."""
        host, _, port = r.target.rpartition(":")
        with self.lock:
            self.requests["CONNECT"] += 1
        if port == "1":
            sock.sendall(answer(b"no", "403 Forbidden"))
            return
        with socket.create_connection((host.strip("[]"), int(port))) as there:
            sock.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            for a, b in ((sock, there), (there, sock)):
                threading.Thread(target=self.pump, args=(a, b), daemon=True).start()
            self.stopping.wait(60)

    @staticmethod
    def pump(source, sink):
        try:
            while data := source.recv(65536):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass


if __name__ == "__main__":
    with BadServer(*sys.argv[1:2]) as bad:
        print(bad.url, flush=True)
        threading.Event().wait()
