"""The steps that use the switch of the kernel's driver: bring a device up or down, set what it takes while it is down.

A running device gets other services by three steps: down, set, up. Undone in reverse order, they bring it down, set
what it had, and bring it up with the settings that going down loses (``kept``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from translators.base import Disturbance, StepError
from translators.qat import intree, kept

if TYPE_CHECKING:
    from translators.base import Step
    from translators.host import Host


@dataclass(frozen=True, slots=True)
class BringUp:
    """Bring a device up; ``settings`` (``auto_reset=on``; see ``kept``) are what it is to have again."""

    kind: ClassVar[str] = "qat-up"

    address: str
    settings: tuple[str, ...]
    refresh: str

    @property
    def disturbs(self) -> Disturbance | None:
        return Disturbance("ipsec", self.refresh, enabling=True)

    def describe(self) -> str:
        settings = f" with {', '.join(self.settings)}" if self.settings else ""
        return f"bring QAT {self.address} up{settings} ({intree.folder(self.address)}/{intree.STATE})"

    def perform(self, host: Host) -> None:
        if _state(host, self.address) != "up":
            self._set(host)
            intree.write(host, self.address, intree.STATE, "up")
        kept.bring_back(host, self.address, self.settings)
        for name, value, found in self._compared(host):
            if not intree.same(name, found, value):
                raise StepError(f"QAT {self.address} is up and {name} is {found}, not {value}")

    def inverse(self) -> Step:
        return BringDown(self.address, self.settings, self.refresh)

    def observe(self, host: Host) -> str:
        return _observed(host, self.address)

    def _set(self, host: Host) -> None:
        for name, value, found in self._compared(host):
            if not intree.same(name, found, value):
                intree.write(host, self.address, name, value)

    def _compared(self, host: Host) -> list[tuple[str, str, str]]:
        pairs = kept.of_switch(self.settings)
        return [(name, value, intree.value_of(host, self.address, name) or "absent") for name, value in pairs]


@dataclass(frozen=True, slots=True)
class BringDown:
    """Bring a device down; ``settings`` are what it has and loses by that."""

    kind: ClassVar[str] = "qat-down"

    address: str
    settings: tuple[str, ...]
    refresh: str

    @property
    def disturbs(self) -> Disturbance | None:
        return Disturbance("ipsec", self.refresh, enabling=False)

    def describe(self) -> str:
        return f"bring QAT {self.address} down ({intree.folder(self.address)}/{intree.STATE})"

    def perform(self, host: Host) -> None:
        if _state(host, self.address) != "down":
            intree.write(host, self.address, intree.STATE, "down")

    def inverse(self) -> Step:
        return BringUp(self.address, self.settings, self.refresh)

    def observe(self, host: Host) -> str:
        return _observed(host, self.address)


@dataclass(frozen=True, slots=True)
class SetAttribute:
    """Give a file of a device's switch another value, while the device is down: ``cfg_services``, say.

    ``value`` and ``before`` are words as the file has them; services may be in any order.
    """

    kind: ClassVar[str] = "qat-set"

    address: str
    name: str
    value: str
    before: str

    @property
    def disturbs(self) -> Disturbance | None:
        return None

    def describe(self) -> str:
        return f"set {self.name} of QAT {self.address} to {self.value} ({intree.folder(self.address)}/{self.name})"

    def perform(self, host: Host) -> None:
        found = intree.value_of(host, self.address, self.name)
        if found is not None and intree.same(self.name, found, self.value):
            return
        if _state(host, self.address) != "down":
            raise StepError(f"QAT {self.address} must be down to have its {self.name} set to {self.value}, and is up")
        intree.write(host, self.address, self.name, self.value)

    def inverse(self) -> Step:
        return SetAttribute(self.address, self.name, self.before, self.value)

    def observe(self, host: Host) -> str:
        found = intree.value_of(host, self.address, self.name)
        return f"{_observed(host, self.address)}, its {self.name} is {'absent' if found is None else found}"


def _state(host: Host, address: str) -> str:
    state = intree.value_of(host, address, intree.STATE)
    if state is None:
        raise StepError(intree.no_switch(address))
    return state


def _observed(host: Host, address: str) -> str:
    state = intree.value_of(host, address, intree.STATE)
    return f"QAT {address} is {state}" if state else f"QAT {address} has no switch"
