"""The translator of the subtree ``cpu``, which has state only."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from translators.base import Fault, Plan, Reading
from translators.cpu import cpuinfo
from translators.sources import SourceError

if TYPE_CHECKING:
    from translators.base import Change, Selection, Tree
    from translators.host import Host

PATH: Final = "/hardware-acceleration:acceleration/cpu"
TYPES: Final = "hardware-acceleration-types"


class CpuTranslator:
    """What the CPU can do for cryptography."""

    path: ClassVar[str] = PATH

    def prepare(self, change: Change, host: Host) -> Plan:  # noqa: ARG002 - nothing of it can be configured
        return Plan()

    def operational(self, host: Host, wanted: Selection, running: Tree) -> Reading:  # noqa: ARG002 - same
        try:
            cpu = cpuinfo.read(host)
        except SourceError as error:
            return Reading({}, (Fault(PATH, str(error)),))
        if cpu is None:
            return Reading({})
        return Reading({name: value for name, value in _tree(cpu).items() if wanted.wants(name)})


def _tree(cpu: cpuinfo.Cpu) -> Tree:
    tree: Tree = {"model": cpu.model, "vendor": cpu.vendor, "architecture": cpu.architecture}
    if cpu.flags is not None:
        features = [identity for flag, identity in cpuinfo.FEATURES.items() if flag in cpu.flags]
        tree["crypto-feature"] = [f"{TYPES}:{identity}" for identity in features] or None
        tree["aes-ni"] = "aes" in cpu.flags
    return {name: value for name, value in tree.items() if value is not None}
