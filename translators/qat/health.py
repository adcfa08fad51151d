"""Supervision of the devices: what has changed since the last look, and whether IPsec has to fall back.

With ``on-failure`` fall-back, IPsec is refreshed once when no device is up any more, so that its security associations
are made anew on software, and once more when a device has been up for two looks in a row. Running is not changed by
it; ``fallback-active`` says it.

Heartbeats are read here only, once per interval, and only if the operator opted in: on some devices a reading that
comes too often, or fails by mistake, stops their DMA (Intel's QAT release notes, QAT20-24970).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from translators.base import Attention, Disturbance, Event
from translators.qat.device_state import machine_state
from translators.qat.devices import inventory
from translators.qat.state import Observer, State
from translators.sources import SourceError, decoded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from translators.base import Tree
    from translators.host import Host
    from translators.qat.devices import Device
    from translators.qat.model import QatConfig

LOOKS_TO_TRUST: Final = 2
_STATUS: Final = {"0": "healthy", "-1": "failed"}
# Out-of-tree drivers have three files in the device's directory, the kernel's has a directory of its own.
_FILES: Final = (
    ("heartbeat", "heartbeat_sent", "heartbeat_failed"),
    ("heartbeat/status", "heartbeat/queries_sent", "heartbeat/queries_failed"),
)


class Supervision:
    """What is remembered from look to look."""

    def __init__(self) -> None:
        self.fallback_active = False
        self.heartbeats: dict[str, Tree] = {}
        self._states: dict[str, State] = {}
        self._told: tuple[bool, bool] | None = None
        self._failed = False
        self._was_up = False
        self._looks_up = 0

    def look(self, host: Host, config: QatConfig) -> Attention:
        """Look at every device once. Raises SourceError where they can't be looked at at all."""
        observer = Observer(host)
        devices = _devices(host)
        states = {device.address: machine_state(observer, device) for device in devices}
        events = [*_changes(self._states, states, config), *self._beat(observer, devices, states, config)]
        self._states = states
        refresh = self._fall_back(config, up=_is_active(states))
        return Attention((*events, *self._acceleration()), refresh)

    def changed(self, host: Host, config: QatConfig, cause: str) -> tuple[Event, ...]:
        """Return what a change has made of the devices. It is no look: heartbeats and falling back are left to those.

        Raises SourceError where they can't be looked at at all.
        """
        observer = Observer(host)
        states = {device.address: machine_state(observer, device) for device in _devices(host)}
        events = _changes(self._states, states, config)
        self._states = states
        return (*events, *self._acceleration(cause))

    def _acceleration(self, cause: str | None = None) -> Iterator[Event]:
        """Yield that acceleration came or went since it was told; without a ``cause`` it did so by itself."""
        now = (_is_active(self._states), self.fallback_active)
        before, self._told = self._told, now
        if before is None or before == now:
            return
        active, fallback = now
        if cause is None and active and (self._failed or before[1]):
            cause = "recovery"
        elif cause is None:
            cause = "failure" if any(state.status == "failed" for state in self._states.values()) else "external"
        self._failed = cause == "failure"
        text = f"acceleration is {'on' if active else 'off'}{' and IPsec falls back to software' if fallback else ''}"
        content = {"active": active, "fallback-active": fallback, "cause": cause}
        yield Event("info", f"{text} ({cause})", {"hardware-acceleration:acceleration-change": content})

    def _fall_back(self, config: QatConfig, *, up: bool) -> Disturbance | None:
        """Return the refresh that IPsec needs, and remember that it was asked for."""
        self._looks_up = self._looks_up + 1 if up else 0
        was_up, self._was_up = self._was_up, up
        if not config.enabled or config.health.on_failure != "fall-back":
            self.fallback_active = False
            return None
        if not up and was_up and not self.fallback_active:
            self.fallback_active = True
            return Disturbance("ipsec", config.ipsec_refresh, enabling=False)
        if self.fallback_active and self._looks_up >= LOOKS_TO_TRUST:
            self.fallback_active = False
            return Disturbance("ipsec", config.ipsec_refresh, enabling=True)
        return None

    def _beat(
        self, observer: Observer, devices: Iterable[Device], states: dict[str, State], config: QatConfig
    ) -> list[Event]:
        """Read the heartbeats, where that is asked for, and return what is wrong with them."""
        before, self.heartbeats = self.heartbeats, {}
        if not config.health.heartbeat:
            return []
        events = []
        for device in devices:
            if states[device.address].status != "up":
                continue
            try:
                beat = _heartbeat(observer, device)
            except (SourceError, OSError) as error:
                events.append(Event("warning", f"{device.label}: the heartbeat can't be read: {error}"))
                continue
            if beat:
                self.heartbeats[device.address] = beat
            failed_before = before.get(device.address, {}).get("status") == "failed"
            if beat.get("status") == "failed" and not failed_before:
                events.append(_error(device, f"{device.label}: the firmware's heartbeat fails"))
        return events


def _devices(host: Host) -> list[Device]:
    return [device for device in inventory(host).devices if not device.assigned]


def _is_active(states: Mapping[str, State]) -> bool:
    return any(state.status == "up" for state in states.values())


def _error(device: Device, text: str) -> Event:
    content = {"address": device.address, "kind": "heartbeat", "severity": "major", "message": text}
    return Event("error", text, {"hardware-acceleration:device-error": content})


def _changes(before: dict[str, State], after: dict[str, State], config: QatConfig) -> list[Event]:
    """Return the devices' changes of state; before the first look nothing is known to have changed."""
    events = []
    for address, state in after.items():
        old = before.get(address)
        if old is None or old.status == state.status:
            continue
        wanted = config.enabled and config.device(address).enabled
        reason = f": {state.reason}" if state.reason else ""
        severity = "warning" if wanted and state.status != "up" else "info"
        text = f"device {address} went from {old.status} to {state.status}{reason}"
        events.append(Event(severity, text, _change(address, old.status, state)))
    for address in sorted(before.keys() - after.keys()):
        gone = State("unknown", "the device is no longer on the PCI bus, or handed over")
        text = f"device {address} is no longer on the PCI bus"
        events.append(Event("warning", text, _change(address, before[address].status, gone)))
    return events


def _change(address: str, old: str, new: State) -> Tree:
    reason = {"reason": new.reason} if new.reason else {}
    content = {"address": address, "old-status": old, "new-status": new.status, **reason}
    return {"hardware-acceleration:device-state-change": content}


def _heartbeat(observer: Observer, device: Device) -> Tree:
    """Return status, sent and failed as far as the driver has them. Raises SourceError, OSError."""
    for status_file, sent_file, failed_file in _FILES:
        status = _text(observer, device, status_file)
        if status is None:
            continue
        path = observer.path(device.target, status_file)
        if status not in _STATUS:
            raise SourceError(path, f"neither 0 nor -1: {status[:20]!r}")
        tree: Tree = {"status": _STATUS[status]}
        for name, file in (("sent", sent_file), ("failed", failed_file)):
            count = _text(observer, device, file)
            if count is not None and count.isascii() and count.isdigit():
                tree[name] = int(count)
        return tree
    return {}


def _text(observer: Observer, device: Device, name: str) -> str | None:
    try:
        data = observer.file(device.target, name)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
    # The kernel counts the NUL at the end in (adf_heartbeat_dbgfs.c).
    return decoded(data.replace(b"\0", b""), observer.path(device.target, name)).strip()
