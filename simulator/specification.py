"""Which devices a simulated machine is to have: ``TYPE[@PCI-ADDRESS]``."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from simulator.machine.families import FAMILIES
from simulator.machine.inventory import same_bus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simulator.machine.families import Family, Release

# The functions that every simulated machine has besides its accelerators.
HOST_BRIDGE = "0000:00:00.0"
NETWORK_CARDS = ("0000:00:14.0", "0000:00:14.1")

_RELEASE = re.compile(r"([0-9]{1,3})\.([0-9]{1,3})")
_ADDRESS = re.compile(r"(?:([0-9a-f]{4}):)?([0-9a-f]{2}):([01][0-9a-f])\.([0-7])", re.IGNORECASE)
# Slot 1, function 0, in devices of the second generation.
_FIRST_VIRTUAL_FUNCTION = 8
_BUSES = 256
# The Linux whose driver can bring a device up and down by a file.
_FIRST_SWITCH = (6, 0)


class SimulatorError(Exception):
    """A machine can't be simulated as asked; the text is a sentence for people."""


class SpecificationError(SimulatorError):
    """There is no such machine, wherever it is to be made: what is asked for is not known, or does not go together."""


@dataclass(frozen=True, slots=True)
class DeviceSpec:
    """A device: its type (``c6xx``, ``c6xxvf``) and PCI address (``0000:3d:00.0``; None: a free one)."""

    type: str
    address: str | None = None


def parse_device(text: str) -> DeviceSpec:
    """Read ``c6xx@0000:3d:00.0``, ``c6xx@3D:00.0`` or ``c6xx``. Raises SpecificationError."""
    name, at, address = text.strip().partition("@")
    return _checked(DeviceSpec(name, address if at else None))


def place(devices: Sequence[DeviceSpec], *, in_tree: bool | None = None) -> tuple[DeviceSpec, ...]:
    """Return the devices, in the order given, each with an address; ``in_tree`` as in ``simulator.build``.

    The first device without one gets 0000:01:00.0, each further one a bus of its own; a virtual function gets
    the next function on the bus of a physical one of its type, where there is one. Raises SpecificationError.
    """
    placed = [_checked(device) for device in devices]
    _check_driver(placed, in_tree=in_tree)
    taken = {HOST_BRIDGE: "host bridge", **dict.fromkeys(NETWORK_CARDS, "network card")}
    for device in placed:
        if device.address is not None:
            if device.address in taken:
                raise SpecificationError(
                    f"{device.address} can't be a {device.type}: there is a {taken[device.address]} already"
                )
            taken[device.address] = device.type
    # Physical functions first: virtual ones go where these are.
    for index, device in sorted(enumerate(placed), key=lambda pair: bool(FAMILIES[pair[1].type].parent)):
        if device.address is None:
            address = _free_address(device, placed, taken)
            placed[index] = replace(device, address=address)
            taken[address] = device.type
    _check_virtual_functions(placed)
    return tuple(placed)


def parse_release(text: str) -> Release:
    """Read a version of Linux (``6.12``). Raises SpecificationError."""
    match = _RELEASE.fullmatch(text.strip())
    if match is None:
        known = [(family.name, _first(family)) for family in FAMILIES.values() if not family.parent]
        drivers = ", ".join(f"{name} from {first[0]}.{first[1]} on" for name, first in known if first)
        raise SpecificationError(
            f"{text!r} is not a version of Linux such as 6.12, of which the drivers are played: {drivers}"
        )
    return int(match[1]), int(match[2])


def check_release(devices: Sequence[DeviceSpec], kernel: Release) -> None:
    """Raise SpecificationError where a Linux has no driver for one of the devices, or for a later one no switch."""
    for device in devices:
        family = FAMILIES[device.type]
        since = None if family.parent else _first(family)
        if since is not None and kernel < since:
            raise SpecificationError(
                f"a {device.type} is simulated with Linux {since[0]}.{since[1]} and later only, not with"
                f" {kernel[0]}.{kernel[1]}"
            )


def _first(family: Family) -> Release | None:
    """Return the first Linux that is simulated with a device, None where it has no driver."""
    return max(family.since, _FIRST_SWITCH) if family.since and family.later else family.since


def _check_driver(devices: Sequence[DeviceSpec], *, in_tree: bool | None) -> None:
    kinds = {FAMILIES[device.type].later: device.type for device in devices}
    if in_tree is False and True in kinds:
        raise SpecificationError(f"a {kinds[True]} is simulated with the kernel's own driver only")
    if in_tree:
        for device in devices:
            if FAMILIES[device.type].since is None:
                raise SpecificationError(f"Linux itself has no driver for a {device.type}")
    elif len(kinds) > 1:
        raise SpecificationError(
            f"a machine has one driver: {kinds[False]} is driven by the out-of-tree one here, {kinds[True]} by the"
            " kernel's"
        )


def _checked(device: DeviceSpec) -> DeviceSpec:
    name = device.type.lower()
    if name not in FAMILIES:
        raise SpecificationError(f"{device.type!r} is no type of accelerator; there are {', '.join(FAMILIES)}")
    if device.address is None:
        return DeviceSpec(name)
    match = _ADDRESS.fullmatch(device.address)
    if match is None:
        raise SpecificationError(f"{device.address!r} is not a PCI address such as 0000:3d:00.0")
    domain, bus, slot, function = match.groups("0000")
    return DeviceSpec(name, f"{domain}:{bus}:{slot}.{function}".lower())


def _free_address(device: DeviceSpec, placed: Sequence[DeviceSpec], taken: dict[str, str]) -> str:
    family = FAMILIES[device.type]
    candidates = []
    for physical in placed:
        if physical.type == family.parent and physical.address is not None:
            bus = physical.address.rpartition(":")[0]
            first = _FIRST_VIRTUAL_FUNCTION
            candidates += [
                f"{bus}:{index // 8:02x}.{index % 8}"
                for index in range(first, first + FAMILIES[physical.type].functions)
            ]
    candidates += [f"0000:{bus:02x}:00.0" for bus in range(1, _BUSES)]
    for address in candidates:
        if address not in taken:
            return address
    raise SpecificationError(f"there is no free PCI address left for a {device.type}")


def _check_virtual_functions(placed: Sequence[DeviceSpec]) -> None:
    for physical in placed:
        children = virtual_functions(physical, placed)
        limit = FAMILIES[physical.type].functions
        if len(children) > limit:
            raise SpecificationError(
                f"{physical.address} would have {len(children)} virtual functions, but a {physical.type}"
                f" has {limit} at most"
            )


def virtual_functions(physical: DeviceSpec, placed: Sequence[DeviceSpec]) -> list[DeviceSpec]:
    """Return the virtual functions of a physical one: those of its type on its bus, by address."""
    found = [
        device
        for device in placed
        if FAMILIES[device.type].parent == physical.type and same_bus(str(device.address), str(physical.address))
    ]
    return sorted(found, key=lambda device: str(device.address))
