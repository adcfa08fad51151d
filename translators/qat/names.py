"""The driver's names for the devices (``qat_dev0``), also for those that are down by now.

A device's name is in those of its interrupts, which it has while it is up only; it stays until the driver is loaded
anew.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from translators.qat.interrupts import device_numbers
from translators.sources import SourceError

if TYPE_CHECKING:
    from collections.abc import Collection

    from translators.qat.state import Observer


class Names:
    """What the devices were called when they were last seen to come up, by address."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def learn(self, observer: Observer, addresses: Collection[str]) -> None:
        """Look for the names of devices that have come up; where there are none, nothing is read."""
        if not addresses:
            return
        for address in addresses:
            self._names.pop(address, None)
        with suppress(SourceError):
            found = device_numbers(observer.vectors() or (), addresses)
            self._names |= {address: f"qat_dev{number}" for address, number in found.items()}

    def of(self, address: str) -> str | None:
        """Return a device's name, None where its interrupts did not tell one."""
        return self._names.get(address)
