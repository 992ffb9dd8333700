# SPDX-License-Identifier: Apache-2.0
"""A report as one self-contained HTML page: no script, nothing fetched, readable in light and dark."""
import json
from html import escape
from itertools import groupby
from typing import Any, Callable, Dict, Iterable, List

from . import svg
from .analysis import METRICS, Report, Rounds, Row
from .table import mebibytes, milliseconds, origin, ratio_text

OURS = ("luapool", "pypool")

STYLE = """
:root { color-scheme: light dark; --page: #fcfcfb; --ink: #1d2023; --soft: #5d6670; --line: #d9dde1;
  --ours: #0b62c4; --peer: #b4540a; --plain: #3d4650; --note: #fff4d6; }
@media (prefers-color-scheme: dark) { :root { --page: #15181b; --ink: #e8eaec; --soft: #9aa4ae; --line: #333a41;
  --ours: #6db1ff; --peer: #f0a35e; --plain: #c3cad1; --note: #3a3016; } }
body { background: var(--page); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto;
  max-width: 60rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin-bottom: .2rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
h3 { font-size: 1rem; margin: 1.4rem 0 .2rem; } .soft, .axis, .tick { color: var(--soft); fill: var(--soft); }
.warning { background: var(--note); border-radius: 4px; padding: .4rem .8rem; margin: .4rem 0; }
.wide { overflow-x: auto; } svg { display: block; font: 12px system-ui, sans-serif; }
svg text { fill: var(--ink); } svg .axis, svg .tick { fill: var(--soft); font-size: 11px; }
svg .heading { font-weight: 600; } svg .value { paint-order: stroke; stroke: var(--page); stroke-width: 3px; } svg .grid { stroke: var(--line); }
svg .reference { stroke: var(--soft); stroke-dasharray: 3 3; }
.ours { --mark: var(--ours); } .peer { --mark: var(--peer); } .plain { --mark: var(--plain); }
.sample { fill: var(--mark); opacity: .3; } .middle { fill: var(--mark); }
.interval { stroke: var(--mark); stroke-width: 2.5; stroke-linecap: round; }
.key i { display: inline-block; width: .7em; height: .7em; border-radius: 50%; background: var(--mark);
  margin: 0 .3em 0 1em; }
table { border-collapse: collapse; margin-top: 1rem; font-variant-numeric: tabular-nums; font-size: .9rem; }
th, td { padding: .15rem .6rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th:first-child, td:first-child, th:last-child, td:last-child { text-align: left; }
tbody th { padding-top: .7rem; } pre { overflow-x: auto; font-size: .8rem; }
"""


def html(report: Report, result: Dict[str, Any]) -> str:
    """The page of a report; result is what the report was made from."""
    parts = ["<!DOCTYPE html>", '<html lang="en"><head><meta charset="utf-8">',
             '<meta name="viewport" content="width=device-width">',
             "<title>%s</title><style>%s</style></head><body>" % (escape(report.title), STYLE),
             "<h1>%s</h1><p>%s</p>" % (escape(report.title), escape(report.question)),
             '<p class="soft">%s</p>' % escape(origin(result))]
    parts += ['<p class="warning">%s</p>' % escape(warning) for warning in report.warnings]
    rounds = Rounds(result)
    for load, rows in groupby(report.rows, key=lambda row: row.load):
        parts += _load_section(load, list(rows), rounds, report.baseline)
    parts += ["<h2>Memory of the whole server after the run</h2>",
              '<div class="wide">%s</div>' % _memory_plot(_one_load(report.rows))]
    parts += _verdict_section(report)
    parts += _past_section(report)
    parts += _method_section(result)
    return "\n".join(parts) + "\n</body></html>\n"


def _load_section(load: str, rows: List[Row], rounds: Rounds, baseline: str) -> Iterable[str]:
    yield "<h2>%s</h2>" % escape(load)
    yield ('<p class="key soft">Large dot: median of the rounds; bar: its 95 %% interval; small dots: single rounds; '
           'dashed: %s.<i class="ours"></i>this project<i class="peer"></i>other modules<i class="plain"></i>'
           "C handler and file</p>" % escape(baseline))
    for metric, (name, unit) in METRICS.items():
        yield "<h3>%s</h3>" % escape(name[0].upper() + name[1:])
        yield '<div class="wide">%s</div>' % _metric_plot(metric, "%s, %s" % (name, unit), rows, rounds, baseline)
    yield '<div class="wide">%s</div>' % _row_table(rows, baseline)


def _metric_plot(metric: str, axis: str, rows: List[Row], rounds: Rounds, baseline: str) -> str:
    def dot(row: Row) -> svg.Dot:
        found = getattr(row, metric)
        samples = rounds.series(metric, row.load, row.mpm, row.cell)
        hint = "%s under %s: %s" % (row.cell, row.mpm, _number(found.middle))
        if found.low is not None:
            hint += " (95 %%: %s to %s)" % (_number(found.low), _number(found.high))
        return svg.Dot(row.cell, found.middle, found.low, found.high, samples, _style(row.cell),
                       _number(found.middle), hint)
    return _plot(rows, axis, dot, lambda row: getattr(row, metric).middle, baseline)


def _memory_plot(rows: List[Row]) -> str:
    def dot(row: Row) -> svg.Dot:
        size = row.pss / 2 ** 20
        return svg.Dot(row.cell, size, None, None, (), _style(row.cell), mebibytes(row.pss),
                       "%s under %s: %.1f MiB" % (row.cell, row.mpm, size))
    return _plot(rows, "proportional set size of all processes, MiB", dot, lambda row: row.pss / 2 ** 20, "")


def _plot(rows: List[Row], axis: str, dot: Callable[[Row], svg.Dot], middle: Callable[[Row], float],
          baseline: str) -> str:
    panels = []
    for mpm, group in groupby(rows, key=lambda row: row.mpm):
        group = list(group)
        references = [middle(row) for row in group if row.cell == baseline]
        panels.append(svg.Panel(mpm, [dot(row) for row in group], references[0] if references else None))
    return svg.dot_plot(panels, list(dict.fromkeys(row.cell for row in rows)), axis)


def _row_table(rows: List[Row], baseline: str) -> str:
    heads = ("", "requests/s", "p50 ms", "p99 ms", "CPU µs per request", "PSS MiB", "failed",
             "CPU against " + baseline + " (95 %)")
    parts = ["<table><thead><tr>%s</tr></thead><tbody>" % "".join("<th>%s</th>" % escape(head) for head in heads)]
    for mpm, group in groupby(rows, key=lambda row: row.mpm):
        parts.append('<tr><th colspan="%d">%s</th></tr>' % (len(heads), mpm))
        for row in group:
            parts.append(_cells(row.cell, "{:,.0f}".format(row.requests_per_second.middle),
                                milliseconds(row.p50_ms.middle), milliseconds(row.p99_ms),
                                "%.1f" % row.cpu_us.middle, mebibytes(row.pss), str(row.failed),
                                ratio_text(row, baseline)))
    return "\n".join(parts + ["</tbody></table>"])


def _verdict_section(report: Report) -> Iterable[str]:
    if not report.verdicts:
        return
    yield '<h2>In words</h2><div class="wide"><table><tbody>'
    for verdict in report.verdicts:
        yield _cells("%s against %s" % (verdict.cell, verdict.over), verdict.mpm, METRICS[verdict.metric][0],
                     verdict.load, verdict.text)
    yield "</tbody></table></div>"


def _past_section(report: Report) -> Iterable[str]:
    if not report.past:
        return
    yield '<h2>Then and now</h2><div class="wide"><table><thead><tr><th></th><th>then</th><th>now</th><th></th>'
    yield "<th></th></tr></thead><tbody>"
    for figure in report.past:
        ours = "did not run" if figure.ours is None else "{:,.0f}".format(figure.ours)
        yield _cells("%d: %s" % (figure.year, figure.what), "{:,.0f}".format(figure.then), ours, figure.unit,
                     "%s, %s" % (figure.mpm, figure.load))
    yield "</tbody></table></div>"


def _method_section(result: Dict[str, Any]) -> Iterable[str]:
    yield ("<h2>How this was measured</h2><p>All servers were up together, one for each cell and MPM. In every round "
           "each of them was measured once, in a new random order, and answers had been compared byte for byte "
           "before. Server CPU is the time all its processes used, user and kernel, divided by the requests "
           "answered. Ratios are taken within each round; intervals are bootstrap intervals of their median "
           "(10,000 resamples). p99 is taken over the requests of all rounds.</p>")
    versions = {key: value for key, value in result["versions"].items() if value}
    yield "<details><summary>Machine and versions</summary><pre>%s</pre></details>" % escape(
        json.dumps({"machine": result["machine"], "versions": versions}, indent=2, ensure_ascii=False))
    yield "<details><summary>Configuration of each server</summary>"
    for server in result["servers"]:
        yield "<h3>%s under %s</h3><pre>%s</pre>" % tuple(
            escape(server[key]) for key in ("cell", "mpm", "configuration"))
    yield "</details>"


def _one_load(rows: Iterable[Row]) -> List[Row]:
    """The rows of the first load: memory is measured once for each server."""
    rows = list(rows)
    return [row for row in rows if row.load == rows[0].load]


def _style(cell: str) -> str:
    if cell.startswith(OURS):
        return "ours"
    return "peer" if cell.startswith("mod_") else "plain"


def _number(value: float) -> str:
    return "{:,.0f}".format(value) if value >= 1000 else "%.1f" % value if value >= 10 else "%.3g" % value


def _cells(*texts: str) -> str:
    return "<tr>%s</tr>" % "".join("<td>%s</td>" % escape(text) for text in texts)
