"""The interrupts of QAT devices in /proc/interrupts.

Layout: Linux, kernel/irq/proc.c (show_interrupts). Since 6.2 the chip's name holds the PCI address
(``IR-PCI-MSIX-0000:01:00.0``); before, the number after it is made of the address: pci_msi_domain_calc_hwirq().
Names: adf_isr.c (``qat0-bundle3``, ``qat0-ae-cluster``) and adf_vf_isr.c (``qat_3b:01.00``: bus in
hexadecimal, slot and function in decimal).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from translators.counts import Counts
from translators.sources import SourceError, decoded, read_bytes, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from translators.host import Host

PROC_INTERRUPTS: Final = "/proc/interrupts"
# 512 CPUs take 6 KiB a row, and each disk and network card of such a machine has as many rows.
SIZE_LIMIT: Final = 64 * 1024 * 1024

_HEADER: Final = re.compile(rb"(\s*CPU[0-9]{1,6})+\s*")
# The model's numbers of CPUs, and more than the row of all of them takes.
_MAX_CPU: Final = 2**16 - 1
_HEADER_LIMIT: Final = 1024 * 1024
_LETTER: Final = re.compile(rb"[A-Za-z]")
# Chip, number and trigger in two words or one, and the names of those who share the interrupt.
_WORDS_AFTER_COUNTS: Final = 12
_MAX_IRQ_DIGITS: Final = 9
_CHIP_ADDRESS: Final = re.compile(r"-([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])$")
_HARDWARE_NUMBER: Final = re.compile(r"([0-9]{1,19})(?:-\w+)?")
# "0-edge", "31981568-edge", "524288 Edge", or nothing (Linux before 4.2): what is before the names.
_TRIGGER: Final = re.compile(r"\s*(?:[0-9]+(?:-\w+)?\s+)?(?:(?:Edge|Level)\s+)?")
_DEVICE_NUMBER: Final = re.compile(r"qat([0-9]{1,9})-")
_VIRTUAL_NAME: Final = re.compile(r"qat_([0-9a-f]{2}):([0-9]{2})\.([0-9]{2})")
# pci_msi_domain_calc_hwirq(): index of the vector, function, slot and bus, domain.
_FUNCTION_SHIFT: Final = 11
_DOMAIN_SHIFT: Final = 27


@dataclass(frozen=True, slots=True)
class Vector:
    """One interrupt of a QAT device.

    ``address`` is the PCI address where the row tells it; ``slot`` (``3b:01.0``, no domain) where a virtual
    function's name does; ``number`` the N of qat_devN. ``cpus`` are the numbers of the CPUs that are online,
    ``columns`` the counts, one for each, as the kernel printed them.
    """

    irq: int
    name: str
    address: str | None
    slot: str | None
    number: int | None
    cpus: tuple[int, ...]
    columns: bytes

    def belongs_to(self, address: str) -> bool:
        """Return whether this is an interrupt of the device at an address."""
        if self.address is not None:
            return self.address == address
        return self.slot is not None and self.slot == address.partition(":")[2]

    def counts(self) -> Counts:
        """Return the ``count`` for each CPU, by its ``id``. Raises SourceError."""
        columns = tuple(self.columns.split())
        if len(columns) != len(self.cpus):
            text = f"interrupt {self.irq} has {len(columns)} counts for {len(self.cpus)} CPUs"
            raise SourceError(PROC_INTERRUPTS, text)
        try:
            return Counts("id", self.cpus, "count", columns)
        except ValueError as error:
            raise SourceError(PROC_INTERRUPTS, f"interrupt {self.irq} has {error}") from error


def read_vectors(host: Host) -> tuple[Vector, ...] | None:
    """Return the interrupts of all QAT devices, None where there is no such file. Raises SourceError."""
    data = read_bytes(host, PROC_INTERRUPTS, limit=SIZE_LIMIT)
    return None if data is None else parse(data)


def parse(data: bytes) -> tuple[Vector, ...]:
    """Return the QAT rows of the file, in its order. Counts are not looked at yet. Raises SourceError."""
    header, _, rest = data.partition(b"\n")
    if len(header) > _HEADER_LIMIT or _HEADER.fullmatch(header) is None:
        raise SourceError(PROC_INTERRUPTS, "does not begin with a row of CPUs")
    if not data.endswith(b"\n"):
        raise SourceError(PROC_INTERRUPTS, "does not end with a line's end: the table is cut off")
    cpus = tuple(int(column[3:]) for column in header.split())
    if len(set(cpus)) < len(cpus) or max(cpus) > _MAX_CPU:
        raise SourceError(PROC_INTERRUPTS, f"has a CPU twice, or one above {_MAX_CPU}, in its row of CPUs")
    vectors = tuple(_vector(line, cpus) for line in rest.split(b"\n") if b"qat" in line)
    if len({vector.irq for vector in vectors}) < len(vectors):
        raise SourceError(PROC_INTERRUPTS, "has an interrupt twice: whose counts these are can't be told")
    return vectors


def device_numbers(vectors: Iterable[Vector], addresses: Iterable[str]) -> Mapping[str, int]:
    """Return the N of qat_devN for each address whose interrupts name one, and only one."""
    numbers: dict[str, int] = {}
    rows = tuple(vector for vector in vectors if vector.number is not None)
    for address in addresses:
        found = {vector.number for vector in rows if vector.belongs_to(address)}
        if len(found) == 1 and (number := found.pop()) is not None:
            numbers[address] = number
    return numbers


def _vector(line: bytes, cpus: tuple[int, ...]) -> Vector:
    # Read from both ends: what is between are the counts, hundreds of them, which are seldom wanted.
    label, colon, row = line.partition(b":")
    words = row.rsplit(None, _WORDS_AFTER_COUNTS)[-_WORDS_AFTER_COUNTS:]
    chip = next((word for word in words if _LETTER.search(word)), None)
    irq = label.strip()
    if not colon or chip is None or not irq.isdigit() or len(irq) > _MAX_IRQ_DIGITS:
        raise SourceError(PROC_INTERRUPTS, f"{shown(line.decode('latin-1'))} is no row of an interrupt")
    start = row.find(chip)
    text = decoded(row[start:].strip(), PROC_INTERRUPTS)
    _, _, rest = text.partition(" ")
    trigger = _TRIGGER.match(rest)
    name = (rest[trigger.end() :] if trigger else rest) or text
    number = _DEVICE_NUMBER.search(name)
    virtual = _VIRTUAL_NAME.search(name)
    return Vector(
        irq=int(irq),
        name=name,
        address=_address(text.partition(" ")[0], rest),
        slot=f"{virtual[1]}:{int(virtual[2]):02x}.{int(virtual[3])}" if virtual else None,
        number=int(number[1]) if number else None,
        cpus=cpus,
        columns=row[:start],
    )


def _address(chip: str, rest: str) -> str | None:
    named = _CHIP_ADDRESS.search(chip)
    if named is not None:
        return named[1]
    number = _HARDWARE_NUMBER.match(rest.strip())
    if "PCI-MSI" not in chip or number is None:
        return None
    value = int(number[1])
    function = value >> _FUNCTION_SHIFT & 0xFFFF
    domain = value >> _DOMAIN_SHIFT
    return f"{domain:04x}:{function >> 8:02x}:{function >> 3 & 0x1F:02x}.{function & 7}"
