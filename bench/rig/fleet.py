# SPDX-License-Identifier: Apache-2.0
"""All servers of one run: started together on free loopback ports, checked byte for byte, stopped again.

One httpd for each (MPM, cell), so that no cell shares a process with another.
"""
import http.client
import os
import shutil
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, List

from harness.httpd import Httpd, ServerError, Sizes

from . import cells, procfs
from .experiment import Cell, Experiment, ExperimentError

ANSWER_SECONDS = 20
# Servers are idle when they all together use less than this share of one processor.
IDLE_SHARE, IDLE_LOOK_SECONDS, IDLE_PATIENCE_SECONDS = 0.05, 0.25, 60


@dataclass(frozen=True)
class Member:
    """One running server and what it serves."""
    mpm: str
    cell: Cell
    httpd: Httpd

    @property
    def name(self) -> str:
        """MPM/CELL"""
        return "%s/%s" % (self.mpm, self.cell.name)

    @property
    def url(self) -> str:
        """What the driver asks for."""
        return self.httpd.url + self.cell.path

    def cpu_ns(self) -> int:
        """CPU time of the server so far, in nanoseconds. Raises ServerError when it has ended."""
        try:
            return procfs.cpu_ns(self.httpd.pid)
        except ProcessLookupError:
            raise ServerError("%s has ended%s" % (self.name, _log_end(self))) from None

    def memory(self) -> procfs.Memory:
        """Memory of the server now."""
        return procfs.memory(self.httpd.pid)


class Fleet:
    """The servers of an experiment; use as a context manager. Entering raises ServerError when a server
    does not start and ExperimentError when one answers anything but the expected bytes."""

    def __init__(self, experiment: Experiment, handlers: Path, say: Callable[[str], None]):
        """handlers is the folder that each server gets a copy of; say gets one line of progress."""
        self.experiment, self.handlers, self.say = experiment, handlers, say
        self.folder = Path(tempfile.mkdtemp(prefix="interpool-bench-"))
        self.folder.chmod(0o755)
        self.members: List[Member] = []
        self.faults: List[str] = []

    def __enter__(self) -> "Fleet":
        try:
            for mpm, cell in runnable(self.experiment):
                self.say("starting %s/%s" % (mpm, cell.name))
                self._start(mpm, cell)
            for member in self.members:
                self._check(member)
        except BaseException:
            self.stop()
            shutil.rmtree(self.folder, ignore_errors=True)
            raise
        return self

    def wait_until_idle(self):
        """Returns when the servers have stopped using the processors: children still start when the first of
        them answers. Goes on regardless after a minute."""
        deadline, last = time.monotonic() + IDLE_PATIENCE_SECONDS, None
        while time.monotonic() < deadline:
            now = sum(member.cpu_ns() for member in self.members)
            if last is not None and now - last < IDLE_SHARE * IDLE_LOOK_SECONDS * 1e9:
                return
            last = now
            time.sleep(IDLE_LOOK_SECONDS)

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        """Stops all servers at once and removes their folders; faults then says in words what went wrong with
        which, and their folders stay."""
        with ThreadPoolExecutor(max(1, len(self.members))) as pool:
            self.faults = [fault for fault in pool.map(_stop, self.members) if fault]
        self.members = []
        if not self.faults:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _start(self, mpm: str, cell: Cell):
        servers = self.experiment.servers
        sizes = Sizes(processes=servers.processes, threads=servers.threads, prefork=servers.prefork)
        httpd = Httpd(mpm, workdir=self.folder / ("%s-%s" % (mpm, cell.name)),
                      modules=cells.KINDS[cell.kind].pieces, conf=cells.configuration(cell, servers),
                      docroot=self.handlers, env=cell.env, sizes=sizes)
        self.members.append(Member(mpm, cell, httpd))  # before it runs: an interruption stops it too
        httpd.start()

    def _check(self, member: Member):
        connection = http.client.HTTPConnection("127.0.0.1", member.httpd.port, timeout=ANSWER_SECONDS)
        try:
            connection.request("GET", member.cell.path)
            answer = connection.getresponse()
            status, body = answer.status, answer.read()
        except (OSError, http.client.HTTPException) as error:
            raise ExperimentError("%s does not answer: %r%s" % (member.name, error, _log_end(member))) from None
        finally:
            connection.close()
        if status != 200 or body != member.cell.body:
            raise ExperimentError("%s answered %s with status %d and %d bytes (%r), not 200 and the %d bytes "
                                  "of the experiment%s" % (member.name, member.cell.path, status, len(body),
                                                           body[:60], len(member.cell.body), _log_end(member)))


def runnable(experiment: Experiment):
    """The (MPM, cell) pairs that this machine can run, in the experiment's order."""
    return [(mpm, cell) for mpm in experiment.mpms for cell in experiment.cells
            if mpm in cell.only_mpms and not cells.missing(cell)]


def _stop(member: Member) -> str:
    """What went wrong, or nothing. How a peer ends is its own affair, what it logged before is not."""
    steps = [member.httpd.check_log, member.httpd.stop]
    if not cells.KINDS[member.cell.kind].module:
        steps.reverse()
    faults = []
    for step in steps:  # each of them, so that no server outlives a fault in its log
        try:
            step()
        except (ServerError, AssertionError) as error:
            faults.append("%s: %s" % (member.name, error))
    return "\n".join(faults)


def _log_end(member: Member) -> str:
    return "\n" + os.linesep.join(member.httpd.error_log()[-5:])
