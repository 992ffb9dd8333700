# SPDX-License-Identifier: Apache-2.0
"""Dot plots as inline SVG text: rows of values with intervals, in panels side by side on one scale.

Colours come from classes that the page styles; knows nothing of httpd or of results.
"""
import math
from dataclasses import dataclass
from html import escape
from typing import List, Optional, Sequence

LABEL_WIDTH, PANEL_WIDTH, GAP = 118, 264, 14
ROW_HEIGHT, TOP, BOTTOM = 24, 26, 34
VALUE_ROOM = 62


@dataclass(frozen=True)
class Dot:
    """One row of one panel: the middle, its interval (or None), the single samples, a style class, and the
    text beside it and on hovering."""
    label: str
    middle: float
    low: Optional[float]
    high: Optional[float]
    samples: Sequence[float]
    style: str
    text: str
    hint: str


@dataclass(frozen=True)
class Panel:
    """One column of a plot; reference draws a vertical line through all its rows."""
    heading: str
    dots: Sequence[Dot]
    reference: Optional[float] = None


def dot_plot(panels: Sequence[Panel], labels: Sequence[str], axis: str) -> str:
    """All panels on one linear scale from zero; a row for each label, empty where a panel has no such dot."""
    height = TOP + ROW_HEIGHT * len(labels) + BOTTOM
    width = LABEL_WIDTH + len(panels) * (PANEL_WIDTH + GAP)
    ticks = ticks_to(max(max([dot.middle, dot.high or 0, *dot.samples]) for panel in panels for dot in panel.dots))
    parts = ['<svg viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="%s">'
             % (width, height, width, height, escape(axis, quote=True))]
    for row, label in enumerate(labels):
        parts.append(_text(LABEL_WIDTH - 8, _row_y(row) + 4, label, "label", "end"))
    for i, panel in enumerate(panels):
        parts += _panel(panel, LABEL_WIDTH + i * (PANEL_WIDTH + GAP), labels, ticks)
    parts.append(_text(LABEL_WIDTH, height - 4, axis, "axis", "start"))
    return "\n".join(parts + ["</svg>"])


def ticks_to(largest: float) -> List[float]:
    """Round numbers from 0 to at least largest: 4 to 6 of them."""
    if largest <= 0:
        return [0.0, 1.0]
    step = 10 ** math.floor(math.log10(largest))
    for factor in (0.2, 0.25, 0.5, 1, 2, 2.5):
        if largest / (step * factor) <= 5:
            step *= factor
            break
    return [step * i for i in range(math.ceil(largest / step) + 1)]


def short(value: float) -> str:
    """A number for an axis: 20k, 1.5k, 250, 2.5, 0.05."""
    if value >= 10000:
        return "%gk" % (value / 1000)
    return "%g" % float("%.4g" % value)


def _panel(panel: Panel, left: int, labels: Sequence[str], ticks: List[float]) -> List[str]:
    bottom = TOP + ROW_HEIGHT * len(labels)

    def x(value: float) -> float:
        return left + value / ticks[-1] * (PANEL_WIDTH - VALUE_ROOM)

    parts = [_text(left, TOP - 10, panel.heading, "heading", "start")]
    for tick in ticks:
        parts.append('<line class="grid" x1="%.1f" y1="%d" x2="%.1f" y2="%d"/>' % (x(tick), TOP, x(tick), bottom))
        parts.append(_text(x(tick), bottom + 13, short(tick), "tick", "middle"))
    if panel.reference is not None:
        parts.append('<line class="reference" x1="%.1f" y1="%d" x2="%.1f" y2="%d"/>'
                     % (x(panel.reference), TOP, x(panel.reference), bottom))
    for dot in panel.dots:
        parts += _dot(dot, x, _row_y(labels.index(dot.label)))
    return parts


def _dot(dot: Dot, x, y: float) -> List[str]:
    parts = ['<g class="%s"><title>%s</title>' % (dot.style, escape(dot.hint))]
    parts += ['<circle class="sample" cx="%.1f" cy="%.1f" r="2"/>' % (x(value), y) for value in dot.samples]
    if dot.low is not None:
        parts.append('<line class="interval" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>'
                     % (x(dot.low), y, x(dot.high), y))
    parts.append('<circle class="middle" cx="%.1f" cy="%.1f" r="4.5"/>' % (x(dot.middle), y))
    right = max([dot.middle, dot.high or 0, *dot.samples])
    parts.append(_text(x(right) + 8, y + 4, dot.text, "value", "start"))
    return parts + ["</g>"]


def _row_y(row: int) -> float:
    return TOP + ROW_HEIGHT * (row + 0.5)


def _text(x: float, y: float, content: str, style: str, anchor: str) -> str:
    return '<text class="%s" x="%.1f" y="%.1f" text-anchor="%s">%s</text>' % (style, x, y, anchor, escape(content))
