# SPDX-License-Identifier: Apache-2.0
"""req.sendfile of many files in one response: how many are open at a time, and that each arrives whole through the filters."""
import gzip
import subprocess
from types import SimpleNamespace

import pytest

from harness import process
from harness.client import fetch
from harness.httpd import PATIENCE, has_module, load_module
from test_common import curl_speaks_http2

FILES = 40
DO = """
import os
def open_now():
    return len(os.listdir('/proc/self/fd'))
req.content_type = 'text/plain'
before, most = open_now(), 0
for i in range({files}):
    assert req.sendfile('{run}/%d' % i) == {size}
    most = max(most, open_now() - before)
assert req.sendfile('{run}/empty') == 0
req.write('|%d' % most)
"""


class ManyFiles:
    MODULES = ("pypool",)
    SCRIPTS = "scripts/pyapi"

    @pytest.fixture
    def fetch(self):
        return fetch

    @pytest.fixture
    def do(self, server, fetch):
        """The response of a handler that sends all files, after some statements."""
        (server.run / "empty").touch()
        for i in range(FILES):
            (server.run / str(i)).write_bytes(self.content(i))

        def send(statements=DO, **options):
            statements = statements.format(run=server.run, size=self.SIZE, files=FILES)
            response = fetch(server.port, "/do.py", headers=[("X-Do", statements.encode().hex()), *options.items()])
            assert response.status == 200
            return response
        return send

    def content(self, i):
        """Of each file another, so that none can stand for another one."""
        return (b"file %05d\n" % i * (self.SIZE // 11 + 1))[:self.SIZE]

    def check(self, body):
        sent, _, most = body.rpartition(b"|")
        assert len(sent) == FILES * self.SIZE
        assert all(sent[i * self.SIZE:(i + 1) * self.SIZE] == self.content(i) for i in range(FILES))
        assert int(most) < FILES // 2  # other threads have a few more


class TestSlowly(ManyFiles):
    """Files that httpd can't send as fast as they are opened: it would keep them open until the client has them."""

    SIZE = 1 << 18

    def test_few_are_open_at_a_time(self, do):
        self.check(do().body)

    def test_few_are_counted(self, do):
        response = do("for i in range(8): req.sendfile('{run}/%d' % i)")
        assert response.get("Content-Length") == str(8 * self.SIZE) == str(len(response.body))


    def test_later_ones_are_sent_like_the_first(self, do):
        """Parts, and failures, of files that are copied."""
        response = do("""
for i in range({files}): req.sendfile('{run}/%d' % i, 0, 1)
said = [req.sendfile('{run}/39', 5, 3), req.sendfile('{run}/39', {size} - 3), req.sendfile('{run}/39', {size}), req.sendfile('{run}/empty')]
for wrong in '{run}/none', '/tmp', 'a\\0b':
    try:
        req.sendfile(wrong)
    except Exception as error:
        said.append(type(error).__name__)
req.write(repr(said))
""")
        whole = self.content(39)
        assert response.body == b"f" * FILES + whole[5:8] + whole[-3:] + repr(
            [3, 3, 0, 0, "FileNotFoundError", "IsADirectoryError", "ValueError"]).encode()


class TestSmall(TestSlowly):
    SIZE = 100


class TestBySendfile(TestSlowly):
    CONF = "EnableMMAP Off\nEnableSendfile On\n"


class TestFiltered(ManyFiles):
    SIZE = 1 << 15
    CONF = "".join(map(load_module, ("deflate", "filter", "substitute"))) + """
<Location /do.py>
Substitute s/nothing/something/
</Location>
"""

    def test_arrive_whole(self, do):
        add = "for name in ('SUBSTITUTE', 'DEFLATE'): req.add_output_filter(name)\n"
        self.check(gzip.decompress(do(add + DO, **{"Accept-Encoding": "gzip"}).body))


@pytest.mark.skipif(not (curl_speaks_http2() and has_module("http2")), reason="needs curl with HTTP/2 and mod_http2")
class TestOverHttp2(ManyFiles):
    """mod_http2 keeps the files it is given open until the stream ends."""

    SIZE = 1 << 15
    CONF = load_module("http2") + "Protocols h2c http/1.1\n"

    def test_few_are_open_at_a_time(self, do):
        self.check(do().body)

    @pytest.fixture
    def fetch(self):
        """By curl, once the server has closed the connection: stopping before makes mod_http2 crash."""
        def by_curl(port, target, headers):
            options = [option for pair in headers for option in ("-H", "%s: %s" % pair)]
            done = subprocess.run(["curl", "-sS", "-i", "--http2-prior-knowledge", *options, "http://127.0.0.1:%d%s" % (port, target)],
                                  stdout=subprocess.PIPE, timeout=60, check=True)
            process.wait_until(lambda: not process.connections(port), 20 * PATIENCE)
            head, _, body = done.stdout.partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/2 200")
            return SimpleNamespace(status=200, body=body)
        return by_curl
