# SPDX-License-Identifier: Apache-2.0
"""Reads a server's error log, and decides which of its lines are faults nobody expected."""
import os
import re
import time

# [Mon Nov 30 15:03:24.123456 2026] [module:level] [pid ...] ...
_LEVEL = re.compile(r"^\[[^]]+\] \[[\w.-]*:(emerg|alert|crit|error|warn|notice|info|debug|trace\d)\] ")
_SERIOUS = {"emerg", "alert", "crit", "error"}
_CRASH = re.compile(r"exit signal|Sanitizer|runtime error:|Assertion|assertion failed|"
                    r"Fatal Python error|^==\d+== (?!\s*$)|free\(\): |malloc\(\): |double free|corrupted")

# What httpd logs as errors though nothing is wrong: all workers are busy; event was stopped while it waited for a
# client to close (its pollset is closed first).
_HARMLESS = re.compile(r"server reached MaxRequestWorkers|server ran out of threads|AH03092: ")


def level(line):
    """The severity httpd wrote into the line, or None when httpd did not write it."""
    found = _LEVEL.match(line)
    return found.group(1) if found else None


def is_fault(line):
    """True for a line of level error or above and for any sign of a crash."""
    return (level(line) in _SERIOUS and not _HARMLESS.search(line)) or _CRASH.search(line) is not None


class ErrorLog:
    """The lines of one log file. A line that a test expects is *explained*; check() wants all faults
    explained."""

    def __init__(self, path):
        self.path = path
        self._allowed = []
        self._explained = set()  # indexes into lines()
        self._lines = []
        self._offset = 0
        self._rest = b""

    def lines(self):
        """All complete lines so far."""
        if os.path.exists(self.path):
            with open(self.path, "rb") as f:
                f.seek(self._offset)
                data = f.read()
            self._offset += len(data)
            *complete, self._rest = (self._rest + data).split(b"\n")
            self._lines += [line.decode("utf-8", "backslashreplace") for line in complete]
        return self._lines

    def mark(self):
        """A position; see since()."""
        return len(self.lines())

    def since(self, mark):
        """The lines written after mark() was taken."""
        return self.lines()[mark:]

    def allow(self, pattern):
        """Lines that match are no fault, from now on and before."""
        self._allowed.append(re.compile(pattern))

    def wait_for(self, pattern, mark=0, count=1, seconds=5.0):
        """The lines after `mark` that match, as soon as there are `count`; they count as explained.
        Raises AssertionError with the log's end when they do not come in time."""
        regex = re.compile(pattern)
        deadline = time.monotonic() + seconds
        while True:
            hits = [i for i, line in enumerate(self.lines()) if i >= mark and regex.search(line)]
            if len(hits) >= count:
                self._explained.update(hits)
                return [self._lines[i] for i in hits]
            if time.monotonic() > deadline:
                raise AssertionError(f"{len(hits)} of {count} lines match {pattern!r} in {self.path}:\n"
                                     + "\n".join(self._lines[mark:][-30:]))
            time.sleep(0.005)

    def faults(self):
        """The lines that are a fault and neither allowed nor explained."""
        return [self._lines[i] for i in self._fault_indexes()]

    def take_faults(self):
        """The same, once: they count as explained afterwards."""
        indexes = self._fault_indexes()
        self._explained.update(indexes)
        return [self._lines[i] for i in indexes]

    def _fault_indexes(self):
        return [i for i, line in enumerate(self.lines())
                if is_fault(line) and i not in self._explained
                and not any(regex.search(line) for regex in self._allowed)]
