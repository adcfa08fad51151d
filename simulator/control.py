"""What a test or a command asks of a simulated machine from outside."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator import server
from simulator.machine import hardware, sysroot
from simulator.specification import SimulatorError

if TYPE_CHECKING:
    from pathlib import Path


def stop(root: Path) -> None:
    """End the machine's background processes and wait until they are gone; where there are none, nothing happens.

    The devices' state stays: the next ``qat_service`` command starts the hardware again if a device is up.
    """
    server.end(root)
    hardware.end(str(root.resolve()))


def commands(root: Path) -> tuple[str, ...]:
    """Return the lines of run/simulator/commands.log: each program that was run, as ``qat_service start``.

    Raises SimulatorError where there is no machine.
    """
    path = root / sysroot.COMMANDS
    try:
        return tuple(path.read_text().splitlines())
    except FileNotFoundError as error:
        raise SimulatorError(f"there is no simulated machine in {root}: {path} is missing") from error
