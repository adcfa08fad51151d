"""The translator of the subtree ``cpu``, which has state only."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from translators.base import Fault, Plan, Reading
from translators.cpu import hypervisor, times
from translators.crypto import cpuinfo
from translators.sources import SourceError

if TYPE_CHECKING:
    from translators.base import Change, Selection, Tree
    from translators.host import Host

PATH: Final = "/hardware-acceleration:acceleration/cpu"
TYPES: Final = "hardware-acceleration-types"
# The kernel's word for a CPU that a hypervisor gives.
_VIRTUAL: Final = "hypervisor"


class CpuTranslator:
    """What the CPU can do for cryptography, and how long it was busy."""

    path: ClassVar[str] = PATH

    def prepare(self, change: Change, host: Host) -> Plan:  # noqa: ARG002 - nothing of it can be configured
        return Plan()

    def operational(self, host: Host, wanted: Selection, running: Tree) -> Reading:  # noqa: ARG002 - same
        tree: Tree = {}
        faults: list[Fault] = []
        # The times are in a file of their own: who asks for one of both has the other one not read.
        if wanted.everything or any(branch.name != "time" for branch in wanted.branches):
            tree |= _features(host, wanted, faults)
        if (leafs := wanted.into("time")) is not None:
            tree |= _time(host, leafs, faults)
        return Reading(tree, tuple(faults))


def _features(host: Host, wanted: Selection, faults: list[Fault]) -> Tree:
    try:
        cpu = cpuinfo.read(host)
    except SourceError as error:
        faults.append(Fault(PATH, str(error)))
        return {}
    if cpu is None:
        return {}
    below = _below(cpu, host, faults) if wanted.wants("hypervisor") or wanted.wants("note") else None
    return {name: value for name, value in _tree(cpu, below).items() if wanted.wants(name)}


def _time(host: Host, wanted: Selection, faults: list[Fault]) -> Tree:
    try:
        spent = times.read(host)
    except SourceError as error:
        faults.append(Fault(f"{PATH}/time", str(error)))
        return {}
    if spent is None:
        return {}
    leafs = {"busy": spent.busy, "total": spent.total}
    return {"time": {name: value for name, value in leafs.items() if wanted.wants(name)}}


def _below(cpu: cpuinfo.Cpu, host: Host, faults: list[Fault]) -> str | None:
    """Return the hypervisor that the machine runs on, None for none."""
    if _VIRTUAL not in (cpu.flags or ()):
        return None
    try:
        return hypervisor.read(host) or hypervisor.UNKNOWN
    except SourceError as error:
        faults.append(Fault(f"{PATH}/hypervisor", str(error)))
        return hypervisor.UNKNOWN


def _tree(cpu: cpuinfo.Cpu, below: str | None) -> Tree:
    tree: Tree = {
        "model": cpu.models[0] if cpu.models else None,
        "other-model": list(cpu.models[1:]) or None,
        "vendor": cpu.vendor,
        "architecture": cpu.architecture,
        "sockets": cpu.sockets,
        "hypervisor": below,
        "note": list(_notes(cpu, below)) or None,
    }
    if cpu.flags is not None:
        features = [identity for flag, identity in cpuinfo.FEATURES.items() if flag in cpu.flags]
        tree["crypto-feature"] = [f"{TYPES}:{identity}" for identity in features] or None
        tree["aes-ni"] = "aes" in cpu.flags
    return {name: value for name, value in tree.items() if value is not None}


def _notes(cpu: cpuinfo.Cpu, below: str | None) -> tuple[str, ...]:
    notes = []
    uneven = [identity for flag, identity in cpuinfo.FEATURES.items() if flag in cpu.uneven]
    if uneven:
        notes.append(f"The CPUs of this machine differ: only some have {', '.join(uneven)}, which is not counted.")
    if cpu.flags is not None and "aes" not in cpu.flags:
        notes.append(hypervisor.advice(below))
    return tuple(notes)
