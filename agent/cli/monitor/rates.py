"""How fast counters grow, and how that is drawn and written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent.cli.reply import Tree

_MODULUS: Final = 2**64
_BLOCKS: Final = "▁▂▃▄▅▆▇█"
_UNITS: Final = ("bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s")
_THOUSAND: Final = 1000


def rate(before: object, after: object, seconds: float) -> float | None:
    """Return by how much a counter64 has grown in a second; None where that can't be known, as of what is no number.

    It goes on from 0 after 2^64 - 1 (RFC 6991 section 3). One that would have grown by more than half of that has not:
    it was reset, and how far it had come until then is not known.
    """
    if not isinstance(before, int) or not isinstance(after, int) or seconds <= 0:
        return None
    grown = (after - before) % _MODULUS
    return grown / seconds if grown < _MODULUS // 2 else None


def load(before: Tree, after: Tree) -> float | None:
    """Return how busy the CPUs were between two readings of the model's cpu/time, in %; None where that isn't known."""
    busy, total = (rate(before.get(leaf), after.get(leaf), 1) for leaf in ("busy", "total"))
    if busy is None or not total:
        return None
    # The kernel's count of idle time can go back a little, and the total with it.
    return min(100.0, 100 * busy / total)


def sparkline(rates: Sequence[float | None], width: int) -> str:
    """Return the last rates as a row of ``width`` blocks, scaled to the greatest of them; a blank where none is known.

    The lowest block is 0 only: what is more than nothing looks like more.
    """
    shown = rates[-width:] if width > 0 else ()
    top = max((value for value in shown if value is not None), default=0)
    return "".join(_block(value, top) for value in shown).rjust(width)


def bits(bytes_per_second: float | None) -> str | None:
    """Return bytes in a second as bits in a second, with three digits and the unit that fits."""
    if bytes_per_second is None:
        return None
    value, unit = bytes_per_second * 8, 0
    # What would be written with four digits has the next unit.
    while float(f"{value:.3g}") >= _THOUSAND and unit < len(_UNITS) - 1:
        value, unit = value / _THOUSAND, unit + 1
    digits = f"{value:.0f}" if unit == 0 else f"{float(f'{value:.3g}'):g}"
    return f"{digits} {_UNITS[unit]}"


def _block(value: float | None, top: float) -> str:
    if value is None:
        return " "
    if value <= 0:
        return _BLOCKS[0]
    return _BLOCKS[max(1, round(value / top * (len(_BLOCKS) - 1)))]
