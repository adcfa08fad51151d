"""The translator of the subtree ``qat``."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from translators.base import Attention, Event, ShortMemory
from translators.qat import health, operational, prepare, restart
from translators.qat.backends import AUTO, DRIVERS
from translators.qat.kernel_log import KMSG
from translators.qat.log_watch import LogWatch
from translators.qat.model import PATH, parse
from translators.sources import SourceError

if TYPE_CHECKING:
    from translators.base import Change, Invocation, Memory, Plan, Reading, Selection, Tree
    from translators.host import Host


class QatTranslator:
    """QuickAssist devices, by whichever driver, and their supervision."""

    path: ClassVar[str] = PATH
    actions: ClassVar[frozenset[str]] = frozenset({"device/restart"})

    def __init__(self, driver: str = AUTO, *, kernel_log: str = KMSG, memory: Memory | None = None) -> None:
        """``driver`` is whose devices they are: one of ``backends.DRIVERS``; ``kernel_log`` is the log to follow."""
        if driver not in DRIVERS:
            raise ValueError(f"there is no QAT driver {driver!r}: there are {', '.join(DRIVERS)}")
        self._driver = driver
        kept = ShortMemory() if memory is None else memory
        self._supervision = health.Supervision(kept)
        self._log = LogWatch(kept, kernel_log)

    def prepare(self, change: Change, host: Host) -> Plan:
        return prepare.prepare(change, host, self._driver)

    def act(self, invocation: Invocation, running: Tree, host: Host) -> Plan:
        (address,) = invocation.keys
        return restart.restart(address, parse(running), host, self._driver)

    def operational(self, host: Host, wanted: Selection, running: Tree) -> Reading:
        return operational.read(host, wanted, parse(running), self._supervision)

    def in_use(self, host: Host, wanted: Selection, running: Tree) -> Reading:
        return operational.read(host, wanted, parse(running), self._supervision, in_use_of=running)

    def interval(self, running: Tree) -> float:
        return parse(running).health.interval

    def look(self, host: Host, running: Tree) -> Attention:
        told = self._log.look(host)
        try:
            found = self._supervision.look(host, parse(running))
        except (SourceError, OSError) as error:
            return Attention((*told, _blind(error)))
        return Attention((*told, *found.events), found.refresh)

    def asked(self, *, done: bool) -> None:
        self._supervision.refreshed(done=done)

    def changed(self, host: Host, running: Tree, cause: str) -> tuple[Event, ...]:
        try:
            return self._supervision.changed(host, parse(running), cause)
        except (SourceError, OSError) as error:
            return (_blind(error),)


def _blind(error: Exception) -> Event:
    return Event("warning", f"the QAT devices can't be looked at: {error}")
