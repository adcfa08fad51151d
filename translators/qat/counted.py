"""The firmware's counters of a device, or that it has none now."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

from translators.qat import counters
from translators.qat.state import COUNTERS
from translators.sources import decoded

if TYPE_CHECKING:
    from translators.qat.counters import Engine
    from translators.qat.devices import Device
    from translators.qat.state import Observer


def counted(observer: Observer, device: Device) -> tuple[Engine, ...] | None:
    """Return the engines' counters; None where the device has none, or is not up. Raises SourceError, OSError."""
    try:
        data = observer.file(device.target, COUNTERS)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        # The drivers' way to say that the device is stopped.
        if error.errno == errno.EFAULT and observer.state(device.target).status == "down":
            return None
        raise
    path = observer.path(device.target, COUNTERS)
    return counters.parse(decoded(data, path), path)
