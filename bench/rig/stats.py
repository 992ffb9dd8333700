# SPDX-License-Identifier: Apache-2.0
"""Statistics on rounds: pure functions over lists of numbers, no clock, no files.

The unit is always the *round*: a million requests of one round are one sample. Nothing here assumes
a normal distribution. Random resampling takes its seed from the caller, so a stored result gives the
same figures again.
"""
import math
import random
import statistics
from dataclasses import dataclass
from typing import List, Optional, Sequence

RESAMPLES = 10_000
LEVEL = 0.95
EXACT_LIMIT = 25
# Standard errors between "no difference" and a difference found in 4 of 5 runs (1.96 + 0.84).
POWER_FACTOR = 2.8


@dataclass(frozen=True)
class Estimate:
    """A median with its bootstrap interval; low and high are None when one round cannot tell."""
    middle: float
    low: Optional[float]
    high: Optional[float]


@dataclass(frozen=True)
class Ratio:
    """How much larger A is than B (1.0: the same), with the smallest difference this data could show.

    detectable is a share (0.04: 4 %), or None when there were too few rounds to tell.
    """
    middle: float
    low: Optional[float]
    high: Optional[float]
    detectable: Optional[float]

    @property
    def differs(self) -> bool:
        """True when the interval leaves out 1.0."""
        return self.low is not None and (self.low > 1 or self.high < 1)


def median(values: Sequence[float]) -> float:
    """The middle value, or the mean of the two middle ones. Raises ValueError on an empty list."""
    if not values:
        raise ValueError("median of no values")
    return statistics.median(values)


def estimate_median(values: Sequence[float], seed: int) -> Estimate:
    """The median of values and its 95 % bootstrap interval (percentile method)."""
    if len(values) < 2:
        return Estimate(median(values), None, None)
    low, high = _middle_share(_resampled_medians(values, seed))
    return Estimate(median(values), low, high)


def paired_ratio(a: Sequence[float], b: Sequence[float], seed: int) -> Ratio:
    """The median of a[i]/b[i] over rounds i, with the bootstrap interval of that paired median.

    Works on logarithms, so that A/B and B/A mirror each other. Raises ValueError when the lists differ
    in length, are empty, or hold a value that is not positive.
    """
    if len(a) != len(b):
        raise ValueError("paired_ratio needs two lists of one length, got %d and %d" % (len(a), len(b)))
    logs = [_log(x) - _log(y) for x, y in zip(a, b)]
    if len(logs) < 2:
        return Ratio(math.exp(median(logs)), None, None, None)
    return _ratio_of(median(logs), _resampled_medians(logs, seed))


def unpaired_ratio(a: Sequence[float], b: Sequence[float], seed: int) -> Ratio:
    """The ratio of the medians of two independent sets (two runs, two machines), bootstrapped apart.

    Raises ValueError when a list is empty or holds a value that is not positive.
    """
    logs_a, logs_b = [_log(x) for x in a], [_log(x) for x in b]
    middle = median(logs_a) - median(logs_b)
    if len(a) < 2 or len(b) < 2:
        return Ratio(math.exp(middle), None, None, None)
    medians_a = _resampled_medians(logs_a, seed)
    medians_b = _resampled_medians(logs_b, seed + 1)
    return _ratio_of(middle, [x - y for x, y in zip(medians_a, medians_b)])


def wilcoxon_p(differences: Sequence[float]) -> float:
    """Two-sided p of the Wilcoxon signed-rank test; zeros are dropped, ties share their mean rank.

    Exact up to 25 differences, then the normal approximation. 1.0 when nothing differs.
    """
    kept = [d for d in differences if d != 0]
    n = len(kept)
    if n == 0:
        return 1.0
    ranks = mean_ranks([abs(d) for d in kept])
    positive = sum(rank for rank, d in zip(ranks, kept) if d > 0)
    if n > EXACT_LIMIT:
        mean = n * (n + 1) / 4
        return _normal_two_sided(positive - mean, math.sqrt(sum(rank * rank for rank in ranks) / 4))
    counts = {0: 1}
    for doubled in (round(2 * rank) for rank in ranks):
        grown = dict(counts)
        for total, ways in counts.items():
            grown[total + doubled] = grown.get(total + doubled, 0) + ways
        counts = grown
    return _two_sided_share(counts, round(2 * positive), 2 ** n)


def mann_whitney_p(a: Sequence[float], b: Sequence[float]) -> float:
    """Two-sided p of the Mann-Whitney test that A and B come from one distribution.

    Exact (ties included) up to 25 values in all, then the normal approximation with tie correction.
    Raises ValueError when a list is empty.
    """
    if not a or not b:
        raise ValueError("mann_whitney_p needs two non-empty lists")
    pooled = list(a) + list(b)
    ranks = mean_ranks(pooled)
    rank_sum = sum(ranks[:len(a)])
    n, m, total = len(a), len(b), len(pooled)
    if total > EXACT_LIMIT:
        ties = sum(t ** 3 - t for t in (pooled.count(v) for v in set(pooled)))
        variance = n * m / 12 * (total + 1 - ties / (total * (total - 1)))
        return _normal_two_sided(rank_sum - n * (total + 1) / 2, math.sqrt(variance))
    counts: List[dict] = [{0: 1}] + [{} for _ in range(n)]
    for doubled in (round(2 * rank) for rank in ranks):
        for chosen in range(n, 0, -1):
            for subtotal, ways in counts[chosen - 1].items():
                key = subtotal + doubled
                counts[chosen][key] = counts[chosen].get(key, 0) + ways
    return _two_sided_share(counts[n], round(2 * rank_sum), math.comb(total, n))


def holm(p_values: Sequence[float]) -> List[float]:
    """P values adjusted for their number (Holm), in the order given."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, i in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[i]))
        adjusted[i] = largest
    return adjusted


def mean_ranks(values: Sequence[float]) -> List[float]:
    """Ranks from 1; equal values share the mean of their ranks."""
    order = sorted(range(len(values)), key=lambda i: values[i])
    ranks, start = [0.0] * len(values), 0
    while start < len(order):
        end = start
        while end + 1 < len(order) and values[order[end + 1]] == values[order[start]]:
            end += 1
        for i in order[start:end + 1]:
            ranks[i] = (start + end) / 2 + 1
        start = end + 1
    return ranks


def _log(value: float) -> float:
    if value <= 0:
        raise ValueError("a ratio needs positive values, got %r" % value)
    return math.log(value)


def _resampled_medians(values: Sequence[float], seed: int) -> List[float]:
    choose, n = random.Random(seed).choices, len(values)
    return [statistics.median(choose(values, k=n)) for _ in range(RESAMPLES)]


def _middle_share(samples: Sequence[float]):
    ordered = sorted(samples)
    skipped = int(len(ordered) * (1 - LEVEL) / 2)
    return ordered[skipped], ordered[-1 - skipped]


def _ratio_of(middle_log: float, resampled_logs: Sequence[float]) -> Ratio:
    low, high = _middle_share(resampled_logs)
    error = statistics.pstdev(resampled_logs)
    return Ratio(math.exp(middle_log), math.exp(low), math.exp(high), math.expm1(POWER_FACTOR * error))


def _two_sided_share(counts: dict, observed: int, total: int) -> float:
    """The share of all outcomes at least as far from the middle as the observed one."""
    mean = sum(value * ways for value, ways in counts.items()) / total
    distance = abs(observed - mean) - 1e-9
    return min(1.0, sum(ways for value, ways in counts.items() if abs(value - mean) >= distance) / total)


def _normal_two_sided(difference: float, deviation: float) -> float:
    if deviation == 0:
        return 1.0
    return math.erfc(max(0.0, abs(difference) - 0.5) / deviation / math.sqrt(2))
