# SPDX-License-Identifier: Apache-2.0
"""Runs an experiment: warms every server up, then measures in interleaved, randomised rounds.

In each round every (cell, MPM, load) has one turn, in an order drawn anew, so that whatever drifts on the
machine meets all of them alike, and cells are compared within a round.
"""
import dataclasses
import hashlib
import random
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Dict, List, Tuple

from . import analysis, cells, driver, machine, procfs
from .experiment import Experiment, ExperimentError, Load
from .fleet import Fleet, Member, runnable
from .progress import Progress

WARM_UP_PASSES, WARM_UP_SECONDS = 3, 0.15
# After a round the server still closes connections: its CPU time counts too.
SETTLE_SECONDS = 0.01

Turn = Tuple[Member, Load]


def run(experiment: Experiment, handlers: Path, seed: int) -> Dict[str, Any]:
    """Measures everything and returns the result, ready to be stored as JSON.

    Raises ExperimentError, driver.DriverError or the harness's ServerError when a server or the driver
    does not do its part; all servers are stopped then.
    """
    pairs = runnable(experiment)
    if not pairs:
        raise ExperimentError("nothing to run: " + "; ".join(
            "%s: %s" % (entry["cell"], entry["why"]) for entry in _skipped(experiment)))
    program = driver.program()
    progress = Progress(experiment.rounds * len(pairs) * len(experiment.loads))
    result = _head(experiment, seed, program, handlers)
    with Fleet(experiment, handlers, progress.say) as fleet:
        progress.say("waiting until all children are up")
        fleet.wait_until_idle()
        for member in fleet.members:
            progress.say("warming up %s" % member.name)
            _warm_up(program, member, experiment)
        progress.restart()
        result["rounds"] = _measure(program, experiment, fleet, seed, progress)
        result["servers"] = [_server_record(member) for member in fleet.members]
        progress.say("stopping the servers")
    progress.end()
    result["finished"], result["faults"] = _now(), fleet.faults
    return result


def _measure(program: str, experiment: Experiment, fleet: Fleet, seed: int,
             progress: Progress) -> List[Dict[str, Any]]:
    turns = [(member, load) for member in fleet.members for load in experiment.loads]
    entries = []
    for number, order in enumerate(orders(turns, experiment.rounds, seed), 1):
        for position, (member, load) in enumerate(order):
            entry = _turn(program, member, load)
            entries.append({"round": number, "position": position, **entry})
            progress.step("round %d/%d  %s  %s/s  %.1f µs CPU" % (
                number, experiment.rounds, member.name,
                format(round(analysis.value(entry, "requests_per_second")), ","),
                analysis.value(entry, "cpu_us")))
        progress.line("round %d of %d" % (number, experiment.rounds))
    return entries


def orders(turns: List[Turn], rounds: int, seed: int) -> List[List[Turn]]:
    """The order of the turns in each round: every turn once, shuffled with the seed."""
    shuffle = random.Random(seed)
    return [shuffle.sample(turns, len(turns)) for _ in range(rounds)]


def _warm_up(program: str, member: Member, experiment: Experiment):
    """As many connections kept alive as there are workers: each of them takes one and makes what it needs. Some
    modules do so in the first requests of a child, not in the first only."""
    workers = experiment.servers.workers(member.mpm)
    for _ in range(WARM_UP_PASSES):
        driver.drive(program, member.url, Load("warm-up", workers, seconds=WARM_UP_SECONDS))


def _turn(program: str, member: Member, load: Load) -> Dict[str, Any]:
    machine_before, server_before, start = procfs.machine_time(), member.cpu_ns(), time.monotonic_ns()
    outcome = driver.drive(program, member.url, load)
    time.sleep(SETTLE_SECONDS)
    server_after, end, machine_after = member.cpu_ns(), time.monotonic_ns(), procfs.machine_time()
    return {
        "mpm": member.mpm, "cell": member.cell.name, "load": load.name, **dataclasses.asdict(outcome),
        "server_cpu_ns": server_after - server_before, "wall_ns": end - start,
        "machine_busy_ns": machine_after.busy - machine_before.busy,
        "stolen_ns": machine_after.stolen - machine_before.stolen,
    }


def _head(experiment: Experiment, seed: int, program: str, handlers: Path) -> Dict[str, Any]:
    return {
        "format": analysis.FORMAT, "started": _now(), "seed": seed,
        "machine": machine.facts(), "versions": machine.versions(program, handlers),
        "experiment": _experiment_record(experiment), "skipped": _skipped(experiment),
    }


def _skipped(experiment: Experiment) -> List[Dict[str, str]]:
    return [{"cell": cell.name, "why": why} for cell in experiment.cells
            for why in [cells.missing(cell)] if why]


def _experiment_record(experiment: Experiment) -> Dict[str, Any]:
    record = dataclasses.asdict(experiment)
    for cell in record["cells"]:
        body = cell.pop("body")
        cell["body_bytes"], cell["body_sha256"] = len(body), hashlib.sha256(body).hexdigest()
    return record


def _server_record(member: Member) -> Dict[str, Any]:
    memory = member.memory()
    return {"mpm": member.mpm, "cell": member.cell.name, "pss": memory.pss, "private": memory.private,
            "processes": len(member.httpd.pids()), "configuration": member.httpd.configuration()}


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
