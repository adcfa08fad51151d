"""What the kernel's own driver shows of its devices, and the plain files that stand for that.

A file system shows the files while a process serves it (simulator/filesystem.py). While none does they are plain
files: a change of the device changes them, a write to them changes nothing but the file.
"""

import fcntl
import os
from typing import TYPE_CHECKING

from simulator.machine import activity, debugfs, ipsec, ratelimit, settings, switch, sysroot, telemetry
from simulator.machine.attributes import View
from simulator.machine.inventory import KERNEL
from simulator.machine.sysroot import STATE

if TYPE_CHECKING:
    from simulator.machine.attributes import Attribute
    from simulator.machine.inventory import Device, Machine

SERVED = f"{STATE}/served"
COUNTERS = "fw_counters"

_SYSFS = {each.path: each for each in (*switch.ATTRIBUTES, *ratelimit.ATTRIBUTES)}
_EARLY_DEBUGFS = {each.path: each for each in debugfs.ATTRIBUTES}
_DEBUGFS = {**_EARLY_DEBUGFS, **{each.path: each for each in (debugfs.POWER, *telemetry.ATTRIBUTES)}}
_VIRTUAL_DEBUGFS = {debugfs.CONFIGURATION.path: debugfs.CONFIGURATION}


def folders(device: "Device") -> "dict[str, dict[str, Attribute]]":
    """Return the files that a device's directories below KERNEL can have; none where no driver is for it.

    Devices before generation 4 have no switch, and virtual functions nothing but their configuration.
    """
    if not device.family.module:
        return {sysfs(device): {}}
    of_device = _DEBUGFS if device.family.later else _VIRTUAL_DEBUGFS if device.family.parent else _EARLY_DEBUGFS
    return {
        sysfs(device): _SYSFS if device.family.later else {},
        f"debug/qat_{device.family.kind}_{device.address}": of_device,
    }


def sysfs(device: "Device") -> str:
    """Return a device's directory in sysfs, below KERNEL."""
    return f"pci/{device.address}"


def view(machine: "Machine", device: "Device") -> View:
    """Return a device as it is now. Raises MachineError, OSError."""
    state = activity.current(machine, device)
    used = state is not None and state.symmetric and machine.offloads and ipsec.running(machine.root)
    return View(machine, device, settings.current(machine, device), state, used)


def there(machine: "Machine", device: "Device", attribute: "Attribute") -> bool:
    """Return whether a device has a file now. Raises OSError."""
    return attribute.there(machine.kernel, up=activity.is_up(machine, device))


def text(attribute: "Attribute", seen: View) -> bytes:
    """Return what reading a file gives. Raises OSError."""
    shown = attribute.show(seen) if attribute.show else ""
    return (shown if shown.endswith(("\n", "\0")) or not shown else f"{shown}\n").encode()


def begin(machine: "Machine", device: "Device") -> None:
    """Bring a device up, with what is set. Raises MachineError, OSError."""
    seen = view(machine, device)
    crypto = debugfs.instances(seen)[0]
    activity.begin(
        machine,
        device,
        services=seen.settings.services,
        kernel_instances=crypto,
        configuration=debugfs.configuration(seen),
    )
    settings.record(machine, device, seen.settings._replace(errors=(0, 0, 0)))


def end(machine: "Machine", device: "Device") -> None:
    """Bring a device down; of what is set, the services stay. Raises MachineError, OSError."""
    activity.end(machine, device)
    settings.record(machine, device, settings.current(machine, device).after_down())


def link(machine: "Machine", device: "Device", *, driver: bool) -> None:
    """Make the links that lead from sys to a device's directories; it has the second by its driver. Raises OSError."""
    places = (device.pci, device.debugfs) if driver else (device.pci,)
    for place, folder in zip(places, folders(device), strict=False):
        sysroot.link(machine.root, place, f"{'../' * place.count('/')}{KERNEL}/{folder}")


def show(machine: "Machine", device: "Device") -> None:
    """Write the plain files, unless a file system shows the device. Raises MachineError, OSError."""
    if served(machine.root):
        return
    seen = view(machine, device)
    for folder, table in folders(device).items():
        for path, attribute in table.items():
            name = f"{KERNEL}/{folder}/{path}"
            if there(machine, device, attribute):
                # Who is not root must be able to replace a file that can only be written.
                sysroot.publish(machine.root, name, _plain(attribute, seen), attribute.mode | 0o400)
            else:
                sysroot.discard(machine.root, name)
        for group in {os.path.dirname(path) for path in table} - {""}:  # noqa: PTH120
            if not sysroot.names(machine.root, f"{KERNEL}/{folder}/{group}"):
                sysroot.discard_tree(machine.root, f"{KERNEL}/{folder}/{group}")


def show_counters(machine: "Machine", device: "Device") -> None:
    """Write what the firmware has counted, the same way."""
    seen, attribute = view(machine, device), _DEBUGFS[COUNTERS]
    if device.family.parent:
        return
    if not served(machine.root) and there(machine, device, attribute):
        sysroot.publish(machine.root, _counters(device), _plain(attribute, seen), attribute.mode)


def served(root: str) -> bool:
    """Return whether a process serves the file system: it holds a lock, which ends with it."""
    try:
        descriptor = os.open(f"{root}/{SERVED}", os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _counters(device: "Device") -> str:
    return f"{KERNEL}/debug/qat_{device.family.kind}_{device.address}/{COUNTERS}"


def _plain(attribute: "Attribute", seen: View) -> bytes:
    try:
        return text(attribute, seen)
    except OSError:  # a file that is there and cannot be read now
        return b""
