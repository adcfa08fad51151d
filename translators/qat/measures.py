"""What is measured from look to look: request rates, and errors counted over resets.

Looks come one at a time: from who supervises the devices, or has just changed them. A rate is that of the interval
between two of them, whoever asks for it: the many readers there are at once don't move it. Errors are added up by
readers too, as counts that were shown must not be forgotten when the device resets its own.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from threading import Lock
from typing import TYPE_CHECKING, TypeAlias

from translators.qat import ras
from translators.qat.counted import counted
from translators.qat.ras import Accumulator, Counts
from translators.qat.rates import Meter
from translators.sources import SourceError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from translators.host import Host
    from translators.qat.devices import Device
    from translators.qat.state import Observer

Read: TypeAlias = Callable[["Host", str], Counts | None]


class Measures:
    """The meters of the devices, by address. A source that is broken is no look: what was measured stays."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._since: datetime | None = None
        self._meters: dict[str, Meter] = {}
        self._errors: dict[tuple[str, Read], Accumulator] = {}

    def take(self, host: Host, observer: Observer, devices: Iterable[Device]) -> None:
        """Measure devices once; those that are not among them keep what was measured of them."""
        for device in devices:
            with suppress(SourceError, OSError):
                engines = counted(observer, device)
                meter = self.meter(device.address)
                self._meters[device.address] = meter.after(engines, seconds=host.monotonic(), now=host.now())
            for read in (ras.read, ras.read_link):
                with suppress(SourceError):
                    self.errors(host, device.address, read)

    def meter(self, address: str) -> Meter:
        """Return a device's meter as it was at the last look."""
        return self._meters.get(address, Meter())

    def errors(self, host: Host, address: str, read: Read) -> Accumulator:
        """Return the errors up to now that ``ras.read`` or ``ras.read_link`` reads. Raises SourceError."""
        # Read with the lock held: of two readers, the one with the older count would make a reset of it.
        with self._lock:
            since = self._since = self._since or host.now()
            before = self._errors.get((address, read), Accumulator(since))
            found = self._errors[address, read] = before.after(read(host, address))
        return found
