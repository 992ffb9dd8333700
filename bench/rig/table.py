# SPDX-License-Identifier: Apache-2.0
"""A report as text for a terminal, at most 120 columns wide."""
from itertools import groupby
from typing import Iterable, List, Optional

from . import stats
from .analysis import METRICS, PastFigure, Report, Row, Verdict, in_words

HEAD = "%-15s %8s %6s %6s %7s %7s %6s %s"


def text(report: Report, origin: str) -> str:
    """The report: warnings first, then a table per load, verdicts, figures of earlier years."""
    lines = [report.title]
    lines += ["warning: " + warning for warning in report.warnings]
    for load, rows in groupby(report.rows, key=lambda row: row.load):
        lines += ["", load]
        lines += _rows(list(rows), report.baseline)
    lines += _verdicts(report.verdicts)
    lines += _past(report.past)
    lines += ["", origin]
    return "\n".join(lines) + "\n"


def origin(result) -> str:
    """One paragraph: where and when the figures were taken, and how."""
    facts, experiment = result["machine"], result["experiment"]
    return "%s, %d cores%s, %s, kernel %s, %s. %s; %d interleaved rounds, seed %d." % (
        facts["processor"], facts["cores"], " of a virtual machine" if facts["virtual"] else "",
        facts["system"], facts["kernel"], result["versions"]["httpd"], result["started"][:16].replace("T", " "),
        experiment["rounds"], result["seed"])


def milliseconds(value: Optional[float]) -> str:
    """Three significant digits; '-' for None."""
    return "-" if value is None else "%.3g" % value if value < 100 else "%.0f" % value


def interval(ratio: stats.Ratio) -> str:
    """'1.04 (1.01-1.07)', or the bare ratio when there is no interval."""
    if ratio.low is None:
        return "%.2f" % ratio.middle
    return "%.2f (%.2f-%.2f)" % (ratio.middle, ratio.low, ratio.high)


def ratio_text(row: Row, baseline: str) -> str:
    """What stands in the last column: the ratio to the baseline, and words when it shows no difference."""
    if row.cell == baseline:
        return "1"
    if row.ratio is None:
        return "-"
    if row.ratio.low is None or row.ratio.differs:
        return interval(row.ratio)
    return "%s %s" % (interval(row.ratio), in_words(row.ratio, "cpu_us"))


def mebibytes(value: int) -> str:
    """Bytes in MiB."""
    return "%.1f" % (value / 2 ** 20)


def _rows(rows: List[Row], baseline: str) -> Iterable[str]:
    yield HEAD % ("", "req/s", "p50 ms", "p99 ms", "CPU µs", "PSS MiB", "failed",
                  "CPU against %s (95 %%)" % baseline)
    for mpm, group in groupby(rows, key=lambda row: row.mpm):
        yield mpm
        for row in group:
            yield (HEAD % (" " + row.cell, "{:,.0f}".format(row.requests_per_second.middle),
                           milliseconds(row.p50_ms.middle), milliseconds(row.p99_ms),
                           "%.1f" % row.cpu_us.middle, mebibytes(row.pss), row.failed,
                           ratio_text(row, baseline))).rstrip()


def _verdicts(verdicts: Iterable[Verdict]) -> Iterable[str]:
    heading = None
    for verdict in verdicts:
        subject = (verdict.load, verdict.cell, verdict.over, verdict.metric)
        if subject != heading:
            heading = subject
            yield ""
            yield "%s against %s, %s, %s:" % (verdict.cell, verdict.over, METRICS[verdict.metric][0], verdict.load)
        yield "  %-8s %s" % (verdict.mpm, verdict.text)


def _past(figures: Iterable[PastFigure]) -> Iterable[str]:
    figures = list(figures)
    if figures:
        yield ""
        yield "then and now"
    for figure in figures:
        now = "-" if figure.ours is None else "{:,.0f}".format(figure.ours)
        yield "  %d  %-46s %9s %-10s  now %9s  %s, %s" % (
            figure.year, figure.what, "{:,.0f}".format(figure.then), figure.unit, now, figure.mpm, figure.load)
