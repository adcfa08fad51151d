"""The QAT devices that are known, by PCI id: the one table of them.

Ids, modules and type names: DPDK, doc/guides/cryptodevs/qat.rst, and the drivers' adf_<type>_hw_data.h.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, NamedTuple

INTEL: Final = "8086"
# Devices of generation 4 and later: those that the kernel's driver has a switch for, and that measure themselves.
LATER_TYPES: Final = frozenset({"4xxx", "420xx", "6xxx"})
# Devices of these packages are of generation 1 to 3: not known to the stack for generation 4 and later.
EARLY_STACKS: Final = frozenset({"1.7", "1.8"})


@dataclass(frozen=True, slots=True)
class DeviceId:
    """One PCI id.

    ``type`` is the driver's word for the device: part of the names of its configuration file and of its debugfs
    directory. ``stack`` is the version of the out-of-tree package that drives it, None where none does.
    ``virtual_functions`` is how many a physical function can have; 0 for a virtual one.
    """

    device_id: str
    family: str
    type: str
    module: str
    description: str
    stack: str | None
    virtual: bool
    virtual_functions: int

    @property
    def pci_id(self) -> str:
        """Vendor and device, as lspci writes them."""
        return f"{INTEL}:{self.device_id}"

    @property
    def later(self) -> bool:
        """Whether it is a physical function of generation 4 or later."""
        return self.type in LATER_TYPES

    @property
    def wanted_driver(self) -> str:
        """What has to drive it, in words. Linux has no driver of its own for virtual functions of generation 4 on."""
        if not self.virtual or self.type.removesuffix("vf") not in LATER_TYPES:
            return self.module
        text = "vfio-pci, which hands it over (Linux itself has no driver for it)"
        return text if self.stack is None else f"{text}, or {self.module} of the out-of-tree QAT driver {self.stack}"


class _Pair(NamedTuple):
    """A device: the ids of its physical and its virtual function, and how many of the latter it can have."""

    physical: str
    virtual: str
    functions: int
    family: str
    type: str
    module: str
    stack: str | None
    text: str

    def ids(self) -> tuple[DeviceId, DeviceId]:
        name = f"Intel QAT {self.text}"
        physical = DeviceId(
            device_id=self.physical,
            family=self.family,
            type=self.type,
            module=self.module,
            description=name,
            stack=self.stack,
            virtual=False,
            virtual_functions=self.functions,
        )
        virtual = replace(
            physical,
            device_id=self.virtual,
            type=f"{self.type}vf",
            module=f"{self.module}vf",
            description=f"{name} virtual function",
            virtual=True,
            virtual_functions=0,
        )
        return physical, virtual


_PAIRS: Final = (
    _Pair("0435", "0443", 32, "dh895xcc", "dh895xcc", "qat_dh895xcc", "1.7", "DH895xCC"),
    _Pair("37c8", "37c9", 16, "c6xx", "c6xx", "qat_c62x", "1.7", "C62x"),
    _Pair("19e2", "19e3", 16, "c3xxx", "c3xxx", "qat_c3xxx", "1.7", "C3xxx (Atom C3000)"),
    _Pair("18ee", "18ef", 16, "qat-200xx", "200xx", "qat_200xx", "1.7", "200xx"),
    _Pair("6f54", "6f55", 16, "d15xx", "d15xx", "qat_d15xx", "1.7", "D15xx (Xeon D-1500)"),
    _Pair("18a0", "18a1", 128, "c4xxx", "c4xxx", "qat_c4xxx", "1.8", "C4xxx (Atom P5000)"),
    _Pair("4940", "4941", 16, "qat-4xxx", "4xxx", "qat_4xxx", "2.0", "4xxx"),
    _Pair("4942", "4943", 16, "qat-4xxx", "4xxx", "qat_4xxx", "2.0", "401xx"),
    _Pair("4944", "4945", 16, "qat-4xxx", "4xxx", "qat_4xxx", "2.0", "402xx"),
    _Pair("4946", "4947", 16, "qat-420xx", "420xx", "qat_420xx", None, "420xx"),
    _Pair("4948", "4949", 0, "qat-6xxx", "6xxx", "qat_6xxx", None, "6xxx"),
)

DEVICE_IDS: Final = tuple(entry for pair in _PAIRS for entry in pair.ids())

BY_DEVICE_ID: Final = {entry.device_id: entry for entry in DEVICE_IDS}
