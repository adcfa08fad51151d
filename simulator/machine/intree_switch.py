"""Writing to a file of the kernel's own driver, above all to the one that brings a device up or down (adf_sysfs.c)."""

import errno
from typing import TYPE_CHECKING

from simulator.machine import faultfiles, hardware, intree, kernel, settings, switch, sysroot
from simulator.machine.attributes import refused, word

if TYPE_CHECKING:
    from simulator.machine.attributes import Attribute
    from simulator.machine.inventory import Device, Machine

PROGRAM = "qat"
VERBS = ("up", "down")

_UP = "up"
_LOGGED = "qat/"


def store(machine: "Machine", device: "Device", attribute: "Attribute", data: bytes) -> None:
    """Do what a write to a device's file does. Raises OSError as the kernel does, MachineError."""
    text = data.decode(errors="replace")
    if attribute.path.startswith(_LOGGED):
        name = attribute.path.removeprefix(_LOGGED)
        shown = "".join(letter if letter.isascii() and letter.isprintable() else "?" for letter in word(text))
        sysroot.append(machine.root, sysroot.COMMANDS, f"sysfs {device.address} {name} {shown or '-'}")
    if attribute is switch.STATE:
        _switch(machine, device, word(text))
        return
    if attribute.store is None:
        raise refused(errno.EIO)
    with sysroot.locked(machine.root):
        if not intree.there(machine, device, attribute):
            raise refused(errno.ENODEV)
        settings.record(machine, device, attribute.store(intree.view(machine, device), text))


def read(machine: "Machine", device: "Device", attribute: "Attribute") -> bytes:
    """Return what a read gives. Raises OSError as the kernel does, MachineError."""
    seen = intree.view(machine, device)
    if not intree.there(machine, device, attribute):
        raise refused(errno.ENODEV)
    if attribute.show is None:
        raise refused(errno.EIO)
    if attribute.shown is not None:
        with sysroot.locked(machine.root):
            settings.record(machine, device, attribute.shown(intree.view(machine, device)))
    return intree.text(attribute, seen)


def _switch(machine: "Machine", device: "Device", verb: str) -> None:
    if intree.view(machine, device).used:
        raise refused(errno.EBUSY)
    if verb not in VERBS:
        raise refused(errno.EINVAL)
    fault = faultfiles.dictated(machine.root, PROGRAM, verb)
    with sysroot.locked(machine.root):
        kernel.repair(machine)
        if fault is not None and fault.status == 0:
            return
        up = intree.view(machine, device).activity is not None
        if fault is not None:
            if verb == _UP and not up:
                intree.end(machine, device)
            raise refused(getattr(errno, fault.text.strip(), errno.EFAULT))
        if up == (verb == _UP):
            return
        with kernel.changing(machine):
            (intree.begin if verb == _UP else intree.end)(machine, device)
            kernel.show_tables(machine)
        hardware.settle(machine)
