"""The configuration that the driver has in force: ``dev_cfg`` in a device's debugfs directory.

Form: ``[SECTION]`` lines and ``key = value`` lines (adf_cfg.c, and adf_cfg_dev_dbg.c of the out-of-tree driver).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from translators.sources import SourceError, shown

_SECTION: Final = re.compile(r"\[([^\[\]]+)\]")
_ENTRY: Final = re.compile(r"([^=\s][^=]*?) *= *(.*)")


@dataclass(frozen=True, slots=True)
class Entry:
    """One key of a section, as the driver writes it."""

    section: str
    key: str
    value: str


def parse(text: str, source: str) -> tuple[Entry, ...]:
    """Return the entries in the driver's order.

    Raises SourceError, also for a key that has two values, and for a text that is cut off in a line.
    """
    entries: dict[tuple[str, str], Entry] = {}
    section: str | None = None
    for line in text.splitlines():
        row = line.strip()
        if not row:
            continue
        if head := _SECTION.fullmatch(row):
            section = head[1]
            continue
        pair = _ENTRY.fullmatch(row)
        if pair is None or section is None:
            raise SourceError(source, f"{shown(row)} is neither a section nor a key of one")
        entry = Entry(section, pair[1], pair[2])
        if entries.setdefault((section, entry.key), entry) != entry:
            raise SourceError(source, f"{entry.key} of {section} has two values")
    if text and not text.endswith("\n"):
        raise SourceError(source, "does not end with a line's end: it is cut off, and its last value may be")
    return tuple(entries.values())


def value(entries: tuple[Entry, ...], section: str, key: str) -> str | None:
    """Return the value of a section's key, None where there is none."""
    return next((entry.value for entry in entries if (entry.section, entry.key) == (section, key)), None)
