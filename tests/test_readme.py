"""What the README tells a newcomer to type works as it stands there."""

import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import pytest

from harness.httpd import SANITIZED

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def _blocks():
    """The README's fenced blocks, as (language, text)."""
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as readme:
        return re.findall(r"^```(\w+)\n(.*?)^```$", readme.read(), re.M | re.S)


def _block(language, containing):
    """The one block of this language that holds `containing`."""
    found = [text for name, text in _blocks() if name == language and containing in text]
    assert len(found) == 1, f"README.md has {len(found)} {language} blocks with {containing!r}"
    return found[0]


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_it_starts_with_the_two_commands():
    language, text = _blocks()[0]
    assert language == "sh"
    assert [line.split("#")[0].strip() for line in text.splitlines()] == [
        "./bootstrap bench",
        "./bootstrap check",
    ]


@pytest.fixture
def folder():
    """A folder that the server's children may read, with the README's three files."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="interpool-readme-"))
    path.chmod(0o755)
    # A copy: the children run as www-data, and the build may lie where only its owner can read.
    moduledir = path / "modules"
    shutil.copytree(os.environ["INTERPOOL_MODULEDIR"], moduledir)
    conf = _block("apache", "DocumentRoot")
    for module in ("mod_luapool.so", "mod_pypool.so"):
        conf = conf.replace(f"/usr/lib/apache2/modules/{module}", f"{moduledir}/{module}")
    (path / "httpd.conf").write_text(conf)
    (path / "hello.lua").write_text(_block("lua", "function handle"))
    (path / "hello.py").write_text(_block("python", "def handler"))
    yield path
    _wait_for_the_end(path / "httpd.pid")
    shutil.rmtree(path)


def _wait_for_the_end(pid_file):
    """`-k stop` only asks; the server removes its pid file when it ends. One left running is killed."""
    deadline = time.monotonic() + 20
    while pid_file.exists():
        if time.monotonic() > deadline:
            os.kill(int(pid_file.read_text()), signal.SIGKILL)
            break
        time.sleep(0.02)


@pytest.mark.skipif(SANITIZED, reason="what a newcomer types preloads no sanitizer")
@pytest.mark.skipif(not os.path.exists("/usr/sbin/apache2"), reason="written for Debian's httpd")
def test_the_hello_works_as_written(folder):
    port = str(_free_port())
    (folder / "httpd.conf").write_text((folder / "httpd.conf").read_text().replace("8080", port))
    commands = _block("sh", "-k start").replace("8080", port)
    commands = commands.replace("curl ", "curl -sS --retry 20 --retry-connrefused ")
    done = subprocess.run(
        ["sh", "-c", commands], cwd=folder, capture_output=True, text=True, timeout=60,
        start_new_session=True, check=False,
    )
    log = (folder / "error.log").read_text() if (folder / "error.log").exists() else "no log"
    assert done.stdout == "Hello World!" * 2, f"{done.stderr}\n{log}"
    assert not re.search(r":(error|crit|alert|emerg)\]", log), log


def test_each_file_it_names_is_there():
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as readme:
        links = re.findall(r"\]\(([^)]+)\)", readme.read())
    missing = [link for link in links if not os.path.exists(os.path.join(ROOT, link))]
    assert not missing, missing
