"""The figures as bars: SVG, for a page that is light or dark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import escape

from report import figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from measure import Row
    from report import Machine

_WIDTH: Final = 920
_LEFT: Final = 460
_BAR: Final = 330
_VALUES: Final = _LEFT + _BAR + 14
_ROW: Final = 40
_TOP: Final = 64
_HEAD: Final = """\
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img"
 font-family="system-ui, sans-serif" font-size="13">
<title>accel-agent and the floor of its SSH library</title>
<style>
text {{ fill: #1f2328 }} .small {{ fill: #59636e; font-size: 11px }}
.agent {{ fill: #0969da }} .floor {{ fill: #c4cad1 }} .goal {{ stroke: #cf222e; stroke-width: 2 }}
@media (prefers-color-scheme: dark) {{
text {{ fill: #f0f6fc }} .small {{ fill: #9198a1 }}
.agent {{ fill: #4493f8 }} .floor {{ fill: #4d5560 }} .goal {{ stroke: #f85149 }}
}}
</style>
"""


def svg(rows: Sequence[Row], machine: Machine) -> str:
    """Return the picture. Each row has a scale of its own: what counts is the bar beside it."""
    height = _TOP + _ROW * len(rows) + 28
    parts = [_HEAD.format(width=_WIDTH, height=height), *_legend()]
    for number, row in enumerate(rows):
        parts += _bars(row, _TOP + _ROW * number)
    note = f"{machine.cpu}, {machine.cores} cores, Python {machine.python}, {machine.date}"
    parts.append(_text(_LEFT, height - 10, note, "small"))
    return "\n".join([*parts, "</svg>", ""])


def _legend() -> list[str]:
    return [
        f'<rect class="agent" x="{_LEFT}" y="18" width="12" height="12"/>',
        _text(_LEFT + 18, 29, "accel-agent"),
        f'<rect class="floor" x="{_LEFT + 110}" y="18" width="12" height="12"/>',
        _text(_LEFT + 128, 29, "floor: canned replies"),
        f'<line class="goal" x1="{_LEFT + 290}" y1="16" x2="{_LEFT + 290}" y2="32"/>',
        _text(_LEFT + 300, 29, "goal"),
        _text(_LEFT, 46, "shorter is better, except for RPC/s; each row has its own scale", "small"),
    ]


def _bars(row: Row, top: int) -> list[str]:
    goal = _goal(row)
    longest = max(row.agent, row.floor or 0.0, goal or 0.0) or 1.0
    scale = _BAR / longest
    parts = [
        _text(_LEFT - 12, top + 20, row.name.removesuffix(", p50"), anchor="end"),
        f'<rect class="agent" x="{_LEFT}" y="{top + 4}" width="{row.agent * scale:.1f}" height="13"/>',
        _text(_VALUES, top + 15, figure(row.agent, row.unit)),
    ]
    if row.floor is not None:
        parts += [
            f'<rect class="floor" x="{_LEFT}" y="{top + 19}" width="{row.floor * scale:.1f}" height="9"/>',
            _text(_VALUES, top + 28, figure(row.floor, row.unit), "small"),
        ]
    if goal:
        at = _LEFT + goal * scale
        parts.append(f'<line class="goal" x1="{at:.1f}" y1="{top + 1}" x2="{at:.1f}" y2="{top + 31}"/>')
    return parts


def _goal(row: Row) -> float | None:
    """Return the row's goal in its unit."""
    if row.goal is None or (row.goal.times_floor and row.floor is None):
        return None
    return row.goal.limit * (row.floor or 0.0) if row.goal.times_floor else row.goal.limit


def _text(x: float, y: float, text: str, style: str = "", *, anchor: str = "start") -> str:
    kind = f' class="{style}"' if style else ""
    return f'<text{kind} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
