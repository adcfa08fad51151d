"""Whether there is hardware at all, and what keeps it from being seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from translators.cpu import hypervisor
from translators.doctor.finding import NOT_APPLICABLE, OK, PROBLEM, UNKNOWN, Finding, addresses
from translators.qat.devices import PCI_DEVICES
from translators.qat.ids import BY_DEVICE_ID, DEVICE_IDS, INTEL
from translators.sources import SourceError, read_attribute, read_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from translators.doctor.look import Look

_IDS: Final = ", ".join(entry.pci_id for entry in DEVICE_IDS)
# PCI class 0b, subclass 40: co-processor.
_COPROCESSOR: Final = "0x0b40"
_NO_AES: Final = "Encryption on this CPU is slow without QAT: see that the devices are used."


def hardware(look: Look) -> Iterator[Finding]:
    """Return which QAT functions are on the PCI bus."""
    for address, error in look.inventory.broken:
        yield Finding(UNKNOWN, f"{address} can't be identified: {error}", "See the kernel log for what ails the slot.")
    found = look.inventory.devices
    if found:
        yield Finding(OK, f"on the PCI bus: {'; '.join(device.label for device in found)}")
        return
    if read_names(look.host, PCI_DEVICES) is None:
        yield Finding(UNKNOWN, f"there is no {PCI_DEVICES}: is sysfs mounted?", "Mount sysfs on /sys.")
        return
    model = look.cpu.models[0] if look.cpu is not None and look.cpu.models else "of a model that is not known"
    yield Finding(
        PROBLEM,
        f"no QAT device is on the PCI bus; the CPU is {model}; these ids were looked for: {_IDS}",
        "See in the data sheets of the CPU and of the board's chipset whether they have QAT: many models of a series "
        "have none, and what is sold as QuickAssist software acceleration is no device. A card may need another slot.",
    )
    others = tuple(_unknown_coprocessors(look))
    if others:
        yield Finding(
            UNKNOWN,
            f"an Intel co-processor that is not known here: {', '.join(others)}",
            "If it is a QAT device, it is too new for this version: report its id.",
        )


def firmware_setup(look: Look) -> Iterator[Finding]:
    """Return whether the machine's own firmware may hide the hardware, which can't be seen from here."""
    if look.inventory.devices:
        yield Finding(NOT_APPLICABLE, "a device is on the PCI bus, so it is not switched off in the firmware's setup")
    elif look.virtual_machine:
        yield Finding(NOT_APPLICABLE, "this is a virtual machine: the setup is the host's")
    else:
        yield Finding(
            UNKNOWN,
            "whether the firmware's setup hides a device can't be seen from here",
            "If the hardware has QAT: in the BIOS or UEFI setup, below Advanced or Chipset Configuration, enable "
            "Intel QuickAssist Technology.",
        )


def passthrough(look: Look) -> Iterator[Finding]:
    """Return whether a virtual machine was given a device."""
    if not look.virtual_machine:
        yield Finding(NOT_APPLICABLE, "this is no virtual machine")
        return
    found = look.inventory.devices
    physical = [device for device in found if not device.id.virtual]
    below = hypervisor.read(look.host) or "unknown"
    if not found:
        yield Finding(
            PROBLEM,
            f"this is a virtual machine (hypervisor: {below}), and it was given no QAT function",
            "On the host, make virtual functions (sriov_numvfs), bind one to vfio-pci and pass it through to this "
            "machine.",
        )
    elif physical:
        yield Finding(
            OK,
            f"this virtual machine has a whole physical function: {addresses(physical)}",
            "If its firmware fails authentication, pass a virtual function through instead.",
        )
    else:
        yield Finding(OK, f"this virtual machine has virtual functions: {addresses(found)}")


def aes(look: Look) -> Iterator[Finding]:
    """Return whether the CPU has AES instructions, which do what QAT does not."""
    features = None if look.cpu is None else look.cpu.features
    if features is None:
        yield Finding(UNKNOWN, "the kernel does not name this CPU's instructions")
    elif "aes-ni" not in features:
        below = (hypervisor.read(look.host) or hypervisor.UNKNOWN) if look.virtual_machine else None
        yield Finding(PROBLEM, "the CPU has no AES instructions", f"{hypervisor.advice(below)} {_NO_AES}")
    elif features >= {"vaes", "vpclmulqdq"}:
        yield Finding(
            OK, "the CPU has AES instructions, vector AES (VAES) too: AES-GCM on it is often faster than QAT in IPsec"
        )
    else:
        yield Finding(OK, "the CPU has AES instructions")


def _unknown_coprocessors(look: Look) -> Iterator[str]:
    for address in read_names(look.host, PCI_DEVICES) or ():
        folder = f"{PCI_DEVICES}/{address}"
        try:
            pci_class, vendor, device = (
                read_attribute(look.host, f"{folder}/{name}") or "" for name in ("class", "vendor", "device")
            )
        except SourceError:
            continue
        number = device.removeprefix("0x")
        if pci_class.startswith(_COPROCESSOR) and vendor == f"0x{INTEL}" and number not in BY_DEVICE_ID:
            yield f"{address} ({INTEL}:{number})"
