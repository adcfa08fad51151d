"""Whether an accelerator does the work of an SA: the container ``offload``."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

from translators.crypto import cpuinfo, proc_crypto
from translators.crypto.esp import EspAlgorithms
from translators.crypto.offload import DataPlane, verdict
from translators.ipsec.state import esp_plugin
from translators.sources import SourceError
from translators.vici import ViciError

if TYPE_CHECKING:
    from translators.base import Tree
    from translators.crypto.proc_crypto import Table
    from translators.ipsec.tunnels import ChildSa
    from translators.ipsec.vici import Charon

_LEAFS: Final = ("state", "provider", "algorithm", "basis", "reason", "advice")


@dataclass
class Offload:
    """The verdicts of one reading: what they rest on is read when the first SA asks for it, and once."""

    charon: Charon
    _made: dict[EspAlgorithms, Tree] = field(default_factory=dict)

    def __call__(self, child: ChildSa) -> Tree:
        """Return the container of an SA that has an encryption algorithm."""
        esp = algorithms(child)
        if esp not in self._made:
            self._made[esp] = self._judged(esp)
        return self._made[esp]

    def _judged(self, esp: EspAlgorithms) -> Tree:
        plane = self._data_plane
        if isinstance(plane, str):
            return {"state": "unknown", "reason": plane}
        found = verdict(esp, self._table, self._features, plane)
        return {leaf: value for leaf in _LEAFS if (value := getattr(found, leaf)) is not None}

    @cached_property
    def _data_plane(self) -> DataPlane | str:
        """What encrypts the packets, or why that can't be told."""
        try:
            plugin = esp_plugin(self.charon)
        except ViciError as error:
            return f"what encrypts the packets can't be told: {error}"
        if plugin is None:
            return "what encrypts the packets can't be told: charon has loaded no plugin that is known to install SAs"
        return DataPlane.USER_SPACE if plugin == DataPlane.USER_SPACE.value else DataPlane.KERNEL

    @cached_property
    def _table(self) -> Table | SourceError | None:
        try:
            return proc_crypto.read(self.charon.host)
        except SourceError as error:
            return error

    @cached_property
    def _features(self) -> frozenset[str] | None:
        """The CPU's instructions; one that can't be read is a fault of the subtree ``cpu``, and not known here."""
        try:
            cpu = cpuinfo.read(self.charon.host)
        except SourceError:
            return None
        return None if cpu is None else cpu.features


def algorithms(child: ChildSa) -> EspAlgorithms:
    """Return the algorithms of an SA that has an encryption algorithm."""
    name, _, size = (child.encryption or "").partition("-")
    integrity = None if child.integrity is None else child.integrity.partition("-")[0]
    return EspAlgorithms(name, int(size) if size.isascii() and size.isdigit() else None, integrity, bool(child.esn))
