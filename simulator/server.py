"""Keep the file system of a machine's devices alive as long as somebody needs it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from simulator.machine import hardware, intree, inventory, kernel, sysroot
from simulator.specification import SimulatorError

if TYPE_CHECKING:
    from collections.abc import Iterator

README = f"{sysroot.STATE}/README"
LOG = f"{sysroot.STATE}/filesystem.log"
# What the process prints when the file system is there.
READY = "mounted"
MODULE = "simulator.mount"

_DEVICE = Path("/dev/fuse")
_PATIENCE = 10.0
_POLL = 0.005
_SERVED = "The devices' files are a file system: they behave as those of the kernel's driver.\n"
_PLAIN = """\
The devices' files are plain files{why}. They show the devices as they are when the machine starts. What is written to
them stays there and does nothing: no device goes up or down by it, nothing is refused, and no file comes or goes.
"""


@contextmanager
def serving(root: Path) -> Iterator[str | None]:
    """Have a machine's devices behave while the context lasts, and end what that takes after it.

    It gives None, or the sentence that says what is missing where this system cannot: then the devices' files are plain
    ones, and only their counters move. Of devices of the out-of-tree driver it takes nothing. Raises SimulatorError.
    """
    place = root.resolve()
    machine = _machine(place)
    if not (machine.in_tree and kernel.loaded(machine)):
        yield None
        return
    process, missing = _started(place)
    try:
        describe(machine, missing)
        with sysroot.locked(machine.root):
            hardware.settle(machine)
        yield None if missing is None else plain_text(missing)
    finally:
        if process.stdin is not None:
            process.stdin.close()
        end(place)
        process.wait()
        hardware.end(machine.root)


def plain_text(why: str = "") -> str:
    """Return the sentences about plain files; ``why`` they are."""
    return _PLAIN.format(why=f" ({why})" if why else "")


def describe(machine: inventory.Machine, missing: str | None) -> None:
    """Write in run/simulator/README what the devices' files are. Raises OSError."""
    with sysroot.locked(machine.root):
        text = _SERVED if missing is None else plain_text(missing)
        sysroot.publish(machine.root, README, text.encode())


def description(root: Path) -> str | None:
    """Return what run/simulator/README says of the devices' files, None for devices of the out-of-tree driver."""
    data = sysroot.read(str(root), README)
    return None if data is None else data.decode()


def end(root: Path) -> None:
    """End the process that serves a machine, if there is one, and leave plain files. Raises OSError."""
    place = str(root.resolve())
    if not (root / intree.SERVED).exists():
        return
    pid = _process(place)
    for number in (signal.SIGTERM, signal.SIGKILL):
        deadline = time.monotonic() + _PATIENCE
        while pid is not None and time.monotonic() < deadline:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                break
            time.sleep(_POLL)
            pid = _process(place)
    _unmount(f"{place}/{inventory.KERNEL}")
    leave(_machine(root))


def leave(machine: inventory.Machine) -> None:
    """Leave the devices' files as plain ones, now that no process serves them. Raises OSError."""
    with sysroot.locked(machine.root):
        sysroot.discard(machine.root, intree.SERVED)
        kernel.show(machine)
    describe(machine, "")


def _machine(root: Path) -> inventory.Machine:
    try:
        return inventory.load(str(root))
    except FileNotFoundError as error:
        raise SimulatorError(f"there is no simulated machine in {root}") from error


def _started(root: Path) -> tuple[subprocess.Popen[str], str | None]:
    """Start the process; return it, and what is missing where it can't serve."""
    end(root)
    log = root / LOG
    # The same package as here, from wherever this process has it.
    package = str(Path(__file__).resolve().parents[1])
    own = [path for path in [os.environ.get("PYTHONPATH")] if path]
    with log.open("wb") as errors:
        process = subprocess.Popen(  # noqa: S603 - this interpreter and a module of this package
            [sys.executable, "-P", "-m", MODULE, str(root)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([package, *own])},
        )
    if process.stdout is None:
        raise SimulatorError("the file system's process has no output")
    with process.stdout as output:
        if output.readline().strip() == READY:
            return process, None
    lines = log.read_text(errors="replace").strip().splitlines()
    said = lines[-1] if lines else f"exit status {process.wait()}"
    return process, said if _DEVICE.exists() else f"there is no {_DEVICE}"


def _process(root: str) -> int | None:
    """Return the id of the process that serves a machine, None where none does."""
    text = (sysroot.read(root, intree.SERVED) or b"").strip()
    if not text.isdigit():
        return None
    try:
        arguments = Path(f"/proc/{int(text)}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return None
    return int(text) if arguments[-3:-1] == [MODULE.encode(), os.fsencode(root)] else None


def _unmount(place: str) -> None:
    """Take away what a process that was killed left mounted."""
    mounted = {line.split(" ")[1] for line in Path("/proc/self/mounts").read_text().splitlines()}
    program = shutil.which("fusermount3")
    # The kernel writes blanks and a few more as \ooo.
    if place.replace(" ", "\\040") in mounted and program is not None:
        subprocess.run([program, "-u", "-z", place], check=False)  # noqa: S603 - a path that this module made
