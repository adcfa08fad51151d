"""The translator of the subtree ``kernel-crypto``, which has state only."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from translators.base import Fault, Plan, Reading
from translators.crypto import proc_crypto
from translators.crypto.providers import provider
from translators.sources import SourceError

if TYPE_CHECKING:
    from translators.base import Change, Selection, Tree
    from translators.host import Host

PATH: Final = "/hardware-acceleration:acceleration/kernel-crypto"
_LIST: Final = "algorithm"
_KEYS: Final = ("name", "driver")


class KernelCryptoTranslator:
    """What the kernel can compute, and by which drivers."""

    path: ClassVar[str] = PATH

    def prepare(self, change: Change, host: Host) -> Plan:  # noqa: ARG002 - nothing of it can be configured
        return Plan()

    def operational(self, host: Host, wanted: Selection, running: Tree) -> Reading:  # noqa: ARG002 - same
        if not wanted.wants(_LIST):
            return Reading({})
        try:
            table = proc_crypto.read(host)
        except SourceError as error:
            return Reading({}, (Fault(f"{PATH}/{_LIST}", str(error)),))
        entries = [] if table is None else _entries(table, wanted)
        return Reading({_LIST: entries} if entries else {})


def _entries(table: proc_crypto.Table, wanted: Selection) -> list[Tree]:
    made: dict[tuple[str, str], Tree] = {}
    for algorithm in table.algorithms:
        keys = {"name": algorithm.name, "driver": algorithm.driver}
        selection = wanted.entry(_LIST, keys)
        if selection is not None:
            tree = _tree(table, algorithm)
            made.setdefault(
                (algorithm.name, algorithm.driver),
                {leaf: value for leaf, value in tree.items() if leaf in _KEYS or selection.wants(leaf)},
            )
    return list(made.values())


def _tree(table: proc_crypto.Table, algorithm: proc_crypto.Algorithm) -> Tree:
    tree: Tree = {
        "name": algorithm.name,
        "driver": algorithm.driver,
        "module": algorithm.module,
        "priority": algorithm.priority,
        "type": algorithm.type,
        "async": algorithm.asynchronous,
        "internal": algorithm.internal,
        "self-test-passed": algorithm.self_test,
        "reference-count": algorithm.references,
        "selected": table.selected(algorithm.name, algorithm.kind) is algorithm,
        "provider": provider(algorithm.driver, algorithm.module),
    }
    return {leaf: value for leaf, value in tree.items() if value is not None}
