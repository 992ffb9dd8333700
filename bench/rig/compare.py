# SPDX-License-Identifier: Apache-2.0
"""Compares two stored results: two machines, two versions, or the same again.

Rounds of different runs are not paired: medians are compared with a bootstrap of both sets and the
Mann-Whitney test, and p values are corrected for their number (Holm).
"""
from dataclasses import dataclass
from typing import Any, Dict, List

from . import stats
from .analysis import METRICS, ResultError, Rounds, in_words, no_difference
from .table import interval

SIGNIFICANT = 0.05


@dataclass(frozen=True)
class Difference:
    """B against A for one (load, MPM, cell) and metric; p is adjusted for the number of comparisons."""
    load: str
    mpm: str
    cell: str
    metric: str
    a: float
    b: float
    ratio: stats.Ratio
    p: float

    @property
    def text(self) -> str:
        """The verdict in words; a difference needs both its interval and p below 0.05."""
        if self.p < SIGNIFICANT and self.ratio.differs:
            return "B is " + in_words(self.ratio, self.metric)
        if self.ratio.detectable is None:
            return "too few rounds to tell"
        return no_difference(self.ratio)


def differences(a: Dict[str, Any], b: Dict[str, Any], metrics=("cpu_us", "requests_per_second")) \
        -> List[Difference]:
    """All that both results measured. Raises ResultError when they share nothing."""
    first, second = Rounds(a), Rounds(b)
    shared = [key for key in first.keys() if second.entries(*key)]
    if not shared:
        raise ResultError("the two results share no load, MPM and cell")
    pairs = [(metric, key, first.series(metric, *key), second.series(metric, *key))
             for metric in metrics for key in shared]
    p_values = stats.holm([stats.mann_whitney_p(x, y) for _, _, x, y in pairs])
    return [Difference(*key, metric, stats.median(x), stats.median(y), stats.unpaired_ratio(y, x, a["seed"]), p)
            for (metric, key, x, y), p in zip(pairs, p_values)]


def text(a: Dict[str, Any], b: Dict[str, Any], name_a: str, name_b: str) -> str:
    """The comparison for a terminal."""
    lines = ["A: %s (%s, %s)" % (name_a, a["started"], a["versions"]["sources"] or "no version known"),
             "B: %s (%s, %s)" % (name_b, b["started"], b["versions"]["sources"] or "no version known")]
    lines += ["note: different %s: %s and %s" % (key, a["machine"][key], b["machine"][key])
              for key in ("processor", "cores", "kernel", "system") if a["machine"][key] != b["machine"][key]]
    heading = None
    for found in differences(a, b):
        if (found.metric, found.load) != heading:
            heading = (found.metric, found.load)
            lines += ["", "%s, %s" % (METRICS[found.metric][0], found.load),
                      "%-28s %10s %10s  %-22s %7s" % ("", "A", "B", "B / A (95 %)", "p")]
        lines.append("%-28s %10s %10s  %-22s %7.3f  %s" % (
            "  %s/%s" % (found.mpm, found.cell), _short(found.a), _short(found.b), interval(found.ratio), found.p,
            found.text))
    return "\n".join(lines) + "\n"


def _short(value: float) -> str:
    return "{:,.0f}".format(value) if value >= 1000 else "%.4g" % value
