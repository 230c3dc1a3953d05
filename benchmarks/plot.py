"""Line plots with logarithmic axes, as SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

_WIDTH, _HEIGHT = 640, 360
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 16, 16, 48
_COLORS = ("#2b6cb0", "#c05621", "#2f855a", "#6b46c1", "#b83280", "#4a5568")


@dataclass(frozen=True, slots=True)
class Series:
    """One line: a name and its points (x, y), both above 0."""

    name: str
    points: list[tuple[float, float]]


class _Axis:
    """Maps values to pixels on a logarithmic scale that begins and ends at powers of ten."""

    def __init__(self, values: Sequence[float], first: float, last: float) -> None:
        self._low = math.floor(math.log10(min(values)))
        self._high = max(math.ceil(math.log10(max(values))), self._low + 1)
        self._first, self._last = first, last

    def at(self, value: float) -> float:
        """The pixel of a value."""
        part = (math.log10(value) - self._low) / (self._high - self._low)
        return self._first + part * (self._last - self._first)

    def ticks(self) -> list[float]:
        """The powers of ten."""
        return [10.0**power for power in range(self._low, self._high + 1)]


def plot(series: Sequence[Series], x_title: str, y_title: str) -> str:
    """The lines with axes and a legend. Values of 0 are shown as a thousandth."""
    lines = [Series(each.name, [(x, max(y, 0.001)) for x, y in each.points]) for each in series]
    legend = 18 * len(lines)
    x_axis = _Axis([x for each in lines for x, _ in each.points], _LEFT, _WIDTH - _RIGHT)
    y_axis = _Axis([y for each in lines for _, y in each.points], _HEIGHT - _BOTTOM, _TOP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT + legend}" font-family="sans-serif" '
        'font-size="12">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT + legend}" fill="#fff"/>',
        *_grid(x_axis, y_axis),
        _text(_WIDTH / 2, _HEIGHT - 12, x_title),
        f'<text x="14" y="{_HEIGHT / 2}" text-anchor="middle" transform="rotate(-90 14 {_HEIGHT / 2})">'
        f"{escape(y_title)}</text>",
    ]
    for i, each in enumerate(lines):
        color = _COLORS[i % len(_COLORS)]
        points = [(x_axis.at(x), y_axis.at(y)) for x, y in each.points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{color}"/>' for x, y in points]
        y = _HEIGHT + 18 * i + 8
        parts.append(f'<rect x="{_LEFT}" y="{y - 9}" width="12" height="12" fill="{color}"/>')
        parts.append(f'<text x="{_LEFT + 18}" y="{y + 1}">{escape(each.name)}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _grid(x_axis: _Axis, y_axis: _Axis) -> list[str]:
    parts = []
    for value in x_axis.ticks():
        x = x_axis.at(value)
        parts.append(f'<line x1="{x:.1f}" y1="{_TOP}" x2="{x:.1f}" y2="{_HEIGHT - _BOTTOM}" stroke="#e2e8f0"/>')
        parts.append(_text(x, _HEIGHT - _BOTTOM + 16, f"{value:,.10g}"))
    for value in y_axis.ticks():
        y = y_axis.at(value)
        parts.append(f'<line x1="{_LEFT}" y1="{y:.1f}" x2="{_WIDTH - _RIGHT}" y2="{y:.1f}" stroke="#e2e8f0"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{value:,.10g}</text>')
    return parts


def _text(x: float, y: float, text: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle">{escape(text)}</text>'
