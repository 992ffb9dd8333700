# SPDX-License-Identifier: Apache-2.0
"""From a stored result to what its report says: pure functions over the parsed results/*.json.

Everything a table or a page shows is computed here, from the rounds, with the result's own seed.
"""
import math
from collections import Counter
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Tuple

from . import stats

FORMAT = "interpool-bench 1"
# The least number of rounds whose bootstrap interval comes near 95 %.
ENOUGH_ROUNDS = 5
# Other programs' share of the machine above which a run deserves a word of warning.
BUSY_MACHINE = 0.10
# A driver's thread that used more of its time than this sets the pace itself.
DRIVER_BUSY = 0.85

METRICS = {
    "cpu_us": ("server CPU per request", "µs"),
    "requests_per_second": ("requests per second", "1/s"),
    "p50_ms": ("median latency", "ms"),
}


class ResultError(Exception):
    """The file is not a result of this program, or lacks what was asked of it."""


@dataclass(frozen=True)
class Row:
    """One (load, MPM, cell). ratio compares server CPU per request with the baseline's in the same rounds;
    None for the baseline itself and where there is none. Memory in bytes, latencies in milliseconds."""
    load: str
    mpm: str
    cell: str
    rounds: int
    requests_per_second: stats.Estimate
    p50_ms: stats.Estimate
    p99_ms: Optional[float]
    cpu_us: stats.Estimate
    pss: int
    failed: int
    ratio: Optional[stats.Ratio]


@dataclass(frozen=True)
class Verdict:
    """One comparison that the experiment asks for, under one MPM, and what to say about it."""
    load: str
    mpm: str
    cell: str
    over: str
    metric: str
    ratio: stats.Ratio

    @property
    def text(self) -> str:
        """The verdict in words."""
        return in_words(self.ratio, self.metric)


@dataclass(frozen=True)
class PastFigure:
    """A figure of earlier years and ours for the same question; ours is None when the cell did not run."""
    year: int
    what: str
    mpm: str
    load: str
    then: float
    ours: Optional[float]
    unit: str


@dataclass(frozen=True)
class Report:
    """All that is reported of one result."""
    title: str
    question: str
    baseline: str
    rows: Tuple[Row, ...]
    verdicts: Tuple[Verdict, ...]
    past: Tuple[PastFigure, ...]
    warnings: Tuple[str, ...]


class Rounds:
    """The rounds of a result, by what they measured."""

    def __init__(self, result: Dict[str, Any]):
        if result.get("format") != FORMAT:
            raise ResultError("not a result of this program: format is %r, not %r"
                              % (result.get("format"), FORMAT))
        self.result = result
        self.by_key: Dict[Tuple[str, str, str], Dict[int, Dict[str, Any]]] = {}
        for entry in result["rounds"]:
            key = (entry["load"], entry["mpm"], entry["cell"])
            self.by_key.setdefault(key, {})[entry["round"]] = entry

    def keys(self) -> List[Tuple[str, str, str]]:
        """(load, MPM, cell) in the order of the experiment."""
        experiment = self.result["experiment"]
        return [(load["name"], mpm, cell["name"])
                for load in experiment["loads"] for mpm in experiment["mpms"] for cell in experiment["cells"]
                if (load["name"], mpm, cell["name"]) in self.by_key]

    def entries(self, load: str, mpm: str, cell: str) -> List[Dict[str, Any]]:
        """Its rounds in order; empty when it did not run."""
        return [entry for _, entry in sorted(self.by_key.get((load, mpm, cell), {}).items())]

    def series(self, metric: str, load: str, mpm: str, cell: str) -> List[float]:
        """One value per round."""
        return [value(entry, metric) for entry in self.entries(load, mpm, cell)]

    def ratio(self, metric: str, load: str, a: Tuple[str, str], b: Tuple[str, str]) -> Optional[stats.Ratio]:
        """a against b, both (MPM, cell), paired by round; None when they share no round."""
        ours, others = self.by_key.get((load, *a), {}), self.by_key.get((load, *b), {})
        shared = sorted(set(ours) & set(others))
        if not shared:
            return None
        return stats.paired_ratio([value(ours[i], metric) for i in shared],
                                  [value(others[i], metric) for i in shared], self.result["seed"])


def value(entry: Dict[str, Any], metric: str) -> float:
    """A metric of one round, see METRICS."""
    if metric == "requests_per_second":
        return entry["requests_per_second"]
    if metric == "cpu_us":
        return entry["server_cpu_ns"] / 1000 / entry["ok"]
    if metric == "p50_ms":
        return entry["p50_ns"] / 1e6
    raise ResultError("there is no metric %r" % metric)


def report(result: Dict[str, Any]) -> Report:
    """The whole report. Raises ResultError when result is no result."""
    rounds = Rounds(result)
    experiment = result["experiment"]
    rows = tuple(_row(rounds, key, experiment["baseline"]) for key in rounds.keys())
    return Report(experiment["title"], experiment["question"], experiment["baseline"], rows,
                  tuple(_verdicts(rounds)), tuple(_past(rounds)), tuple(_warnings(result, rows)))


def in_words(ratio: stats.Ratio, metric: str) -> str:
    """'4.2 x cheaper', '3.1 % to 6.4 % dearer (95 %)', 'no difference seen; would have seen 4 %'."""
    less, more = ("cheaper", "dearer") if metric == "cpu_us" else \
        ("slower", "faster") if metric == "requests_per_second" else ("faster", "slower")
    if ratio.low is None:
        return "%.2f x, from one round: no interval" % ratio.middle
    if not ratio.differs:
        return no_difference(ratio)
    word = more if ratio.middle > 1 else less
    near, far = sorted(_apart(bound) for bound in (ratio.low, ratio.high))
    if near >= 1.5:
        return "%.2f x %s (95 %%: %.2f to %.2f)" % (_apart(ratio.middle), word, near, far)
    return "%s %% to %s %% %s (95 %%)" % (_percent(near - 1), _percent(far - 1), word)


def no_difference(ratio: stats.Ratio) -> str:
    """'no difference seen; would have seen 4 %', or '... 2.5 x' where rounds differ wildly."""
    share = ratio.detectable
    seen = _percent(share) + " %" if share < 1 else "%.3g x" % (1 + share)
    return "no difference seen; would have seen " + seen


def pooled_percentile(entries: List[Dict[str, Any]], percent: float) -> Optional[float]:
    """Nearest-rank percentile in ns over all requests of several rounds; None with fewer than ten above."""
    counts: Counter = Counter()
    for entry in entries:
        for bucket, count in entry["buckets"]:
            counts[bucket] += count
    total = sum(counts.values())
    rank = math.ceil(total * percent / 100)
    if total - rank < 10:
        return None
    seen = 0
    for bucket in sorted(counts):
        seen += counts[bucket]
        if seen >= rank:
            return float(bucket)
    return None


def _row(rounds: Rounds, key: Tuple[str, str, str], baseline: str) -> Row:
    load, mpm, cell = key
    entries, seed = rounds.entries(*key), rounds.result["seed"]
    p99 = pooled_percentile(entries, 99)
    memory = next(server["pss"] for server in rounds.result["servers"]
                  if (server["mpm"], server["cell"]) == (mpm, cell))
    estimates = {metric: stats.estimate_median(rounds.series(metric, *key), seed) for metric in METRICS}
    ratio = None if cell == baseline else rounds.ratio("cpu_us", load, (mpm, cell), (mpm, baseline))
    return Row(load, mpm, cell, len(entries), p99_ms=p99 and p99 / 1e6, pss=memory,
               failed=sum(sum(entry["failures"].values()) for entry in entries), ratio=ratio, **estimates)


def _verdicts(rounds: Rounds):
    experiment = rounds.result["experiment"]
    for asked in experiment["comparisons"]:
        for load in experiment["loads"]:
            for mpm in experiment["mpms"]:
                over = (asked["over_mpm"] or mpm, asked["over"])
                ratio = rounds.ratio(asked["metric"], load["name"], (mpm, asked["cell"]), over)
                if ratio and over != (mpm, asked["cell"]):
                    yield Verdict(load["name"], mpm, asked["cell"],
                                  asked["over"] + (" under " + over[0] if over[0] != mpm else ""),
                                  asked["metric"], ratio)


def _past(rounds: Rounds):
    experiment = rounds.result["experiment"]
    for figure in experiment["past"]:
        for mpm in [figure["mpm"]] if figure["mpm"] else experiment["mpms"]:
            rate = _median_rate(rounds, figure["load"], mpm, figure["cell"])
            over = _median_rate(rounds, figure["load"], mpm, figure["over"]) if figure["over"] else None
            ours = rate and over and 100 * rate / over if figure["over"] else rate
            yield PastFigure(figure["year"], figure["what"], mpm, figure["load"], figure["value"], ours,
                             figure["unit"])


def _median_rate(rounds: Rounds, load: str, mpm: str, cell: str) -> Optional[float]:
    series = rounds.series("requests_per_second", load, mpm, cell)
    return stats.median(series) if series else None


def _warnings(result: Dict[str, Any], rows):
    for skipped in result["skipped"]:
        yield "%s did not run: %s" % (skipped["cell"], skipped["why"])
    yield from result["faults"]
    failed = sum(row.failed for row in rows)
    if failed:
        yield "%d requests failed; the figures of their rows are not to be used" % failed
    fewest = min((row.rounds for row in rows), default=0)
    if fewest < ENOUGH_ROUNDS:
        yield "too few rounds for 95 %% intervals: %d instead of at least %d" % (fewest, ENOUGH_ROUNDS)
    yield from _driver_warnings(result["rounds"])
    busy = others_share(result)
    if busy > BUSY_MACHINE:
        yield "other programs and the hypervisor took %.0f %% of the machine during the rounds" % (100 * busy)


def _driver_warnings(entries: List[Dict[str, Any]]):
    """Where the driver was the limit: its thread had no time left, or it had to wait for a processor."""
    turns: Counter = Counter(_cell_name(entry) for entry in entries)
    used_up: Counter = Counter(_cell_name(entry) for entry in entries if entry["driver_busy"] > DRIVER_BUSY)
    waited: Counter = Counter(_cell_name(entry) for entry in entries if entry["driver_bound"])
    full = [name for name in turns if used_up[name] * 2 > turns[name]]
    if full:
        yield ("the driver had no time left in most rounds of %s: requests/s and latency there are its own (server "
               "CPU per request does not suffer)" % _some(sorted(full)))
    shared = [name for name in turns if waited[name] * 2 > turns[name] and name not in full]
    if shared:
        yield ("the driver had to wait for a processor in most rounds of %d of %d cells, since servers and driver share "
               "this machine: requests/s and latency include that (server CPU per request does not suffer)"
               % (len(shared), len(turns)))


def others_share(result: Dict[str, Any]) -> float:
    """The share of the machine's processor time, during rounds, that neither server nor driver used."""
    entries = result["rounds"]
    capacity = sum(entry["wall_ns"] for entry in entries) * result["machine"]["cores"]
    used = sum(entry["machine_busy_ns"] + entry["stolen_ns"] for entry in entries)
    known = sum(entry["server_cpu_ns"] + entry["driver_cpu_ns"] for entry in entries)
    return min(1.0, max(0.0, (used - known) / capacity)) if capacity else 0.0


def _cell_name(entry: Dict[str, Any]) -> str:
    return "%s/%s" % (entry["mpm"], entry["cell"])


def _some(names: List[str], limit: int = 6) -> str:
    more = "" if len(names) <= limit else " and %d more" % (len(names) - limit)
    return ", ".join(names[:limit]) + more


def _apart(ratio: float) -> float:
    return max(ratio, 1 / ratio)


def _percent(share: float) -> str:
    return "%.1f" % (100 * share) if share < 0.0995 else "%.0f" % (100 * share)
