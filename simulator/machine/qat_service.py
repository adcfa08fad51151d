"""The init script qat_service of the out-of-tree driver (QAT 1.7, build_files/qat_service).

As on hardware, the exit status says little: 1 for wrong usage and for a second run at the same time, else 0.
"""

import fcntl
import os
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from simulator.machine import adf_ctl, faultfiles, hardware, inventory, kernel, sysroot
from simulator.machine.terminal import say

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from simulator.machine.inventory import Machine

VERBS = ("start", "stop", "restart", "status", "shutdown")

_LINE = "--------------------------------------------------------\n"
_LOCK = f"{sysroot.STATE}/qat_service.pid"


def main(root: str, program: str, verb: str, arguments: "Sequence[str]") -> int:
    """Carry out one command, for the device named in ``arguments`` or for all, and return its exit status."""
    verb = verb[:1].lower() + verb[1:]  # it knows each verb with a capital letter too
    with _alone(root) as other:
        if other is not None:
            now = time.strftime("%a %b %e %H:%M:%S %Z %Y")
            say(f"[{now}] : qat_service : Process is already running with PID {other}\n")
            return 1
        if verb not in VERBS:
            _usage(program)
            return 1
        status = faultfiles.interfere(root, "qat_service", verb)
        if status is not None:
            return status
        with sysroot.locked(root):
            _act(root, program, verb, arguments[0] if arguments else None)
    return 0


def _act(root: str, program: str, verb: str, name: str | None) -> None:
    machine = inventory.load(root)
    kernel.repair(machine)
    if verb == "status":
        if adf_ctl.control(machine, None, "status") != 0:
            say(f"No devices found. Please start the driver using:\n{program} start\n")
    else:
        with kernel.changing(machine):
            _change(machine, verb, name)
    hardware.settle(machine)


def _change(machine: "Machine", verb: str, name: str | None) -> None:
    if verb == "start":
        kernel.load(machine)
        kernel.show(machine)
        adf_ctl.control(machine, name, "restart")
        adf_ctl.control(machine, name, "status")
    elif verb == "restart":
        adf_ctl.control(machine, name, "restart")
    elif verb == "stop":
        adf_ctl.control(machine, name, "down")
    else:
        adf_ctl.stop_silently(machine)
        kernel.unload(machine)
        kernel.show(machine)


def _usage(program: str) -> None:
    say(
        f"\n{_LINE}USAGE:\n{_LINE}#  {program} start||stop||status||restart||shutdown\n{_LINE}"
        " Note: If there is more devices in the system\n"
        " you can start, stop or restart separate device by \n"
        " passing the dev to be restarted or stopped as a\n"
        " parameter for instance: \n"
        f" {program} stop qat_dev<N>\n where N is device number.\n"
        f" To see all devices in the system use:\n {program} status\n{_LINE}"
    )


@contextmanager
def _alone(root: str) -> "Iterator[str | None]":
    """Keep other runs out; give the process id of the one that is running, if there is one.

    The lock ends with the process that holds it, so a run that was killed is in nobody's way.
    """
    descriptor = os.open(f"{root}/{_LOCK}", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield os.pread(descriptor, 20, 0).decode(errors="replace").strip()
            return
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield None
    finally:
        os.close(descriptor)
