# SPDX-License-Identifier: Apache-2.0
"""A private httpd: its own run folder, port, session and log, made from the pieces in conf/.

    with Httpd("event", modules=["luapool"], docroot="scripts") as server:
        urllib.request.urlopen(server.url + "/hello.lua")

Knows nothing of what the modules do. Settings come from the environment, as tests/local.mk sets them:
INTERPOOL_STAGE, INTERPOOL_MODULEDIR, INTERPOOL_HTTPD, INTERPOOL_APXS; and, to run every server under a
tool: INTERPOOL_WRAP (words put before httpd, for example "valgrind -q"), INTERPOOL_PRELOAD (a LD_PRELOAD
for httpd alone, for example libasan's path).
"""
import os
import pwd
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from . import process
from .errorlog import ErrorLog

CONF = Path(__file__).resolve().parents[2] / "conf"
MPMS = ("prefork", "worker", "event")
_READY = r"AH00163: |AH00292: |AH00489: "  # prefork, worker, event: "configured -- resuming normal operations"
_WRAP = shlex.split(os.environ.get("INTERPOOL_WRAP", ""))
SANITIZED = "INTERPOOL_PRELOAD" in os.environ
PATIENCE = 20 if _WRAP else 4 if SANITIZED else 1  # how much longer everything may take under a tool
MEMORY_FACTOR = 8 if _WRAP or SANITIZED else 1  # how much more memory may be taken there
_PARENT_GROWTH_LIMIT = MEMORY_FACTOR * (8 << 20)


class ServerError(Exception):
    """The server did not start or did not stop as it should; holds what it printed and logged."""


@lru_cache(None)
def apxs_ask(name):
    """What apxs says for one of its variables."""
    apxs = os.environ.get("INTERPOOL_APXS", "apxs")
    return subprocess.run([apxs, "-q", name], check=True, capture_output=True, text=True).stdout.strip()


def _first_existing(*paths):
    for path in paths:
        if path and Path(path).exists():
            return str(path)
    raise ServerError(f"none of these exists: {', '.join(map(str, paths))}")


def httpd_program():
    """Path of the httpd program."""
    return os.environ.get("INTERPOOL_HTTPD") or _first_existing(
        shutil.which("apache2"), "/usr/sbin/apache2", shutil.which("httpd"), "/usr/sbin/httpd")


def httpd_moduledir():
    """The folder of httpd's own modules."""
    return os.environ.get("INTERPOOL_HTTPD_MODULEDIR") or apxs_ask("LIBEXECDIR")


def moduledir():
    """The folder of the staged (or installed) mod_luapool.so and mod_pypool.so."""
    return os.environ.get("INTERPOOL_MODULEDIR") or httpd_moduledir()


def _server_user():
    """(user, group) that root's children become, or None when we are not root."""
    if os.geteuid() != 0:
        return None
    for name in ("www-data", "apache", "www", "daemon", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return entry.pw_name, entry.pw_gid
    raise ServerError("root needs a user for httpd's children, and none of the usual ones exists")


def _reachable_by_all(path):
    """True when any user may enter every folder on the way to `path`."""
    return all(p.stat().st_mode & 0o001 for p in [path, *path.parents])


def free_port():
    """A loopback port that was free just now."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def load_module(name, file=None):
    """The LoadModule line of one of httpd's own modules (or a peer's), by its short name, for `conf`."""
    return f'LoadModule {name}_module "{httpd_moduledir()}/{file or f"mod_{name}.so"}"\n'


def has_module(name):
    """Whether httpd's module folder has mod_NAME.so."""
    return Path(httpd_moduledir(), f"mod_{name}.so").exists()


@dataclass(frozen=True)
class Sizes:
    """How many requests are served at a time: `processes` x `threads`; under prefork that many processes,
    or `prefork` of them when given."""
    processes: int = 1
    threads: int = 8
    prefork: int = 0

    def defines(self, mpm):
        """{name: value} for the Define lines that conf/mpm-*.conf use."""
        workers = self.processes * self.threads
        if mpm == "prefork":
            return {"INTERPOOL_WORKERS": self.prefork or workers}
        return {"INTERPOOL_PROCESSES": self.processes, "INTERPOOL_THREADS": self.threads,
                "INTERPOOL_WORKERS": workers, "INTERPOOL_SERVER_LIMIT": self.processes + 3}


class Httpd:
    """One server. start() and stop() may be repeated; the run folder stays until remove()."""

    def __init__(self, mpm, workdir=None, modules=(), conf="", docroot=None, env=None, sizes=Sizes()):
        """`modules` names pieces of conf/ ("luapool" -> conf/luapool.conf); `conf` is appended after them.
        The files below `docroot` are copied into the run folder (tests may edit them there)."""
        self.mpm = mpm
        self.modules = tuple(modules)
        self.conf = conf
        self.sizes = sizes
        self.env = dict(env or {})
        self.run = Path(workdir or tempfile.mkdtemp(prefix="interpool-"))
        self.docroot = self.run / "htdocs"
        self.port = 0
        self.pid = 0
        self.log = ErrorLog(self.run / "error.log")
        self._process = None
        self._baseline = None
        self._make_run_folder(docroot)

    def _make_run_folder(self, docroot):
        self.run.mkdir(parents=True, exist_ok=True)
        self.run.chmod(0o755)
        self.docroot.mkdir(exist_ok=True)
        if docroot:
            shutil.copytree(docroot, self.docroot, dirs_exist_ok=True)
        for path in [self.docroot, *self.docroot.rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)

    # -- configuration -------------------------------------------------------------------------------

    def _our_moduledir(self):
        """Where the children find our modules: a copy in the run folder when they may not enter the stage."""
        folder = Path(moduledir())
        if os.geteuid() != 0 or not folder.exists() or _reachable_by_all(folder.resolve()):
            return folder
        copy = self.run / "modules"
        if not copy.exists():
            shutil.copytree(folder, copy)
        return copy

    def configuration(self):
        """The text of httpd.conf: defines, then the pieces, then the caller's lines."""
        defines = {"INTERPOOL_RUN": self.run, "INTERPOOL_CONF": CONF, "INTERPOOL_PORT": self.port,
                   "INTERPOOL_DOCROOT": self.docroot, "INTERPOOL_MODULEDIR": self._our_moduledir(),
                   "INTERPOOL_HTTPD_MODULEDIR": httpd_moduledir(), **self.sizes.defines(self.mpm)}
        lines = [f'Define {name} "{value}"' for name, value in defines.items()]
        user = _server_user()
        pieces = [f"mpm-{self.mpm}", "base", *self.modules]
        lines += [f'Include "{CONF}/{piece}.conf"' for piece in pieces]
        if user:
            lines += [f"User {user[0]}", f"Group #{user[1]}"]
        return "\n".join(lines) + "\n" + self.conf

    def _command(self, *extra):
        return [*_WRAP, httpd_program(), "-d", str(self.run), "-f", str(self.run / "httpd.conf"), *extra]

    def _environment(self):
        env = {**os.environ, **self.env}
        if "INTERPOOL_PRELOAD" in os.environ:
            env["LD_PRELOAD"] = os.environ["INTERPOOL_PRELOAD"]
        return env

    def write_configuration(self):
        """Writes httpd.conf; called by start() and check_configuration(), and before a graceful() that is
        to see a changed `conf`."""
        (self.run / "httpd.conf").write_text(self.configuration(), encoding="utf-8")

    def check_configuration(self):
        """(exit status, output) of `httpd -t`."""
        self.port = self.port or free_port()
        self.write_configuration()
        done = subprocess.run(self._command("-t"), env=self._environment(), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, errors="backslashreplace",
                              timeout=60 * PATIENCE, check=False)
        return done.returncode, done.stdout + done.stderr

    # -- life ----------------------------------------------------------------------------------------

    def start(self):
        """Starts the server and returns when it answers; raises ServerError when it gives up."""
        for _ in range(5):  # somebody else may take the port between our look and httpd's bind
            self.port = free_port()
            self.write_configuration()
            mark = self.log.mark()
            with open(self.run / "console.log", "wb") as console:
                self._process = subprocess.Popen(
                    self._command("-DFOREGROUND"), env=self._environment(), stdin=subprocess.DEVNULL,
                    stdout=console, stderr=console, start_new_session=True)
            self.pid = self._process.pid
            if self._wait_until_up(mark):
                self._baseline = self._parent_figures()
                return self
            status, self.pid, self._process = self._process.returncode, 0, None
            if "AH00072" not in self.console():
                break
        raise ServerError(f"httpd did not start (status {status}):\n{self.console()}\n"
                          + "\n".join(self.log.since(mark)[-30:]))

    def _wait_until_up(self, mark):
        """False when the process ended instead."""
        deadline = time.monotonic() + 30 * PATIENCE
        while self._process.poll() is None:
            if self._answers():
                self.log.wait_for(_READY, mark, seconds=30 * PATIENCE)
                return True
            if time.monotonic() > deadline:
                self._kill()
                return False
            time.sleep(0.01)
        return False

    def _answers(self):
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=5 * PATIENCE) as s:
                s.sendall(b"OPTIONS * HTTP/1.0\r\n\r\n")
                return s.recv(12).startswith(b"HTTP/1.1 200")
        except OSError:
            return False

    def graceful(self, drained=False):
        """Graceful restart; returns when the parent has read its configuration and goes on. An old child may still take the
        next connection then: with `drained` it returns when all of them have ended."""
        mark = self.log.mark()
        old = set(self.children())
        os.kill(self.pid, signal.SIGUSR1)
        self.log.wait_for(_READY, mark, seconds=30 * PATIENCE)
        if drained:
            process.wait_until(lambda: not old & set(self.children()), 30 * PATIENCE)

    def _settle(self):
        """Waits, for a moment, until no connection is left. On SIGTERM event's main thread closes the workers' sockets, also
        one whose worker is just freeing it: "AH03092" or "exit signal Segmentation fault", and neither is a fault of ours."""
        deadline = time.monotonic() + 2
        while process.connections(self.port) and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.03)

    def stop(self):
        """SIGTERM; raises ServerError unless the server ends by itself, with status 0, leaving nothing."""
        if not self._process:
            return
        if self.mpm == "event":
            self._settle()
        pid, self.pid = self.pid, 0
        child, self._process = self._process, None
        if child.poll() is None:
            child.send_signal(signal.SIGTERM)
        try:
            status = child.wait(20 * PATIENCE)
        except subprocess.TimeoutExpired:
            status = "none: still running 20 s after SIGTERM"
        left = process.in_session(pid)
        if left:
            os.killpg(pid, signal.SIGKILL)
            child.wait()
        if status != 0 or left:
            raise ServerError(f"httpd ended with status {status}, processes left: {left}\n{self.console()}\n"
                              + "\n".join(self.log.lines()[-30:]))

    def _kill(self):
        os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()

    def remove(self):
        """Removes the run folder of a stopped server."""
        shutil.rmtree(self.run)

    def __enter__(self):
        return self.start()

    def __exit__(self, kind, *_):
        try:
            if kind is None:
                self.check()
        finally:
            self.stop()
        if kind is None:
            self.check_log()
            self.remove()

    # -- looking at it -------------------------------------------------------------------------------

    @property
    def url(self):
        """http://127.0.0.1:PORT"""
        return f"http://127.0.0.1:{self.port}"

    def children(self):
        """Pids of the live child processes."""
        return process.children(self.pid)

    def pids(self):
        """Pids of the parent and all below it."""
        return process.in_session(self.pid)

    def threads(self):
        """{child pid: number of its threads}"""
        return {pid: process.threads(pid) for pid in self.children()}

    def rss(self):
        """Resident bytes of the children together."""
        return sum(map(process.rss, self.children()))

    def pss(self):
        """Proportional bytes of the parent and its children together."""
        return sum(map(process.pss, self.pids()))

    def cpu_seconds(self):
        """CPU time of the parent and its live children so far."""
        return sum(map(process.cpu_seconds, self.pids()))

    def console(self):
        """What the server printed before it had a log."""
        path = self.run / "console.log"
        return path.read_text(encoding="utf-8", errors="backslashreplace") if path.exists() else ""

    def error_log(self):
        """The lines of the error log."""
        return self.log.lines()

    @contextmanager
    def expect_log(self, pattern, count=1, seconds=5.0):
        """The block causes at least `count` new log lines that match; they are no fault then."""
        mark = self.log.mark()
        yield
        self.log.wait_for(pattern, mark, count, seconds * PATIENCE)

    def _parent_figures(self):
        return process.rss(self.pid), process.descriptors(self.pid)

    # -- judging it ----------------------------------------------------------------------------------

    def check_log(self):
        """AssertionError when the log holds a fault that no test explained."""
        faults = self.log.faults()
        assert not faults, f"unexpected in {self.log.path}:\n" + "\n".join(faults[:40])

    def check_parent(self):
        """AssertionError when the parent's descriptors or memory grew since the start."""
        rss, descriptors = self._baseline
        rss_now, descriptors_now = self._parent_figures()
        assert len(descriptors_now) <= len(descriptors), (
            f"the parent held {len(descriptors)} descriptors and holds {len(descriptors_now)}: "
            f"{sorted(descriptors_now.values())}")
        assert rss_now - rss <= _PARENT_GROWTH_LIMIT, f"the parent grew from {rss} to {rss_now} bytes"

    def check(self):
        """Both, on a running server."""
        assert self._process.poll() is None, f"the server has ended with status {self._process.returncode}"
        self.check_parent()
        self.check_log()
