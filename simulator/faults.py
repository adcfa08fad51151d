"""Have the programs of a simulated machine fail, lie, or take their time.

The files' form is described in simulator/machine/faultfiles.py; a shell can write them as well.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from simulator.machine import inventory, sysroot
from simulator.specification import SimulatorError

if TYPE_CHECKING:
    from pathlib import Path

PROGRAMS = ("qat_service", "ipsec")

_KINDS = ("fail", "lie", "delay")
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
