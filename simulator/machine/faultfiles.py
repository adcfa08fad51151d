"""Faults: files in run/simulator that make a program fail, lie, or take its time.

``fail-PROGRAM-VERB``: it prints the file's text on standard error, changes nothing and exits with 1.
``lie-PROGRAM-VERB``: the same, but it exits with 0.
``delay-PROGRAM-VERB``: it waits that number of seconds before it does anything; combines with the two others.
Of devices of the kernel's own driver, PROGRAM is ``qat`` and VERB is what is written to ``state``, ``up`` or ``down``:
the write fails with the error that the text names (``EBUSY``; else EFAULT), or changes nothing and succeeds.
A first line ``times=N`` makes it hold for the next N runs only; the last one removes the file.
"""

import time
from typing import NamedTuple

from simulator.machine import sysroot
from simulator.machine.sysroot import MachineError
from simulator.machine.terminal import complain

_TIMES = "times="


class Fault(NamedTuple):
    """What a fault dictates: the exit status and the text to print."""

    status: int
    text: str


def interfere(root: str, program: str, verb: str) -> int | None:
    """Wait and print as a fault says; return the exit status that it dictates, None to go on.

    Raises MachineError when a delay is not a number.
    """
    fault = dictated(root, program, verb)
    if fault is None:
        return None
    complain(fault.text if fault.text.endswith("\n") or not fault.text else f"{fault.text}\n")
    return fault.status


def dictated(root: str, program: str, verb: str) -> Fault | None:
    """Wait as long as a fault says; return what else it dictates, None to go on.

    Raises MachineError when a delay is not a number.
    """
    delay = _take(root, f"delay-{program}-{verb}")
    if delay is not None:
        time.sleep(_seconds(root, program, verb, delay))
    for kind, status in (("fail", 1), ("lie", 0)):
        text = _take(root, f"{kind}-{program}-{verb}")
        if text is not None:
            return Fault(status, text)
    return None


def _take(root: str, name: str) -> str | None:
    """Return a fault's text and count the run; None where there is no such fault."""
    path = f"{sysroot.STATE}/{name}"
    if not sysroot.exists(root, path):
        return None
    with sysroot.locked(root):
        data = sysroot.read(root, path)
        if data is None:
            return None
        text = data.decode(errors="surrogateescape")
        first, _, rest = text.partition("\n")
        count = first.strip().removeprefix(_TIMES)
        if not first.startswith(_TIMES) or not (count.isascii() and count.isdigit()):
            return text
        left = int(count)
        if left > 1:
            line = f"{_TIMES}{left - 1}\n{rest}"
            sysroot.publish(root, path, line.encode(errors="surrogateescape"))
        else:
            sysroot.discard(root, path)
        return rest if left else None


def _seconds(root: str, program: str, verb: str, text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise MachineError(f"{root}/{sysroot.STATE}/delay-{program}-{verb} is not a number of seconds: {text!r}")
    return seconds
