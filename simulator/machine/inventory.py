"""What a simulated machine is made of, and the file that says so."""

import itertools
import json
from typing import NamedTuple

from simulator.machine import sysroot
from simulator.machine.families import FAMILIES, Family, Release
from simulator.machine.sysroot import STATE, MachineError

FILE = f"{STATE}/machine.json"
# Where the directories are that the kernel's own driver has for its devices; links in sys lead here.
KERNEL = f"{STATE}/kernel"

# The chipset and the network card have the first interrupts.
_FIRST_IRQ = 130
# A function that no driver is bound to is no qat_devN.
_NO_NUMBER = -1
# Priorities of the kernel's ciphers in software.
_AESNI = 400
_GENERIC = 100


class Device(NamedTuple):
    """One function of an accelerator.

    ``number`` is the N of qat_devN, ``instance`` counts within its type; ``sriov``: it has virtual functions;
    ``in_tree``: its driver is the kernel's own.
    """

    number: int
    family: Family
    instance: int
    address: str
    sriov: bool
    in_tree: bool
    first_irq: int

    @property
    def name(self) -> str:
        """What the driver calls it."""
        return f"qat_dev{self.number}"

    @property
    def vectors(self) -> int:
        """How many banks have an interrupt: all, or none while virtual functions own them (adf_isr.c)."""
        return 0 if self.sriov else self.family.banks

    @property
    def debugfs(self) -> str:
        """Its directory in debugfs."""
        return f"sys/kernel/debug/qat_{self.family.kind}_{self.address}"

    @property
    def pci(self) -> str:
        """Its directory in sysfs."""
        return f"sys/bus/pci/devices/{self.address}"


class Machine(NamedTuple):
    """The machine at ``root``: devices by address, number of CPUs, whether these have AES instructions.

    ``kernel`` is the Linux whose driver is played where that is the kernel's own, ``priority`` that of the
    algorithms that devices register, None where they register none.
    """

    root: str
    devices: tuple[Device, ...]
    cpus: int
    aes: bool
    kernel: Release
    priority: int | None

    @property
    def in_tree(self) -> bool:
        """Whether its driver is the kernel's own."""
        return any(device.in_tree for device in self.devices)

    @property
    def offloads(self) -> bool:
        """Whether the kernel takes an accelerator's algorithms, of those it has."""
        return self.priority is not None and self.priority > (_AESNI if self.aes else _GENERIC)


class Platform(NamedTuple):
    """What a machine has besides its devices; see Machine. ``in_tree``: the kernel's own driver has all devices."""

    cpus: int
    aes: bool
    kernel: Release
    priority: int | None
    in_tree: bool


def assemble(root: str, functions: list[tuple[str, str]], platform: Platform) -> Machine:
    """Return the machine with these (type, address) pairs, numbered in the order of their addresses."""
    devices: list[Device] = []
    counts: dict[str, int] = {}
    irq = _FIRST_IRQ
    numbers = itertools.count()
    for address, name in sorted((address, name) for name, address in functions):
        family = FAMILIES[name]
        number = next(numbers) if family.module else _NO_NUMBER
        sriov = any(name == FAMILIES[other].parent and same_bus(address, at) for other, at in functions)
        in_tree = platform.in_tree or family.later
        devices.append(Device(number, family, counts.get(name, 0), address, sriov, in_tree, irq))
        counts[name] = counts.get(name, 0) + 1
        irq += family.banks + (0 if family.parent else 1)
    return Machine(root, tuple(devices), platform.cpus, platform.aes, platform.kernel, platform.priority)


def same_bus(one: str, other: str) -> bool:
    """Return whether two PCI addresses (``0000:01:00.0``) are on one bus."""
    return one.rpartition(":")[0] == other.rpartition(":")[0]


def save(machine: Machine) -> None:
    """Write the machine's description, from which ``load`` makes it again. Raises OSError."""
    functions = [(device.family.name, device.address) for device in machine.devices]
    platform = Platform(machine.cpus, machine.aes, machine.kernel, machine.priority, machine.in_tree)
    text = json.dumps({"functions": functions, **platform._asdict()}, indent=1)
    sysroot.publish(machine.root, FILE, f"{text}\n".encode())


def load(root: str) -> Machine:
    """Return the machine at ``root``. Raises MachineError, FileNotFoundError."""
    data = sysroot.read(root, FILE)
    if data is None:
        raise FileNotFoundError(f"{root}/{FILE} is missing")
    try:
        parts = json.loads(data)
        functions = [(str(name), str(address)) for name, address in parts["functions"]]
        major, minor = parts["kernel"]
        priority = None if parts["priority"] is None else int(parts["priority"])
        release, in_tree = (int(major), int(minor)), bool(parts["in_tree"])
        platform = Platform(int(parts["cpus"]), bool(parts["aes"]), release, priority, in_tree)
        return assemble(root, functions, platform)
    except (ValueError, KeyError, TypeError) as error:
        raise MachineError(f"{root}/{FILE} does not describe a simulated machine: {error!r}") from error
