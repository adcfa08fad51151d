"""Supervision of the devices: what has changed since the last look, and whether IPsec has to fall back.

A device that goes down is told of at once, and that it is back when that has lasted (``trust``). With ``on-failure``
fall-back, IPsec is refreshed once when no device is up any more, so that its security associations are made anew on
software, and once more when one is back and has lasted. A refresh that fails is tried again, each time after twice as
many looks. Running is not changed by it; ``fallback-active`` says it. A device is never reset.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from translators.base import Attention, Disturbance, Event, ShortMemory
from translators.qat.device_source import machine_state, overseen
from translators.qat.devices import inventory
from translators.qat.measures import Measures
from translators.qat.names import Names
from translators.qat.pulse import Pulse
from translators.qat.state import Observer, State
from translators.qat.trust import MOST_LOOKS, Trust

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from translators.base import Memory, Tree
    from translators.host import Host
    from translators.qat.devices import Device
    from translators.qat.model import QatConfig
    from translators.qat.vyos_watch import Drift

FALLBACK: Final = "fall-back"
_GONE: Final = State("unknown", "the device is no longer on the PCI bus, or handed over")


class Supervision:
    """What is remembered from look to look; ``memory`` keeps whether IPsec has fallen back, beyond this process."""

    def __init__(self, memory: Memory | None = None) -> None:
        self._memory = ShortMemory() if memory is None else memory
        self.fallback_active = False
        with suppress(OSError, ValueError):
            self.fallback_active = (self._memory.recall(FALLBACK) or {}).get("active") is True
        self.pulse = Pulse()
        self.measures = Measures()
        self._names = Names()
        self._told_states: dict[str, State] = {}
        self._trust: dict[str, Trust] = {}
        self._any: Trust | None = None
        self._told: tuple[bool, bool] | None = None
        self._failed = False
        self._asked: Disturbance | None = None
        self._owed: Disturbance | None = None
        self._wait = 0
        self._pause = 1

    def look(self, host: Host, config: QatConfig, drift: Drift | None = None) -> Attention:
        """Look at every device once, and tell of a ``drift`` of VyOS's configuration that was seen with it.

        Raises SourceError where they can't be looked at at all.
        """
        observer = Observer(host)
        devices = _devices(host)
        self.measures.take(host, observer, devices)
        asked = [device for device in devices if config.health.heartbeat and _is_up(observer, device)]
        events = self.pulse.look(host, observer, asked)
        states = self._states(observer, devices)
        self._trust = {
            address: self._trust.get(address, Trust(up=state.status == "up")).after(up=state.status == "up")
            for address, state in states.items()
        }
        believed = {
            address: self._told_states.get(address, state)
            if state.status == "up" and not self._trust[address].up
            else state
            for address, state in states.items()
        }
        events += self._changes(observer, believed, config)
        refresh = self._fall_back(config, up=_is_active(states))
        return Attention((*events, *self._acceleration(drift=drift)), refresh)

    def changed(self, host: Host, config: QatConfig, cause: str) -> tuple[Event, ...]:
        """Return what a change has made of the devices. It is no look: heartbeats and falling back are left to those.

        Raises SourceError where they can't be looked at at all.
        """
        observer = Observer(host)
        devices = _devices(host)
        self.measures.take(host, observer, devices)
        self.pulse.forget()
        states = self._states(observer, devices)
        was_down = bool(self._told_states) and _is_active(self._told_states) is False
        up = {address: state.status == "up" for address, state in states.items()}
        self._trust = {address: self._trust.get(address, Trust(up=now)).told(up=now) for address, now in up.items()}
        self._any = (self._any or Trust(up=False)).told(up=any(up.values()))
        if any(up.values()) and (was_down or cause != "start-up"):
            # The change itself has refreshed IPsec. What start-up finds up came back while no agent was there.
            self._set_fallback(active=False)
        return (*self._changes(observer, states, config), *self._acceleration(cause))

    def refreshed(self, *, done: bool) -> None:
        """Learn whether the refresh was made that the last look had asked for."""
        if not done:
            self._owed = self._asked
            self._wait, self._pause = self._pause, min(2 * self._pause, MOST_LOOKS)

    def _states(self, observer: Observer, devices: list[Device]) -> dict[str, State]:
        return {
            device.address: overseen(machine_state(observer, device), heart_failed=self.pulse.failed(device.address))
            for device in devices
        }

    def _changes(self, observer: Observer, after: dict[str, State], config: QatConfig) -> list[Event]:
        """Return the devices' changes of state since they were told; before the first look none is known."""
        before, self._told_states = self._told_states, after
        self._names.learn(observer, [address for address in after if _came_up(address, before, after)])
        events = []
        for address, state in after.items():
            old = before.get(address)
            if old is None or old.status == state.status:
                continue
            wanted = config.enabled and config.device(address).enabled
            reason = f": {state.reason}" if state.reason else ""
            severity = "warning" if wanted and state.status != "up" else "info"
            text = f"device {address} went from {old.status} to {state.status}{reason}"
            events.append(Event(severity, text, self._change(address, old.status, state)))
        for address in sorted(before.keys() - after.keys()):
            text = f"device {address} is no longer on the PCI bus"
            events.append(Event("warning", text, self._change(address, before[address].status, _GONE)))
        return events

    def _change(self, address: str, old: str, new: State) -> Tree:
        name, reason = self._names.of(address), new.reason
        known = {**({"name": name} if name else {}), **({"reason": reason} if reason else {})}
        content = {"address": address, "old-status": old, "new-status": new.status, **known}
        return {"hardware-acceleration:device-state-change": content}

    def _acceleration(self, cause: str | None = None, drift: Drift | None = None) -> Iterator[Event]:
        """Yield that acceleration came or went since it was told; without a ``cause`` it did so by itself.

        A ``drift`` is told also where it did not.
        """
        active, before = _is_active(self._told_states), self._told
        if active is not None:
            self._told = (active, self.fallback_active)
        if drift is not None:
            cause = "drift"
        elif before is None or before == self._told:
            return
        elif cause is None:
            cause = self._cause(recovered=active is True and (self._failed or before[1]))
        self._failed = cause == "failure"
        yield _acceleration_change(active, self.fallback_active, cause, drift)

    def _cause(self, *, recovered: bool) -> str:
        """Return why acceleration came or went by itself."""
        if recovered:
            return "recovery"
        return "failure" if any(state.status == "failed" for state in self._told_states.values()) else "external"

    def _fall_back(self, config: QatConfig, *, up: bool | None) -> Disturbance | None:
        """Return the refresh that IPsec needs now: one that is new, or one that failed and is due again.

        ``up`` is whether a device is up; None where that can't be told, which is no reason for anything.
        """
        before = self._any or Trust(up=up is True)
        self._any = now = before if up is None else before.after(up=up)
        if not config.enabled or config.health.on_failure != "fall-back":
            self._set_fallback(active=False)
            self._owed = None
            return None
        if (before.up and not now.up and not self.fallback_active) or (now.up and self.fallback_active):
            self._set_fallback(active=not now.up)
            self._owed, self._wait, self._pause = Disturbance("ipsec", config.ipsec_refresh, enabling=now.up), 0, 1
        if self._wait > 0:
            self._wait -= 1
            return None
        self._asked, self._owed = self._owed, None
        return self._asked

    def _set_fallback(self, *, active: bool) -> None:
        if active == self.fallback_active:
            return
        self.fallback_active = active
        with suppress(OSError):  # an agent that is started meanwhile then does not undo it
            self._memory.remember(FALLBACK, {"active": active})


def _devices(host: Host) -> list[Device]:
    return [device for device in inventory(host).devices if not device.assigned]


def _is_up(observer: Observer, device: Device) -> bool:
    return machine_state(observer, device).status == "up"


def _is_active(states: Mapping[str, State]) -> bool | None:
    """Return whether a device is up; None where none is known to be and the state of one can't be told."""
    statuses = {state.status for state in states.values()}
    return True if "up" in statuses else None if "unknown" in statuses else False


def _acceleration_change(active: bool | None, fallback: bool, cause: str, drift: Drift | None) -> Event:  # noqa: FBT001 - the leafs
    content: Tree = {"fallback-active": fallback, "cause": cause}
    if active is None:
        text = "whether acceleration is on can't be told"
    else:
        content["active"] = active
        text = f"acceleration is {'on' if active else 'off'}"
    text += f"{' and IPsec falls back to software' if fallback else ''} ({cause})"
    if drift is not None:
        content |= {"system-configured": drift.configured, "reason": drift.reason}
        text += f": {drift.reason}"
    severity = "warning" if drift is not None and drift.differs else "info"
    return Event(severity, text, {"hardware-acceleration:acceleration-change": content})


def _came_up(address: str, before: Mapping[str, State], after: Mapping[str, State]) -> bool:
    return after[address].status == "up" and (address not in before or before[address].status != "up")
