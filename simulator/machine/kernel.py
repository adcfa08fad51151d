"""What the kernel shows of the accelerators: files in sys, proc and dev that follow from the devices' state.

Here are the out-of-tree driver (QAT 1.7) and what both drivers show; see also ``intree``. On hardware the files in
debugfs of a device of the former that is down can't be opened (EFAULT); here they are not there.
"""

from contextlib import contextmanager
from typing import TYPE_CHECKING

from simulator.machine import activity, algorithms, cputime, driverconf, interrupts, intree, ipsec, sysroot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simulator.machine.activity import Activity
    from simulator.machine.inventory import Device, Machine

CONTROL_NODE = "dev/qat_adf_ctl"

_LOADED = f"{sysroot.STATE}/driver-loaded"
_CHANGING = f"{sysroot.STATE}/changing"
_NODES = (CONTROL_NODE, "dev/qat_dev_processes", "dev/usdm_drv")
_ROOT_ONLY = 0o400
_IN_TREE_VERSION = "0.6.0"
_WHILE_UP = ("fw_counters", "heartbeat", "heartbeat_sent", "heartbeat_failed")
_RULE = "+------------------------------------------------+\n"


def loaded(machine: "Machine") -> bool:
    """Return whether the driver's modules are loaded, which they are only where there is a device."""
    return bool(machine.devices) and sysroot.exists(machine.root, _LOADED)


def load(machine: "Machine") -> None:
    """Load the modules."""
    sysroot.publish(machine.root, _LOADED, b"")


def unload(machine: "Machine") -> None:
    """Unload them; devices must be down."""
    sysroot.discard(machine.root, _LOADED)


@contextmanager
def changing(machine: "Machine") -> "Iterator[None]":
    """Mark that files and state may disagree; the mark stays if the program is killed."""
    sysroot.publish(machine.root, _CHANGING, b"")
    yield
    sysroot.discard(machine.root, _CHANGING)


def repair(machine: "Machine") -> None:
    """Make files and state agree if a program was killed while it changed them. The caller holds the lock."""
    if sysroot.exists(machine.root, _CHANGING):
        show(machine)
        sysroot.discard(machine.root, _CHANGING)


def show(machine: "Machine") -> None:
    """Make all files agree with the devices' state."""
    show_driver(machine)
    for device in machine.devices:
        show_device(machine, device, activity.current(machine, device))
    show_tables(machine)
    show_times(machine)


def show_times(machine: "Machine") -> None:
    """Write /proc/stat."""
    text = cputime.render(machine.cpus, activity.turns(machine), activity.ticks(machine))
    sysroot.publish(machine.root, "proc/stat", text)


def show_tables(machine: "Machine") -> None:
    """Write /proc/crypto and /proc/interrupts."""
    show_algorithms(machine)
    table = interrupts.render(machine, activity.everything(machine), activity.ticks(machine))
    sysroot.publish(machine.root, "proc/interrupts", table)


def show_algorithms(machine: "Machine") -> None:
    """Write /proc/crypto."""
    activities = activity.everything(machine).values()
    table = algorithms.Table(
        aes=machine.aes,
        symmetric=machine.priority if any(each.symmetric for each in activities) else None,
        asymmetric=any(each.asymmetric for each in activities),
        tunnel=ipsec.running(machine.root),
        offloaded=machine.offloads,
    )
    sysroot.publish(machine.root, "proc/crypto", algorithms.render(table))


def show_device(machine: "Machine", device: "Device", state: "Activity | None") -> None:
    """Write a device's directory in debugfs, or remove it when the driver is not loaded."""
    if device.in_tree:
        if loaded(machine):
            intree.show(machine, device)
        return
    root, folder = machine.root, device.debugfs
    if not loaded(machine):
        sysroot.discard_tree(root, folder)
        return
    sysroot.publish(root, f"{folder}/dev_cfg", state.configuration.encode() if state else b"", _ROOT_ONLY)
    if device.family.parent:
        return
    # The driver's read functions count the terminating NUL in: simple_read_from_buffer(..., len + 1).
    for name, text in (
        ("hw", str(device.family.revision)),
        ("fw", driverconf.FIRMWARE_VERSION),
        ("mmp", driverconf.MMP_VERSION),
    ):
        sysroot.publish(root, f"{folder}/version/{name}", f"{text}\n\0".encode(), _ROOT_ONLY)
    if state is None:
        for name in _WHILE_UP:
            sysroot.discard(root, f"{folder}/{name}")
        return
    show_counters(machine, device, state)
    for name in ("heartbeat", "heartbeat_sent", "heartbeat_failed"):
        sysroot.publish(root, f"{folder}/{name}", b"0\n\0", _ROOT_ONLY)


def show_counters(machine: "Machine", device: "Device", state: "Activity") -> None:
    """Write what the firmware has counted (adf_fw_counters.c); a virtual function has no such file."""
    if device.in_tree:
        intree.show_counters(machine, device)
    if device.in_tree or device.family.parent:
        return
    lines = [_RULE, "| FW Statistics for Qat Device                   |\n", _RULE]
    for engine, (requests, responses) in enumerate(zip(state.requests, state.responses, strict=True)):
        lines.append(f"| Firmware Requests [AE {engine:2d}]:{requests:20d} |\n")
        lines.append(f"| Firmware Responses[AE {engine:2d}]:{responses:20d} |\n")
        lines.append(_RULE)
    sysroot.publish(machine.root, f"{device.debugfs}/fw_counters", "".join(lines).encode(), _ROOT_ONLY)


def show_driver(machine: "Machine") -> None:
    """Write what says that the modules are loaded, and whose devices they drive."""
    root, is_loaded = machine.root, loaded(machine)
    modules = {device.family.module for device in machine.devices} - {""}
    own = {} if machine.in_tree else {"usdm_drv": 0}
    uses = {**own, "intel_qat": len(modules) + len(own), **dict.fromkeys(sorted(modules), 0)}
    mark = "" if machine.in_tree else " (OE)"
    lines = [f"{module} {_size(module)} {users} - Live 0x0000000000000000{mark}" for module, users in uses.items()]
    ordinary = ["aesni_intel 393216 8 - Live 0x0000000000000000"] if machine.aes else []
    ordinary.append("igb 290816 0 - Live 0x0000000000000000")
    text = "\n".join([*(lines if is_loaded else []), *ordinary])
    sysroot.publish(root, "proc/modules", f"{text}\n".encode())
    for module, users in uses.items():
        _show_module(machine, module, users, is_loaded=is_loaded)
    for device in machine.devices:
        if device.family.module:
            _bind(root, device, is_loaded=is_loaded)
    for node in _NODES:
        if is_loaded and (node == CONTROL_NODE or not machine.in_tree):
            sysroot.publish(root, node, b"", 0o600)
        else:
            sysroot.discard(root, node)


def _show_module(machine: "Machine", module: str, users: int, *, is_loaded: bool) -> None:
    root, folder = machine.root, f"sys/module/{module}"
    if not is_loaded:
        sysroot.discard_tree(root, folder)
        return
    for name, text in (
        ("initstate", "live"),
        ("refcnt", str(users)),
        ("taint", "" if machine.in_tree else "OE"),
        ("version", _IN_TREE_VERSION if machine.in_tree else driverconf.DRIVER_VERSION),
    ):
        sysroot.publish(root, f"{folder}/{name}", f"{text}\n".encode(), 0o444)


def _bind(root: str, device: "Device", *, is_loaded: bool) -> None:
    driver = f"bus/pci/drivers/{device.family.kind}"
    if is_loaded:
        sysroot.link(root, f"sys/{driver}/module", f"../../../../module/{device.family.module}")
        sysroot.link(root, f"sys/{driver}/{device.address}", f"../../devices/{device.address}")
        # A device of the kernel's own driver is elsewhere: see inventory.KERNEL.
        up = "../../../../../sys" if device.in_tree else "../../../.."
        sysroot.link(root, f"{device.pci}/driver", f"{up}/{driver}")
    else:
        sysroot.discard(root, f"{device.pci}/driver")
        sysroot.discard_tree(root, f"sys/{driver}")


def _size(module: str) -> int:
    return 409_600 if module == "intel_qat" else 28_672
