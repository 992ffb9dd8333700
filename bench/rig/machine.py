# SPDX-License-Identifier: Apache-2.0
"""Which machine and which versions a result comes from."""
import os
import platform
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List

from harness.httpd import httpd_program

PACKAGES = ("apache2-bin", "libapache2-mod-python", "libapache2-mod-wsgi-py3", "libapr1", "libapr1t64",
            "libaprutil1", "libaprutil1t64", "liblua5.4-0", "libc6",
            "libpython%d.%d" % sys.version_info[:2])


def facts() -> Dict[str, Any]:
    """Processor, cores, memory, kernel and how busy the machine is now."""
    processor = _first_match(r"model name\s*:\s*(.+)", _text("/proc/cpuinfo")) or platform.machine()
    memory = _first_match(r"MemTotal:\s*(\d+)", _text("/proc/meminfo"))
    return {
        "processor": processor,
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": int(memory or 0) * 1024,
        "virtual": bool(re.search(r"^flags.*\bhypervisor\b", _text("/proc/cpuinfo"), re.M)),
        "governor": _text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").strip(),
        "kernel": platform.release(),
        "system": _first_match(r'PRETTY_NAME="(.+)"', _text("/etc/os-release")) or platform.system(),
        "load_average": os.getloadavg()[0],
    }


def versions(driver: str, sources: Path) -> Dict[str, Any]:
    """Versions of all that takes part: httpd, the driver, this checkout, Debian's packages."""
    return {
        "httpd": _first_match(r"Server version: (.+)", _output([httpd_program(), "-v"])),
        "driver": _output([driver, "--version"]).strip().split("\n")[0],
        "sources": _output(["git", "-C", str(sources), "describe", "--always", "--dirty", "--tags"]).strip(),
        "python": platform.python_version(),
        "packages": _packages(),
    }


def _packages() -> Dict[str, str]:
    lines: List[str] = _output(["dpkg-query", "-W", "-f", "${Package} ${Version}\n", *PACKAGES]).splitlines()
    return dict(line.split(" ", 1) for line in lines if not line.endswith(" "))


def _output(command: List[str]) -> str:
    """What a command prints; empty when there is no such command, or it fails without printing."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=30,
                              stdin=subprocess.DEVNULL, check=False)
    except OSError:
        return ""
    return done.stdout


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _first_match(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    return found.group(1) if found else ""
