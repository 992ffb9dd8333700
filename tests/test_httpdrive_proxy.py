# SPDX-License-Identifier: Apache-2.0
"""Ways to the server: proxies, UNIX sockets, IPv6, source addresses."""
import base64
import collections
import shutil
import socket

import pytest

from badserver import BadServer
from test_httpdrive import drive, failures, text
from test_httpdrive_tls import Authority


@pytest.fixture
def origin():
    with BadServer() as server:
        yield server


@pytest.fixture
def proxy():
    """Answers absolute-form requests itself, by their path; remembers their heads."""
    with BadServer() as server:
        server.heads = []
        ok = server.behaviours.ok

        def remember(sock, request):
            server.heads.append((request.target, request.headers))
            ok(sock, request)
        server.behaviours.ok = remember
        yield server


def address(server):
    return f"127.0.0.1:{server.port}"


def test_proxy_gets_the_whole_url(proxy):
    result = drive("-n", 20, "-c", 2, "-X", address(proxy), "-P", "me:secret", "-A", "you:open",
                   "http://www.example.test:81/ok?a=b")
    assert failures(result) == {} and result["connections"]["opened"] == 2 == proxy.connections
    basic = {name: "Basic " + base64.b64encode(value).decode() for name, value in
             (("proxy-authorization", b"me:secret"), ("authorization", b"you:open"))}
    assert len(proxy.heads) == 20
    for target, headers in proxy.heads:
        assert target == "http://www.example.test:81/ok?a=b"
        assert headers["host"] == "www.example.test:81"
        assert basic.items() <= headers.items()
    assert (result["target"]["host"], result["target"]["port"]) == ("www.example.test", 81)


def test_name_behind_a_proxy_need_not_be_known_here(proxy):
    drive("-n", 2, "-X", address(proxy), "http://no-such-host.invalid/ok")
    assert proxy.requests["/ok"] == 2


def test_what_could_not_be_reached_is_named(tmp_path):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        closed = unused.getsockname()[1]
        out = text("-n", 1, "-X", f"127.0.0.1:{closed}", "http://www.example.test:81/", code=3)
        assert f"HD051: nothing could connect to the proxy 127.0.0.1 port {closed}: Connection refused" in out
        assert "www.example.test (through the proxy 127.0.0.1)" in out
        out = text("-n", 1, f"http://127.0.0.1:{closed}/", code=3)
        assert f"HD051: nothing could connect to 127.0.0.1 port {closed}: Connection refused" in out
        out = text("-n", 1, "--warmup", "60s", f"http://127.0.0.1:{closed}/", code=3)
        assert f"HD051: nothing could connect to 127.0.0.1 port {closed}: Connection refused" in out
        out = text("compare", "-n", 1, f"A=http://127.0.0.1:{closed}/a", f"B=http://127.0.0.1:{closed}/b", code=2)
        assert f"HD051: nothing could connect to 127.0.0.1 port {closed}: Connection refused" in out
    out = text("-n", 1, "--unix", tmp_path / "none", "http://localhost/", code=3)
    assert f"HD051: nothing could connect to {tmp_path}/none: No such file or directory" in out


def test_headers_are_not_sent_past_the_proxy_without_asking(proxy):
    drive("-n", 1, "-P", "me:secret", proxy.url + "/ok")
    assert "proxy-authorization" not in proxy.heads[0][1]


@pytest.mark.skipif(not shutil.which("openssl"), reason="the openssl command is not installed")
class TestTunnel:
    @pytest.fixture(scope="class")
    def authority(self, tmp_path_factory):
        return Authority(tmp_path_factory.mktemp("authority"))

    @pytest.fixture
    def secure(self, authority):
        with BadServer(certificate=authority.make("server", "DNS:localhost,IP:127.0.0.1")) as server:
            yield server

    def test_https_goes_through_a_tunnel(self, authority, proxy, secure):
        result = drive("-n", 30, "-c", 3, "-X", address(proxy), "--tls-verify", "--tls-ca", authority.certificate,
                       secure.url + "/ok")
        assert failures(result) == {}
        assert proxy.requests["CONNECT"] == 3 == result["connections"]["opened"]
        assert secure.requests["/ok"] == 30
        assert result["latency_ns"]["tls"]["count"] == 3

    def test_each_new_connection_has_its_tunnel(self, proxy, secure):
        drive("-n", 10, "-c", 2, "--no-keepalive", "-X", address(proxy), secure.url + "/ok")
        assert proxy.requests["CONNECT"] == 10 and secure.requests["/ok"] == 10

    def test_refusal_of_the_proxy_is_an_outcome_of_its_own(self, proxy):
        result = drive("-n", 5, "-X", address(proxy), "https://127.0.0.1:1/", code=1)
        assert failures(result) == {"proxy": 5}
        assert sum(error["count"] for error in result["errors"]) == 5

    def test_closed_port_of_a_proxy(self, secure):
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            result = drive("-n", 3, "-X", f"127.0.0.1:{unused.getsockname()[1]}", secure.url + "/ok", code=3)
            assert failures(result) == {"refused": 3} and not secure.requests


def test_proxy_that_is_no_url():
    assert "HD012" in text("-X", "127.0.0.1:99999", "http://h/", code=2)


def test_ipv6_literal_goes_into_the_host_header(tmp_path):
    with BadServer(host="::1") as server:
        result = drive("-n", 3, "--verify", "first", server.url + "/head")
        assert result["target"]["host"] == "::1"
        heads = []
        server.behaviours.ok = lambda sock, r, ok=server.behaviours.ok: (heads.append(r.headers["host"]), ok(sock, r))
        drive("-n", 1, server.url + "/ok")
        assert heads == [f"[::1]:{server.port}"]


def test_unix_socket_and_its_faults(tmp_path):
    path = tmp_path / "socket"
    with BadServer(path=str(path)) as server:
        result = drive("-n", 100, "-c", 7, "-j", 3, "--unix", path, "http://any.name.test/ok")
        assert result["connections"]["opened"] == 7 == server.connections
        assert result["target"]["address"] == str(path)
        result = drive("-n", 20, "--no-keepalive", "--unix", path, "http://any.name.test/error500", code=1)
        assert failures(result) == {"status": 20}
    result = drive("-n", 3, "--unix", tmp_path / "none", "http://h/", code=3)
    assert sum(failures(result).values()) == 3
    assert result["errors"][0]["errno"] == "ENOENT"
    assert "HD011" in text("--unix", "/" + "x" * 200, "http://h/", code=2)


def test_connections_are_dealt_to_the_source_addresses(origin):
    peers = collections.Counter()
    ok = origin.behaviours.ok

    def count(sock, request):
        peers[sock.getpeername()[0]] += 1
        ok(sock, request)
    origin.behaviours.ok = count
    sources = ["127.0.0.2", "127.0.0.3", "127.0.0.4"]
    result = drive("-n", 30, "--no-keepalive", *(word for source in sources for word in ("-B", source)),
                   origin.url + "/ok")
    assert failures(result) == {}
    assert peers == dict.fromkeys(sources, 10)


def test_source_address_that_is_not_ours(origin):
    result = drive("-n", 3, "-B", "192.0.2.99", origin.url + "/ok", code=3)
    assert sum(failures(result).values()) == 3
    assert result["errors"][0]["errno"] == "EADDRNOTAVAIL"
