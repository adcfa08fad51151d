"""The heartbeats of the devices, where the operator opted in: read by looks alone, and never too often.

On some devices a reading that comes too often, or fails by mistake, stops their DMA (Intel's QAT release notes,
QAT20-24970). So one failing heartbeat is told, and a device counts as failed when the next one fails too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from translators.base import Event
from translators.qat import heartbeat
from translators.sources import SourceError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from translators.base import Tree
    from translators.host import Host
    from translators.qat.devices import Device
    from translators.qat.state import Observer

FAILURES_TO_BELIEVE: Final = 2
_ADVICE: Final = "look at the kernel log; restart the device where requests are no longer answered"


class Pulse:
    """What the last heartbeats said. ``beats`` are trees by address; a table of them is replaced, never changed."""

    def __init__(self) -> None:
        self.beats: dict[str, Tree] = {}
        self._failures: dict[str, int] = {}
        self._read_at: dict[str, float] = {}

    def failed(self, address: str) -> bool:
        """Return whether a device's firmware is believed not to answer."""
        return self._failures.get(address, 0) >= FAILURES_TO_BELIEVE

    def forget(self) -> None:
        """Believe nothing of what was read: the devices have been changed since."""
        self._failures = {}

    def look(self, host: Host, observer: Observer, devices: Iterable[Device]) -> list[Event]:
        """Read the heartbeats that are due of devices that are up, and return what is wrong with them."""
        before = self.beats
        beats: dict[str, Tree] = {}
        failures: dict[str, int] = {}
        events = []
        for device in devices:
            address = device.address
            failed_before = self._failures.get(address, 0)
            try:
                beat = self._beat(host, observer, device)
            except (SourceError, OSError) as error:
                events.append(Event("warning", f"{device.label}: the heartbeat can't be read: {error}"))
                continue
            if beat is None:
                beats |= {address: before[address]} if address in before else {}
                failures[address] = failed_before
            elif beat:
                beats[address] = beat
                failures[address] = failed_before + 1 if beat["status"] == "failed" else 0
            if failures.get(address) and not failed_before:
                events.append(_error(device))
        self.beats, self._failures = beats, failures
        return events

    def _beat(self, host: Host, observer: Observer, device: Device) -> Tree | None:
        """Return a heartbeat, empty where there is none, None where it is not due. Raises SourceError, OSError."""
        if not heartbeat.due(self._read_at.get(device.address), host.monotonic()):
            return None
        folder = observer.folder(device.target)
        if folder is None:
            return {}
        self._read_at[device.address] = host.monotonic()
        found = heartbeat.read(host, folder)
        if found is None:
            return {}
        values = {"status": found.status, "sent": found.sent, "failed": found.failed}
        return {name: value for name, value in values.items() if value is not None}


def _error(device: Device) -> Event:
    text = f"{device.label}: the firmware's heartbeat fails"
    content = {
        "address": device.address, "kind": "heartbeat", "severity": "major", "message": text, "advice": _ADVICE
    }  # fmt: skip
    return Event("error", text, {"hardware-acceleration:device-error": content})
