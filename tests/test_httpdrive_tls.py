# SPDX-License-Identifier: Apache-2.0
"""The driver over TLS, against a server whose certificate comes from an authority made for the test."""
import shutil
import socket
import ssl
import subprocess
import threading

import pytest

from badserver import BadServer
from test_httpdrive import drive, failures, text

pytestmark = pytest.mark.skipif(not shutil.which("openssl"), reason="the openssl command is not installed")


def openssl(*arguments, **options):
    done = subprocess.run(["openssl", *map(str, arguments)], capture_output=True, text=True, timeout=60, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


class Authority:
    """Signs certificates; each is one PEM file with its key."""

    def __init__(self, folder):
        self.folder = folder
        self.certificate = folder / "ca.pem"
        self.request("ca", "/CN=httpdrive test authority", "-x509", "-days", 2,
                     "-addext", "basicConstraints=critical,CA:TRUE", "-out", self.certificate)

    def request(self, name, subject, *options):
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", subject,
                "-keyout", self.folder / f"{name}.key", *options)

    def make(self, name, alternatives, days=2):
        self.request(name, f"/CN={name}", "-out", self.folder / f"{name}.csr")
        (self.folder / f"{name}.ext").write_text(f"subjectAltName={alternatives}\n")
        openssl("x509", "-req", "-in", self.folder / f"{name}.csr", "-CA", self.certificate, "-CAkey",
                self.folder / "ca.key", "-CAcreateserial", "-days", days, "-extfile", self.folder / f"{name}.ext",
                "-out", self.folder / f"{name}.crt")
        pem = self.folder / f"{name}.pem"
        pem.write_text((self.folder / f"{name}.key").read_text() + (self.folder / f"{name}.crt").read_text())
        return pem


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def certificate(authority):
    return authority.make("server", "DNS:localhost,DNS:www.example.test,IP:127.0.0.1,IP:::1")


@pytest.fixture
def secure(certificate):
    with BadServer(certificate=certificate) as server:
        yield server


@pytest.mark.parametrize("keepalive", [[], ["--no-keepalive"]], ids=["keepalive", "new"])
@pytest.mark.parametrize("path,length", [("/ok", 12), ("/chunked-two", 12), ("/dribble", 12), ("/empty204", 0),
                                         ("/close-delimited", 22), ("/large?n=300000", 300000)])
def test_answers_are_taken_whole(secure, path, length, keepalive):
    result = drive("-n", 30, "-c", 3, "-j", 2, *keepalive, secure.url + path)
    assert failures(result) == {}
    assert result["bytes"]["body"] == 30 * length
    assert secure.requests[path.partition("?")[0]] == 30
    assert result["latency_ns"]["tls"]["count"] == result["connections"]["opened"] == secure.connections


@pytest.mark.parametrize("path,outcome", [("/short", "short-body"), ("/closed", "closed-before-answer"),
                                          ("/error500", "status"), ("/garbage", "bad-head"), ("/excess", "excess-bytes")])
def test_broken_answers_are_counted_once(secure, path, outcome):
    result = drive("-n", 20, "-c", 2, secure.url + path, code=1)
    assert failures(result) == {outcome: 20}


def test_a_large_body_is_sent_whole(secure, tmp_path):
    (tmp_path / "body").write_bytes(bytes(range(256)) * 4000)
    result = drive("-n", 10, "-c", 2, "-p", tmp_path / "body", "--verify", tmp_path / "body", secure.url + "/echo")
    assert result["bytes"]["body"] == 10 * 1024000


def test_handshake_is_timed_apart(secure):
    result = drive("-n", 20, "-c", 2, "--no-keepalive", secure.url + "/ok")
    times = result["latency_ns"]
    assert times["connect"]["count"] == times["tls"]["count"] == 20
    assert times["response"]["min"] >= times["tls"]["min"] + times["service"]["min"]


def test_certificate_is_checked_when_asked(authority, secure):
    good = ["--tls-verify", "--tls-ca", authority.certificate]
    drive("-n", 5, secure.url + "/ok")
    drive("-n", 5, *good, secure.url + "/ok")
    drive("-n", 5, *good, "--tls-name", "www.example.test", secure.url + "/ok")

    result = drive("-n", 5, "--tls-verify", secure.url + "/ok", code=1)
    assert failures(result) == {"tls": 5}
    assert "unable to get local issuer certificate" in result["errors"][0]["reason"]
    result = drive("-n", 5, *good, "--tls-name", "other.example.test", secure.url + "/ok", code=1)
    assert failures(result) == {"tls": 5}
    assert "ostname mismatch" in result["errors"][0]["reason"]
    assert secure.requests["/ok"] == 15


def test_address_in_the_url_is_checked_as_an_address(authority):
    named = authority.make("named", "DNS:localhost")
    with BadServer(certificate=named) as server:
        good = ["--tls-verify", "--tls-ca", authority.certificate]
        result = drive("-n", 2, *good, server.url + "/ok", code=1)
        assert "IP address mismatch" in result["errors"][0]["reason"]
        drive("-n", 2, *good, server.url.replace("127.0.0.1", "localhost") + "/ok")


def test_ipv6_address_is_checked_too(authority, certificate):
    with BadServer(host="::1", certificate=certificate) as server:
        drive("-n", 5, "--tls-verify", "--tls-ca", authority.certificate, server.url + "/ok")
        assert server.requests["/ok"] == 5


@pytest.mark.parametrize("version", ["TLS1.2", "TLS1.3"])
def test_sessions_are_resumed_when_asked(secure, version):
    fresh = drive("-n", 20, "-f", version, "--no-keepalive", secure.url + "/ok")
    assert fresh["connections"]["tls_resumed"] == 0
    assert fresh["target"]["tls"].startswith(version.replace("TLS", "TLSv"))
    resumed = drive("-n", 20, "-f", version, "--no-keepalive", "--tls-resume", secure.url + "/ok")
    assert resumed["connections"]["tls_resumed"] == 19, "all but the first"
    assert resumed["latency_ns"]["tls"]["count"] == 20
    assert "  TLS sessions resumed: 19\n" in text("-n", 20, "-f", version, "--no-keepalive", "--tls-resume",
                                                  secure.url + "/ok")


def test_server_name_and_protocol_are_offered(secure):
    names, protocols = [], []
    secure.context.sni_callback = lambda _, name, __: names.append(name)
    secure.context.set_alpn_protocols(["http/1.1"])
    local = secure.url.replace("127.0.0.1", "localhost")
    drive("-n", 1, local + "/ok")
    drive("-n", 1, "-I", local + "/ok")
    drive("-n", 1, "--tls-name", "www.example.test", local + "/ok")
    drive("-n", 1, secure.url + "/ok")
    assert names == ["localhost", None, "www.example.test", None], "an address is no server name"
    behaviour = secure.behaviours.ok

    def ok(sock, request):
        protocols.append(sock.selected_alpn_protocol())
        behaviour(sock, request)
    secure.behaviours.ok = ok
    drive("-n", 1, secure.url + "/ok")
    assert protocols == ["http/1.1"]


def test_client_certificate(authority, secure):
    secure.context.verify_mode = ssl.CERT_REQUIRED
    secure.context.load_verify_locations(authority.certificate)
    client = authority.make("client", "DNS:client")
    assert drive("-n", 6, "-c", 2, "-E", client, secure.url + "/ok")["requests"]["ok"] == 6
    result = drive("-n", 6, "-c", 2, secure.url + "/ok", code=None)
    assert result["requests"]["failed"] == 6 and result["requests"]["ok"] == 0


def test_protocol_the_server_refuses(secure):
    secure.context.minimum_version = ssl.TLSVersion.TLSv1_3
    result = drive("-n", 4, "-f", "TLS1.2", secure.url + "/ok", code=1)
    assert failures(result) == {"tls": 4}
    assert "version" in result["errors"][0]["reason"]


def test_ciphers(secure):
    result = drive("-n", 2, "-f", "TLS1.2", "-Z", "ECDHE-ECDSA-AES128-GCM-SHA256", secure.url + "/ok")
    assert result["target"]["tls"] == "TLSv1.2,ECDHE-ECDSA-AES128-GCM-SHA256,256,128"
    assert "HD030: -Z 'nonsense'" in text("-Z", "nonsense", secure.url, code=2)
    assert "HD030: -f 'TLS9'" in text("-f", "TLS9", secure.url, code=2)
    assert "HD030: -E" in text("-E", "no-such-file.pem", secure.url, code=2)
    assert "HD030: --tls-ca" in text("--tls-verify", "--tls-ca", "no-such-file.pem", secure.url, code=2)


def test_plain_server_is_no_tls_server():
    with BadServer() as plain:
        result = drive("-n", 4, "-c", 2, "-s", "300ms", plain.url.replace("http:", "https:") + "/ok", code=None)
        assert failures(result) == {"timeout-connect": 4}, "it waits for the end of what it takes for a request"


def test_server_that_closes_in_the_handshake():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        def close_all():
            while True:
                try:
                    listener.accept()[0].close()
                except OSError:
                    return
        threading.Thread(target=close_all, daemon=True).start()
        result = drive("-n", 5, f"https://127.0.0.1:{listener.getsockname()[1]}/", code=1)
        assert failures(result) == {"tls": 5}
        listener.shutdown(socket.SHUT_RDWR)


def test_handshake_that_never_ends_times_out():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        result = drive("-n", 3, "-c", 3, "-s", "300ms", f"https://127.0.0.1:{listener.getsockname()[1]}/", code=None)
        assert failures(result) == {"timeout-connect": 3}
        assert result["latency_ns"]["response"]["min"] >= 299e6


def test_files_that_cannot_be_used_are_named(tmp_path):
    (tmp_path / "text").write_text("no certificate")
    for option in ("-E", "--tls-ca"):
        out = text(option, tmp_path / "none", "https://127.0.0.1:1/", code=2)
        assert f"HD030: {option} '{tmp_path}/none': No such file or directory" in out
        assert f"HD030: {option} '{tmp_path}/text': " in text(option, tmp_path / "text", "https://127.0.0.1:1/", code=2)
    assert "HD030: -Z 'NOPE': no cipher match" in text("-Z", "NOPE", "https://127.0.0.1:1/", code=2)
    assert "HD030: -f 'SSL3': not known" in text("-f", "SSL3", "https://127.0.0.1:1/", code=2)


def test_tls_waits_in_epoll_even_for_one_answer(secure):
    result = drive("-n", 60, secure.url + "/dribble")
    assert failures(result) == {} and result["connections"]["opened"] == 1
    assert result["client"]["waits_per_request"] >= 1


def test_the_server_name_is_printed_when_one_is_sent(secure):
    for url, options, name in ((secure.url, [], None), (secure.url.replace("127.0.0.1", "localhost"), [], "localhost"),
                               (secure.url.replace("127.0.0.1", "localhost"), ["-I"], None),
                               (secure.url, ["--tls-name", "www.example.test"], "www.example.test")):
        line = f"TLS Server Name:        {name}\n"
        out = text("--ab", "-n", 2, *options, url + "/ok")
        assert line in out if name else "TLS Server Name" not in out
