"""The switch that the kernel's driver has for a device of generation 4 and later: ``qat`` in its sysfs directory.

Source: Linux, Documentation/ABI/testing/sysfs-driver-qat, and adf_sysfs.c. Which files there are, and which services
they take, depends on the kernel and on what a distribution put into it: both are found out by asking, never by a
version. Devices of generation 2 have no such directory, and no switch. None of this was seen on hardware.
"""

from __future__ import annotations

import errno
import re
from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING, Final

from translators.base import StepError
from translators.qat.devices import PCI_DEVICES
from translators.qat.services import bits_text, services_in
from translators.sources import SourceError, read_attribute, read_names, shown

if TYPE_CHECKING:
    from translators.host import Host
    from translators.qat.ids import DeviceId
    from translators.qat.services import Services

STATE: Final = "state"
SERVICES: Final = "cfg_services"
POWER: Final = "pm_idle_enabled"
RESET: Final = "auto_reset"

_STATES: Final = frozenset({"up", "down"})
_WORDS: Final = {"1": True, "on": True, "y": True, "0": False, "off": False, "n": False}
_NUMBER: Final = re.compile(r"[0-9]{1,9}")
# The order that the oldest kernels have; newer ones take any.
_ORDER: Final = ("sym", "asym", "dc", "decomp", "dcc")
_ALONE: Final = "dcc"
# Services at the same time (sysfs-driver-qat, cfg_services): generation 4 and 5 two, generation 6 three.
_LATEST_TYPE: Final = "6xxx"
_MOST: Final = 2
_MOST_LATEST: Final = 3


@dataclass(frozen=True, slots=True)
class Switch:
    """A device's switch and settings; None where this kernel has no such file."""

    up: bool
    services: str | None
    auto_reset: bool | None
    pm_idle: bool | None
    ring_pairs: int | None

    def settings(self) -> tuple[str, ...]:
        """Return the settings to bring back after going down, as ``name=value``.

        The kernel keeps the services and nothing else (adf_init.c, adf_dev_shutdown_cache_cfg).
        """
        values = {POWER: _bit(self.pm_idle, "1", "0"), RESET: _bit(self.auto_reset, "on", "off")}
        return tuple(f"{name}={value}" for name, value in values.items() if value is not None)


def folder(address: str) -> str:
    """Return the directory of a device's switch."""
    return f"{PCI_DEVICES}/{address}/qat"


def read(host: Host, address: str) -> Switch | None:
    """Return a device's switch, None where its driver has none. Raises SourceError."""
    up = is_up(host, address)
    if up is None:
        return None
    services = _attribute(host, address, SERVICES)
    if services is not None and services_in(services) is None:
        raise SourceError(f"{folder(address)}/{SERVICES}", f"{shown(services)} has an unknown service")
    pairs = _attribute(host, address, "num_rps")
    if pairs is not None and _NUMBER.fullmatch(pairs) is None:
        raise SourceError(f"{folder(address)}/num_rps", f"{shown(pairs)} is no number")
    return Switch(
        up=up,
        services=services,
        auto_reset=_flag(host, address, RESET),
        pm_idle=_flag(host, address, POWER),
        ring_pairs=None if pairs is None else int(pairs),
    )


def is_up(host: Host, address: str) -> bool | None:
    """Return whether a device's switch says that it is up, None where its driver has none. Raises SourceError."""
    if not host.exists(folder(address)):
        return None
    state = _attribute(host, address, STATE)
    if state not in _STATES:
        reason = "is not there" if state is None else f"{shown(state)} is neither up nor down"
        raise SourceError(f"{folder(address)}/{STATE}", reason)
    return state == "up"


def no_switch(address: str) -> str:
    """Return why a device can't be brought up or down, in words."""
    return (
        f"the kernel's driver has no switch for {address}: there is no {folder(address)}. Devices of generation 2 "
        "never have one; one of generation 4 and later has it from Linux 6.0 on, while its driver is bound"
    )


def spellings(services: Services) -> tuple[str, ...]:
    """Return the words for services in every order, the one that most kernels take first."""
    ordered = sorted(services, key=_ORDER.index)
    return tuple(";".join(words) for words in permutations(ordered))


def refusal(services: Services, device: DeviceId) -> str | None:
    """Return why no kernel takes these services on a device, None where one may: that is found out by writing them."""
    if not services:
        return "a device without a service is of no use: name at least one"
    if _ALONE in services and len(services) > 1:
        return f"'{bits_text(services)}': dcc is a service that does not go with another one"
    most = _MOST_LATEST if device.type == _LATEST_TYPE else _MOST
    if len(services) > most:
        return f"'{bits_text(services)}': it takes {most} at the same time at most"
    if "decomp" in services and device.type != _LATEST_TYPE:
        return "decomp is a service of 6xxx devices only"
    return None


def same(name: str, left: str, right: str) -> bool:
    """Return whether two values of a file mean the same."""
    if name == SERVICES:
        found = services_in(left)
        return found is not None and found == services_in(right)
    return _WORDS.get(left, left) == _WORDS.get(right, right)


def write(host: Host, address: str, name: str, value: str) -> None:
    """Write a file of the switch and look whether it has the value.

    Raises StepError, which explains the kernel's refusal.
    """
    path = f"{folder(address)}/{name}"
    words = services_in(value) if name == SERVICES else None
    refused: OSError | None = None
    for spelling in (value,) if words is None else dict.fromkeys((*spellings(words), value)):
        try:
            host.assign(path, f"{spelling}\n".encode())
        except OSError as error:
            refused = error
            if error.errno != errno.EINVAL:
                break
        else:
            refused = None
            break
    if refused is not None:
        raise StepError(f"{path} does not take {value!r}: {_explained(host, address, name, refused)}") from refused
    found = value_of(host, address, name)
    if found is None or not same(name, found, value):
        raise StepError(f"{path} says {found!r} after {value!r} was written: see the kernel log")


def value_of(host: Host, address: str, name: str) -> str | None:
    """Return what a file of the switch says, None where there is none. Raises StepError."""
    try:
        return _attribute(host, address, name)
    except SourceError as error:
        raise StepError(str(error)) from error


def _explained(host: Host, address: str, name: str, error: OSError) -> str:
    text = error.strerror or str(error)
    if isinstance(error, FileNotFoundError):
        there = read_names(host, folder(address)) is not None
        return "this kernel's driver has no such setting" if there else no_switch(address)
    if error.errno == errno.EBUSY:
        return (
            f"{text}: the device is in use or being reset. End what uses it (user-space processes, virtual functions, "
            "IPsec) and try again; the device was left as it is"
        )
    if error.errno == errno.EINVAL and name != STATE:
        if value_of(host, address, STATE) == "up":
            return f"{text}: the device is up, and takes this while it is down only"
        if name == SERVICES:
            return (
                f"{text}: the device is down, so this kernel's driver does not know one of the words, or not together"
            )
    if name == STATE:
        return f"{text}: the kernel log says why"
    return text


def _attribute(host: Host, address: str, name: str) -> str | None:
    return read_attribute(host, f"{folder(address)}/{name}")


def _flag(host: Host, address: str, name: str) -> bool | None:
    text = _attribute(host, address, name)
    if text is not None and text not in _WORDS:
        raise SourceError(f"{folder(address)}/{name}", f"{shown(text)} is neither on nor off")
    return None if text is None else _WORDS[text]


def _bit(value: bool | None, on: str, off: str) -> str | None:  # noqa: FBT001 - a value, not an option
    return None if value is None else on if value else off
