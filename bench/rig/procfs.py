# SPDX-License-Identifier: Apache-2.0
"""What the kernel says about a server: its processes, their CPU time and memory; and the machine's.

CPU time comes from the processes' own CPU clocks (nanoseconds, threads that ended included), plus what
the parent was charged for children that ended (clock ticks): the sum over a process tree never loses
time, and is exact as long as no child ends in between.
"""
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, List

PROC = Path("/proc")
TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
PROCESS_CPU_CLOCK = 2


@dataclass(frozen=True)
class Memory:
    """Memory of a process tree in bytes: pss shares each shared page among its users, private does not
    count shared pages at all."""
    pss: int
    private: int


@dataclass(frozen=True)
class MachineTime:
    """Time of all processors since boot, in nanoseconds: in use, and taken by the hypervisor."""
    busy: int
    stolen: int


def process_tree(root: int) -> List[int]:
    """The process root and all its descendants, root first. Empty when root has ended."""
    children: Dict[int, List[int]] = {}
    for entry in PROC.iterdir():
        if entry.name.isdigit():
            fields = _stat_fields(int(entry.name))
            if fields:
                children.setdefault(int(fields[1]), []).append(int(entry.name))
    if not (PROC / str(root)).exists():
        return []
    tree = [root]
    for pid in tree:
        tree.extend(children.get(pid, []))
    return tree


def cpu_ns(root: int) -> int:
    """CPU time used so far by root, its descendants and those of them that ended, in nanoseconds.

    Raises ProcessLookupError when root has ended.
    """
    tree = process_tree(root)
    if not tree:
        raise ProcessLookupError("process %d has ended" % root)
    return sum(_own_cpu_ns(pid) + _reaped_cpu_ns(pid) for pid in tree)


def memory(root: int) -> Memory:
    """Memory of root and its descendants now. Raises PermissionError when they belong to others."""
    pss = private = 0
    for pid in process_tree(root):
        try:
            text = (PROC / str(pid) / "smaps_rollup").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue
        sizes = {line.split()[0]: int(line.split()[1]) * 1024
                 for line in text.splitlines() if line.endswith("kB")}
        pss += sizes.get("Pss:", 0)
        private += sizes.get("Private_Clean:", 0) + sizes.get("Private_Dirty:", 0)
    return Memory(pss, private)


def machine_time() -> MachineTime:
    """Busy and stolen time of the whole machine, in clock-tick precision."""
    ticks = [int(field) for field in (PROC / "stat").read_text().splitlines()[0].split()[1:9]]
    user, nice, system, _idle, _iowait, irq, softirq, steal = ticks
    return MachineTime((user + nice + system + irq + softirq) * TICK_NS, steal * TICK_NS)


def _own_cpu_ns(pid: int) -> int:
    try:
        return time.clock_gettime_ns(~pid << 3 | PROCESS_CPU_CLOCK)
    except OSError:
        return 0


def _reaped_cpu_ns(pid: int) -> int:
    fields = _stat_fields(pid)
    return (int(fields[13]) + int(fields[14])) * TICK_NS if fields else 0


def _stat_fields(pid: int) -> List[str]:
    """The fields of /proc/PID/stat from the third (state) on, so [1] is the parent; empty if gone."""
    try:
        text = (PROC / str(pid) / "stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return []
    return text[text.rindex(")") + 2:].split()
