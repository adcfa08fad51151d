"""The translator of the subtree ``qat``."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from translators.base import Attention, Event, ShortMemory, TranslatorError
from translators.qat import health, operational, prepare, restart
from translators.qat.backend_vyos import VYOS
from translators.qat.backends import AUTO, DRIVERS, choose
from translators.qat.kernel_log import KMSG
from translators.qat.log_watch import LogWatch
from translators.qat.model import PATH, parse
from translators.qat.vyos import UNREACHABLE
from translators.qat.vyos_watch import Watch
from translators.sources import SourceError

if TYPE_CHECKING:
    from translators.base import Change, Invocation, Memory, Plan, Reading, Selection, Tree
    from translators.host import Host
    from translators.qat.vyos import Router


class QatTranslator:
    """QuickAssist devices, by whichever driver, and their supervision."""

    path: ClassVar[str] = PATH
    actions: ClassVar[frozenset[str]] = frozenset({"device/restart"})

    def __init__(
        self,
        driver: str = AUTO,
        *,
        kernel_log: str = KMSG,
        memory: Memory | None = None,
        router: Router | None = None,
    ) -> None:
        """``driver`` is whose devices they are: one of ``backends.DRIVERS``; ``kernel_log`` is the log to follow.

        ``router`` is VyOS, where the settings name its API.
        """
        if driver not in DRIVERS:
            raise ValueError(f"there is no QAT driver {driver!r}: there are {', '.join(DRIVERS)}")
        if driver == VYOS and router is None:
            raise ValueError("the QAT driver vyos needs VyOS's API")
        self._choose = partial(choose, driver=driver, router=router)
        self._watch = Watch(router if driver in {AUTO, VYOS} else None)
        kept = ShortMemory() if memory is None else memory
        self._supervision = health.Supervision(kept)
        self._log = LogWatch(kept, kernel_log)

    def prepare(self, change: Change, host: Host) -> Plan:
        try:
            return prepare.prepare(change, host, self._choose)
        except TranslatorError as error:
            if change.before is None and error.app_tag == UNREACHABLE:
                self._watch.missed = True
            raise

    def act(self, invocation: Invocation, running: Tree, host: Host) -> Plan:
        (address,) = invocation.keys
        return restart.restart(address, parse(running), host, self._choose)

    def operational(self, host: Host, wanted: Selection, running: Tree) -> Reading:
        return self._watch.added(operational.read(host, wanted, parse(running), self._supervision), wanted)

    def in_use(self, host: Host, wanted: Selection, running: Tree) -> Reading:
        reading = operational.read(host, wanted, parse(running), self._supervision, in_use_of=running)
        return self._watch.added(reading, wanted)

    def interval(self, running: Tree) -> float:
        return parse(running).health.interval

    def look(self, host: Host, running: Tree) -> Attention:
        config = parse(running)
        seen = self._watch.look(host, config)
        told = (*self._log.look(host), *seen.events)
        try:
            found = self._supervision.look(host, config, seen.drift)
        except (SourceError, OSError) as error:
            return Attention((*told, _blind(error)), bring=seen.back)
        self._watch.told(seen.drift)
        return Attention((*told, *found.events), found.refresh, seen.back)

    def asked(self, *, done: bool) -> None:
        self._supervision.refreshed(done=done)

    def changed(self, host: Host, running: Tree, cause: str) -> tuple[Event, ...]:
        told = self._watch.ask(host)
        try:
            return (*told, *self._supervision.changed(host, parse(running), cause))
        except (SourceError, OSError) as error:
            return (*told, _blind(error))


def _blind(error: Exception) -> Event:
    return Event("warning", f"the QAT devices can't be looked at: {error}")
