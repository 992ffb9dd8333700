# SPDX-License-Identifier: Apache-2.0
"""Runs the load driver once and reads its JSON: the only file that knows httpdrive's options and keys."""
import json
import os
import shutil
import subprocess
from collections import Counter
from dataclasses import dataclass
from typing import Any, Dict, List

from .experiment import Load

PATIENCE_SECONDS = 120
# How long the driver waits for the last answers after -t; they count as answered, not in the rate.
DRAIN = "20s"


class DriverError(Exception):
    """The driver could not be run, or no request of a round succeeded."""


def program() -> str:
    """Path of httpdrive: environment INTERPOOL_HTTPDRIVE, else what the shell would find.

    Raises DriverError when there is none.
    """
    found = os.environ.get("INTERPOOL_HTTPDRIVE") or shutil.which("httpdrive")
    if not found or not os.access(found, os.X_OK):
        raise DriverError("httpdrive was not found%s: run make first" % (" at " + found if found else ""))
    return found


@dataclass(frozen=True)
class Outcome:
    """What one run of the driver says: requests answered as they should be, failures by class, their rate within
    the time that counts, latency in ns (buckets: [value, count] pairs, 1 % wide), the driver's own CPU time, how
    busy its busiest thread was (1.0: always), and whether it says that it was the limit, and why."""
    ok: int
    failures: Dict[str, int]
    seconds: float
    requests_per_second: float
    p50_ns: float
    p99_ns: float
    buckets: List[List[int]]
    connections_opened: int
    driver_cpu_ns: int
    driver_busy: float
    driver_bound: bool
    driver_reasons: List[str]


def drive(program_path: str, url: str, load: Load) -> Outcome:
    """Puts one load on url, without a warm-up. Raises DriverError when the driver fails or no request succeeded."""
    command = [program_path, "--quiet", "--json", "-", "--warmup", "0", "--drain", DRAIN,
               "-c", str(load.connections), "--threads", str(load.threads)]
    command += ["-n", str(load.requests)] if load.requests else ["-t", "%g" % load.seconds]
    command += [] if load.keep_alive else ["--no-keepalive"]
    limit = load.seconds + PATIENCE_SECONDS
    try:
        done = subprocess.run(command + [url], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        raise DriverError("%s %s did not end within %.0f s" % (" ".join(command), url, limit)) from None
    if done.returncode not in (0, 1):
        raise DriverError("%s %s: exit status %d\n%s" % (" ".join(command), url, done.returncode, done.stderr))
    outcome = outcome_of(json.loads(done.stdout))
    if not outcome.ok:
        raise DriverError("%s: no request succeeded: %s" % (url, outcome.failures))
    return outcome


def outcome_of(report: Dict[str, Any]) -> Outcome:
    """The driver's JSON (docs/httpdrive-json.md), reduced to what the rig keeps of a round."""
    failures = {name: count for name, count in report["outcomes"].items() if name != "ok" and count}
    if report["requests"]["in_flight"]:
        failures["in-flight"] = report["requests"]["in_flight"]
    latency, client = report["latency_ns"]["response"], report["client"]
    return Outcome(
        ok=report["requests"]["ok"], failures=failures, seconds=report["seconds"],
        requests_per_second=report["requests_per_second"], p50_ns=latency["p50"], p99_ns=latency["p99"],
        buckets=coarse_buckets(report["histograms"]["response"]["buckets"]),
        connections_opened=report["connections"]["opened"], driver_cpu_ns=round(client["cpu_seconds"] * 1e9),
        driver_busy=client["busy"], driver_bound=client["bound"], driver_reasons=client["reasons"])


def coarse_buckets(buckets: List[List[int]]) -> List[List[int]]:
    """The driver's buckets ([index, count], 2048 to an octave) as [middle in ns, count], 128 to an octave."""
    counts: Counter = Counter()
    for index, count in buckets:
        shift = max(0, index // 2048 - 1)
        low = (index - shift * 2048) << shift
        width = 1 << max(0, low.bit_length() - 8)
        counts[low // width * width + width // 2] += count
    return [[middle, counts[middle]] for middle in sorted(counts)]
