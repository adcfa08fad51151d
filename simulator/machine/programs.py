"""What all programs of a simulated machine have in common: each run is logged before it does anything."""

from typing import TYPE_CHECKING

from simulator.machine import faultfiles, hardware, inventory, ipsec, kernel, qat_service, sysroot
from simulator.machine.sysroot import MachineError
from simulator.machine.terminal import complain

if TYPE_CHECKING:
    from collections.abc import Sequence

_NO_VERB = "-"


def main(arguments: "Sequence[str]") -> int:
    """Run ``PROGRAM ROOT [PATH [ARGUMENT ...]]`` and return its exit status."""
    name, root, *rest = arguments
    if name == hardware.PROGRAM:
        return hardware.run(root)
    path, verb, *others = [*rest, _NO_VERB] if len(rest) == 1 else rest
    try:
        sysroot.append(root, sysroot.COMMANDS, f"{name} {_word(verb)}")
        if name == "qat_service":
            return qat_service.main(root, path, verb, others)
        status = faultfiles.interfere(root, name, _word(verb))
        return _ipsec(root, path, verb) if status is None else status
    except (MachineError, OSError) as error:
        complain(f"{path}: {error}\n")
        return 1


def _ipsec(root: str, path: str, verb: str) -> int:
    before = ipsec.running(root)
    status = ipsec.main(root, path, verb)
    if ipsec.running(root) != before:
        with sysroot.locked(root):
            kernel.show_algorithms(inventory.load(root))
    return status


def _word(verb: str) -> str:
    """Return a verb as one word that fits into a line and a file name."""
    return (
        "".join(letter if letter.isascii() and (letter.isalnum() or letter in "-_") else "?" for letter in verb)
        or _NO_VERB
    )
