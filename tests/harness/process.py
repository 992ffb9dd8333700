# SPDX-License-Identifier: Apache-2.0
"""What /proc says about a process: memory, descriptors, threads, CPU time, children; and waiting for what it will say."""
import os
import time
from dataclasses import dataclass

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
PAGE_SIZE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Stat:
    """The fields of /proc/PID/stat that we use."""
    state: str
    parent: int
    session: int
    cpu_seconds: float
    threads: int
    rss: int


def read_stat(pid):
    """Stat of `pid`, or None when there is no such process (any more)."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
            text = f.read()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = text[text.rindex(")") + 2:].split()  # the command name may hold spaces and brackets
    return Stat(state=fields[0], parent=int(fields[1]), session=int(fields[3]),
                cpu_seconds=(int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND,
                threads=int(fields[17]), rss=int(fields[21]) * PAGE_SIZE)


def _live():
    for name in os.listdir("/proc"):
        if name.isdigit():
            stat = read_stat(int(name))
            if stat and stat.state not in "ZX":
                yield int(name), stat


def children(pid):
    """Pids of the live children of `pid`, in ascending order."""
    return sorted(child for child, stat in _live() if stat.parent == pid)


def in_session(session):
    """Pids of the live processes of a session, its leader included."""
    return sorted(pid for pid, stat in _live() if stat.session == session)


def rss(pid):
    """Resident bytes; 0 when the process has gone."""
    stat = read_stat(pid)
    return stat.rss if stat else 0


def pss(pid):
    """Proportional bytes (a shared page counts by its share); 0 when the process has gone."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as f:
            for line in f:
                if line.startswith("Pss:"):
                    return int(line.split()[1]) * 1024
    except (FileNotFoundError, ProcessLookupError):
        pass
    return 0


def descriptors(pid):
    """{descriptor: what it refers to} of a live process."""
    table = {}
    for name in os.listdir(f"/proc/{pid}/fd"):
        try:
            table[int(name)] = os.readlink(f"/proc/{pid}/fd/{name}")
        except FileNotFoundError:
            continue  # closed between the two calls
    return table


def threads(pid):
    """Number of threads; 0 when the process has gone."""
    stat = read_stat(pid)
    return stat.threads if stat else 0


def cpu_seconds(pid):
    """User and system time used so far, in seconds; 0 when the process has gone."""
    stat = read_stat(pid)
    return stat.cpu_seconds if stat else 0.0


_TCP_LISTEN, _TCP_TIME_WAIT = "0A", "06"


def connections(port):
    """Number of connections of a loopback server's port, TIME_WAIT ones not counted."""
    local = f"0100007F:{port:04X}"
    with open("/proc/net/tcp", encoding="ascii") as f:
        rows = [line.split() for line in f.readlines()[1:]]
    return sum(row[1] == local and row[3] not in (_TCP_LISTEN, _TCP_TIME_WAIT) for row in rows)


def wait_until(condition, seconds=20):
    """Polls until the condition holds; AssertionError when it does not in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(0.02)
