"""/proc/stat: the time that the CPUs have spent (proc(5); Linux, Documentation/filesystems/proc.rst, section 1.7)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from translators.sources import SourceError, decoded, read_beginning, shown

if TYPE_CHECKING:
    from translators.host import Host

STAT: Final = "/proc/stat"
# The file grows with CPUs and interrupts. Only its first line is wanted: a word and ten numbers of 20 digits at most.
LIMIT: Final = 512
# user nice system idle iowait irq softirq steal, of every kernel since 2.6.11. The time of guests, which newer ones
# add, is in user and nice, too.
_STATES: Final = 8
_IDLE: Final = (3, 4)
_LINE: Final = re.compile(r"cpu( +[0-9]{1,20})+\r?")
_COUNTER64: Final = range(2**64)


@dataclass(frozen=True, slots=True)
class Times:
    """What all CPUs together have spent since the boot, in clock ticks (USER_HZ).

    ``busy`` is ``total`` without what they were idle or waited for I/O. The kernel does not promise that idle and
    waiting never decrease, so ``total`` can go back a little.
    """

    busy: int
    total: int


def read(host: Host) -> Times | None:
    """Return the times, None where the machine does not say. Raises SourceError."""
    data = read_beginning(host, STAT, limit=LIMIT)
    if data is None:
        return None
    line, end, _ = data.partition(b"\n")
    text = decoded(line, STAT)
    if not end:
        raise SourceError(STAT, f"its first line has no end within {LIMIT} bytes: {shown(text)}")
    if _LINE.fullmatch(text) is None:
        raise SourceError(STAT, f"begins with {shown(text)}, not with the times of all CPUs")
    states = [int(number) for number in text.split()[1:]][:_STATES]
    total = sum(states)
    if len(states) < _STATES or total not in _COUNTER64:
        raise SourceError(STAT, f"{shown(text)} is not {_STATES} times or more, below 2^64 together")
    return Times(total - sum(states[state] for state in _IDLE), total)
