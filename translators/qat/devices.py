"""Which QAT devices the PCI bus has, from sysfs alone.

Source: Linux, Documentation/ABI/testing/sysfs-bus-pci and Documentation/PCI/sysfs-pci.rst.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from translators.qat.ids import BY_DEVICE_ID, INTEL
from translators.sources import SourceError, read_attribute, read_link_name, read_names, shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from translators.host import Host
    from translators.qat.ids import DeviceId

PCI_DEVICES: Final = "/sys/bus/pci/devices"
# Drivers that hand a device over: to a virtual machine, or to a process in user space.
ASSIGNING_DRIVERS: Final = frozenset({"vfio-pci", "pci-stub", "uio_pci_generic", "igb_uio"})

_ADDRESS: Final = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]")
_HEX: Final = re.compile(r"0x([0-9a-f]+)")
_NUMBER: Final = re.compile(r"-?[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class Device:
    """A QAT function on the PCI bus: ``driver`` is bound to it, ``physical`` is a virtual one's parent."""

    address: str
    id: DeviceId
    driver: str | None
    physical: str | None

    @property
    def target(self) -> str:
        """Type and address in one word, ``c3xxx@0000:01:00.0``: what a step keeps of a device."""
        return f"{self.id.type}@{self.address}"

    @property
    def assigned(self) -> bool:
        """Whether the device is handed over, so that this system does not drive it."""
        return self.driver in ASSIGNING_DRIVERS

    @property
    def label(self) -> str:
        """The device in a message."""
        return f"{self.address} ({self.id.description}, {self.id.pci_id})"


@dataclass(frozen=True, slots=True)
class Inventory:
    """The QAT devices, by address, and the PCI functions that could not be identified."""

    devices: tuple[Device, ...]
    broken: tuple[tuple[str, SourceError], ...] = ()


@dataclass(frozen=True, slots=True)
class PciDetails:
    """What sysfs says of a function besides its identity; None for what it does not say."""

    pci_class: str | None
    revision: str | None
    numa_node: int | None
    functions_total: int | None
    functions_enabled: int | None


def inventory(host: Host, wanted: Callable[[str], bool] = lambda _address: True) -> Inventory:
    """Return the QAT devices whose address is wanted; nothing is read of the others.

    Raises SourceError when the bus can't be listed.
    """
    devices: list[Device] = []
    broken: list[tuple[str, SourceError]] = []
    for address in read_names(host, PCI_DEVICES) or ():
        if _ADDRESS.fullmatch(address) is None or not wanted(address):
            continue
        try:
            device = _identified(host, address)
        except SourceError as error:
            broken.append((address, error))
            continue
        if device is not None:
            devices.append(device)
    return Inventory(tuple(devices), tuple(broken))


def pci_details(host: Host, address: str) -> PciDetails:
    """Return the details of a function. Raises SourceError."""
    folder = f"{PCI_DEVICES}/{address}"
    pci_class = _hex(host, f"{folder}/class", digits=6)
    revision = _hex(host, f"{folder}/revision", digits=2)
    numa_node = _number(host, f"{folder}/numa_node")
    return PciDetails(
        pci_class=pci_class,
        revision=revision,
        # -1: the system has no such notion, or the firmware does not say.
        numa_node=numa_node if numa_node is not None and numa_node >= 0 else None,
        functions_total=_number(host, f"{folder}/sriov_totalvfs"),
        functions_enabled=_number(host, f"{folder}/sriov_numvfs"),
    )


def split_target(target: str) -> tuple[str, str]:
    """Return the type and the address in a device's ``target``."""
    kind, _, address = target.partition("@")
    return kind, address


def _identified(host: Host, address: str) -> Device | None:
    """Return a function as a QAT device; None for any other, or when it vanishes meanwhile."""
    folder = f"{PCI_DEVICES}/{address}"
    if _hex(host, f"{folder}/vendor", digits=4) != INTEL:
        return None
    known = BY_DEVICE_ID.get(_hex(host, f"{folder}/device", digits=4) or "")
    if known is None:
        return None
    driver = read_link_name(host, f"{folder}/driver")
    physical = read_link_name(host, f"{folder}/physfn") if known.virtual else None
    return Device(address, known, driver, physical)


def _hex(host: Host, path: str, *, digits: int) -> str | None:
    """Return the digits of a number that the kernel writes with so many (drivers/pci/pci-sysfs.c)."""
    text = read_attribute(host, path)
    if text is None:
        return None
    match = _HEX.fullmatch(text)
    if match is None or len(match[1]) != digits:
        raise SourceError(path, f"{shown(text)} is no hexadecimal number of {digits} digits")
    return match[1]


def _number(host: Host, path: str) -> int | None:
    text = read_attribute(host, path)
    if text is None:
        return None
    if _NUMBER.fullmatch(text) is None:
        raise SourceError(path, f"{shown(text)} is no number")
    return int(text)
