"""By whom a machine's devices are managed, one of two drivers or VyOS: by setting, or by evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from translators.qat.backend_in_tree import InTree
from translators.qat.backend_out_of_tree import OutOfTree
from translators.qat.backend_vyos import VYOS, Vyos
from translators.qat.drivers import IN_TREE, OUT_OF_TREE, installed_kinds, loaded_kind
from translators.qat.tool import QAT_SERVICE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from translators.host import Host
    from translators.qat.backend import Backend
    from translators.qat.devices import Device
    from translators.qat.vyos import Router

AUTO: Final = "auto"
DRIVERS: Final = (AUTO, OUT_OF_TREE, IN_TREE, VYOS)

Choose: TypeAlias = "Callable[[Host, Sequence[Device]], Backend]"

_BACKENDS: Final[dict[str, Backend]] = {OUT_OF_TREE: OutOfTree(), IN_TREE: InTree()}


def choose(host: Host, found: Sequence[Device], driver: str, router: Router | None = None) -> Backend:
    """Return the backend for the devices of this machine; ``driver`` is one of ``DRIVERS``.

    A ``router`` is VyOS, whose API the settings name for nothing else than to be used. Otherwise it is one for the
    machine, as both drivers have the same module names. The out-of-tree driver's script on the machine is taken for
    what the operator wants: that the kernel's driver is loaded beside it is then a mismatch, which the backend tells.
    Raises SourceError, OSError.
    """
    if router is not None and driver in {AUTO, VYOS}:
        return Vyos(router)
    return _BACKENDS[_evident(host, found) if driver == AUTO else driver]


def _evident(host: Host, found: Sequence[Device]) -> str:
    loaded = loaded_kind(host)
    if loaded == OUT_OF_TREE or host.executable(QAT_SERVICE):
        return OUT_OF_TREE
    if loaded == IN_TREE or installed_kinds(host) == {IN_TREE}:
        return IN_TREE
    known = any(device.assigned or device.id.stack for device in found)
    return OUT_OF_TREE if known else IN_TREE
