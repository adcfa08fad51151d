"""Have the programs and devices of a simulated machine fail, lie, or take their time.

The files' form is described in simulator/machine/faultfiles.py; a shell can write them as well.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from simulator.machine import activity, hardware, inventory, kernel, settings, sysroot
from simulator.specification import SimulatorError

if TYPE_CHECKING:
    from pathlib import Path

# "qat" is the switch of devices that the kernel's own driver drives; its verbs are up and down.
PROGRAMS = ("qat_service", "ipsec", "qat")

_KINDS = ("fail", "lie", "delay", "down")
_VERB = re.compile(r"[A-Za-z0-9_-]+")


def fail(root: Path, program: str, verb: str, text: str = "", *, times: int | None = None) -> None:
    """Make a program print ``text`` on standard error, change nothing and exit with 1.

    ``times`` limits it to the next runs. Raises SimulatorError, OSError.
    """
    _add(root, "fail", program, verb, text, times)


def lie(root: Path, program: str, verb: str, text: str = "", *, times: int | None = None) -> None:
    """Make a program print ``text`` on standard error, change nothing and exit with 0."""
    _add(root, "lie", program, verb, text, times)


def delay(root: Path, program: str, verb: str, seconds: float, *, times: int | None = None) -> None:
    """Make a program wait before it does anything."""
    if not 0 <= seconds < float("inf"):
        raise SimulatorError(f"a program can't be delayed by {seconds} seconds")
    _add(root, "delay", program, verb, f"{seconds}\n", times)


def down(root: Path, address: str) -> None:
    """Have the device at a PCI address go down by itself, within half a second. Raises SimulatorError, OSError."""
    _device(root, address)
    with sysroot.locked(str(root)):
        sysroot.publish(str(root), f"{hardware.DOWN}{address}", b"")


def errors(root: Path, address: str, *, correctable: int = 0, nonfatal: int = 0, fatal: int = 0) -> None:
    """Have a device of the kernel's own driver count that many errors more. Raises SimulatorError, OSError."""
    machine, device = _device(root, address)
    with sysroot.locked(machine.root):
        before = settings.current(machine, device)
        more = zip(before.errors, (correctable, nonfatal, fatal), strict=True)
        settings.record(machine, device, before._replace(errors=tuple(map(sum, more))))
        kernel.show_device(machine, device, activity.current(machine, device))


def clear(root: Path) -> None:
    """Remove all faults. Raises SimulatorError where there is no machine."""
    _check_machine(root)
    with sysroot.locked(str(root)):
        for kind in _KINDS:
            for path in (root / sysroot.STATE).glob(f"{kind}-*"):
                path.unlink(missing_ok=True)


def _add(root: Path, kind: str, program: str, verb: str, text: str, times: int | None) -> None:
    if program not in PROGRAMS:
        raise SimulatorError(f"a simulated machine has no program {program!r}, only {', '.join(PROGRAMS)}")
    if not _VERB.fullmatch(verb):
        raise SimulatorError(f"{verb!r} is not a verb of {program}")
    if times is not None and times < 1:
        raise SimulatorError(f"a fault can't hold for {times} runs")
    _check_machine(root)
    limit = "" if times is None else f"times={times}\n"
    with sysroot.locked(str(root)):
        sysroot.publish(str(root), f"{sysroot.STATE}/{kind}-{program}-{verb}", f"{limit}{text}".encode())


def _check_machine(root: Path) -> None:
    if not (root / inventory.FILE).is_file():
        raise SimulatorError(f"there is no simulated machine in {root}")


def _device(root: Path, address: str) -> tuple[inventory.Machine, inventory.Device]:
    _check_machine(root)
    machine = inventory.load(str(root))
    for device in machine.devices:
        if device.address == address:
            return machine, device
    raise SimulatorError(f"there is no accelerator {address} in {root}")
