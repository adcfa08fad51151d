"""The translator of the subtree ``qat``."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from translators.base import Attention, Event
from translators.qat import health, operational, prepare, restart
from translators.qat.model import PATH, parse
from translators.sources import SourceError

if TYPE_CHECKING:
    from translators.base import Change, Invocation, Plan, Reading, Selection, Tree
    from translators.host import Host


class QatTranslator:
    """QuickAssist devices under qat_service, and their supervision."""

    path: ClassVar[str] = PATH
    actions: ClassVar[frozenset[str]] = frozenset({"device/restart"})

    def __init__(self) -> None:
        self._supervision = health.Supervision()

    def prepare(self, change: Change, host: Host) -> Plan:
        return prepare.prepare(change, host)

    def act(self, invocation: Invocation, running: Tree, host: Host) -> Plan:
        (address,) = invocation.keys
        return restart.restart(address, parse(running), host)

    def operational(self, host: Host, wanted: Selection, running: Tree) -> Reading:
        return operational.read(host, wanted, parse(running), self._supervision)

    def in_use(self, host: Host, wanted: Selection, running: Tree) -> Reading:
        return operational.read(host, wanted, parse(running), self._supervision, in_use_of=running)

    def interval(self, running: Tree) -> float:
        return parse(running).health.interval

    def look(self, host: Host, running: Tree) -> Attention:
        try:
            return self._supervision.look(host, parse(running))
        except (SourceError, OSError) as error:
            return Attention((_blind(error),))

    def changed(self, host: Host, running: Tree, cause: str) -> tuple[Event, ...]:
        try:
            return self._supervision.changed(host, parse(running), cause)
        except (SourceError, OSError) as error:
            return (_blind(error),)


def _blind(error: Exception) -> Event:
    return Event("warning", f"the QAT devices can't be looked at: {error}")
