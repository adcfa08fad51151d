"""Errors that a device counted, and those of its PCI Express link.

``qat_ras`` (Linux, Documentation/ABI/testing/sysfs-driver-qat_ras; there while the device is up), the out-of-tree
driver's ``ras_correctable``, ``ras_uncorrectable`` and ``ras_fatal``, and the link's own ``aer_dev_*`` (sysfs-bus-pci-
devices-aer_stats), which do not move with the former. The drivers' counters begin at 0 whenever the device goes up or
down, so that an agent has to accumulate. None of this was seen on hardware.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from translators.qat.devices import PCI_DEVICES
from translators.sources import SourceError, read_attribute, shown

if TYPE_CHECKING:
    from datetime import datetime

    from translators.host import Host

KINDS: Final = ("correctable", "nonfatal", "fatal")
_IN_TREE: Final = ("qat_ras/errors_correctable", "qat_ras/errors_nonfatal", "qat_ras/errors_fatal")
_OUT_OF_TREE: Final = ("ras_correctable", "ras_uncorrectable", "ras_fatal")
_AER: Final = ("aer_dev_correctable", "aer_dev_nonfatal", "aer_dev_fatal")
_AER_TOTAL: Final = re.compile(r"TOTAL_ERR_\w+ (?P<count>[0-9]{1,20})")
_AER_ROW: Final = re.compile(r"\w[\w ./-]{0,63} [0-9]{1,20}")
_COUNT: Final = re.compile(r"-?[0-9]{1,20}")
_WORD: Final = 2**32
_MODULUS: Final = 2**64


@dataclass(frozen=True, slots=True)
class Counts:
    """Errors by what they did to the device; None where the driver does not count them."""

    correctable: int | None
    nonfatal: int | None
    fatal: int | None


@dataclass(frozen=True, slots=True)
class Accumulator:
    """Counters that go on over the device's resets. Frozen and of plain values, so that it can be stored.

    ``since`` is when it was begun, its discontinuity-time. What the device counted between the last look and its
    going down is not known to anybody and is missing.
    """

    since: datetime
    totals: tuple[int | None, ...] = (None,) * len(KINDS)
    last: tuple[int | None, ...] = field(default=(None,) * len(KINDS))

    def after(self, counts: Counts | None, *, anew: bool = False) -> Accumulator:
        """Return the accumulator after a look; None where the device has no counters now: it is down.

        ``anew``: the device is known to have been down since the last look, though its counters don't show it.
        A source that is broken is no look.
        """
        if counts is None:
            return Accumulator(self.since, self.totals)
        now = (counts.correctable, counts.nonfatal, counts.fatal)
        last = (None,) * len(KINDS) if anew else self.last
        totals = tuple(_added(*row) for row in zip(self.totals, last, now, strict=True))
        return Accumulator(self.since, totals, now)

    @property
    def counts(self) -> Counts:
        """The errors since ``since``."""
        correctable, nonfatal, fatal = self.totals
        return Counts(correctable, nonfatal, fatal)


def read(host: Host, address: str) -> Counts | None:
    """Return what the driver's counters say now, None where it has none: too old, or down. Raises SourceError."""
    for names in (_IN_TREE, _OUT_OF_TREE):
        counts = tuple(_count(host, f"{PCI_DEVICES}/{address}/{name}") for name in names)
        if any(count is not None for count in counts):
            return Counts(*counts)
    return None


def read_link(host: Host, address: str) -> Counts | None:
    """Return the errors of the PCI Express link, None where the kernel does not count them. Raises SourceError."""
    counts = tuple(_aer_total(host, f"{PCI_DEVICES}/{address}/{name}") for name in _AER)
    return None if all(count is None for count in counts) else Counts(*counts)


def _count(host: Host, path: str) -> int | None:
    text = read_attribute(host, path)
    if text is None:
        return None
    if _COUNT.fullmatch(text) is None or not -_WORD // 2 <= int(text) < _MODULUS:
        raise SourceError(path, f"{shown(text)} is no count of errors")
    # The kernel keeps 32 bits and prints them with a sign.
    return int(text) % _WORD if int(text) < 0 else int(text)


def _aer_total(host: Host, path: str) -> int | None:
    text = read_attribute(host, path)
    if text is None:
        return None
    rows = text.splitlines()
    total = _AER_TOTAL.fullmatch(rows[-1].strip()) if rows else None
    if total is None or int(total["count"]) >= _MODULUS or not all(_AER_ROW.fullmatch(row.strip()) for row in rows):
        raise SourceError(path, f"{shown(text)} is no table of errors with its total")
    return int(total["count"])


def _added(total: int | None, last: int | None, now: int | None) -> int | None:
    if now is None:
        return total
    # A counter that is smaller than it was has begun anew.
    grown = now - last if last is not None and now >= last else now
    return ((total or 0) + grown) % _MODULUS
