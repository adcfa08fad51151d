"""Whether VyOS's configuration agrees with running: somebody else can change it, on its command line or by its API.

VyOS is asked once for each look at the machine and after each change; what a client reads is what it said then.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from translators.base import Event, Fault, Reading
from translators.qat.model import PATH
from translators.qat.vyos import QAT, words
from translators.vyos import VyosError

if TYPE_CHECKING:
    from translators.base import Selection
    from translators.host import Host
    from translators.qat.model import QatConfig
    from translators.qat.vyos import Router

LEAF: Final = "system-configured"

_HAS: Final = (
    f"VyOS has {words(QAT)} and running has not: something else has set it. Delete it there, or commit enabled true"
)
_HAS_NOT: Final = (
    f"VyOS does not have {words(QAT)} and running has: something else has deleted it. A commit brings it back, also "
    "one without a change; or commit enabled false"
)
_AGREES: Final = f"VyOS and running agree on {words(QAT)} again"


@dataclass(frozen=True, slots=True)
class Drift:
    """That VyOS's configuration and running differ now, or agree again; ``configured`` is what VyOS's says."""

    configured: bool
    differs: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Seen:
    """What a look has found: events, a change of drift, and whether VyOS can be asked what it could not be before."""

    events: tuple[Event, ...] = ()
    drift: Drift | None = None
    back: bool = False


class Watch:
    """What is remembered of VyOS from look to look; without a ``router`` there is nothing to look at.

    ``missed`` is whether running could not be brought to the machine at start-up, as VyOS could not be asked.
    """

    def __init__(self, router: Router | None) -> None:
        self._router = router
        self._configured: bool | None = None
        self._failure: str | None = None
        self._differed = False
        self.missed = False

    def look(self, host: Host, config: QatConfig) -> Seen:
        """Ask VyOS. A change of drift is found again until it is ``told``."""
        events = self.ask(host)
        if self._configured is None:
            return Seen(events)
        if self.missed:
            self.missed = False
            return Seen(events, back=True)
        differs = self._configured != config.enabled
        if differs == self._differed:
            return Seen(events)
        reason = _AGREES if not differs else _HAS if self._configured else _HAS_NOT
        return Seen(events, Drift(self._configured, differs, reason))

    def told(self, drift: Drift | None) -> None:
        """Learn that a change of drift was told."""
        if drift is not None:
            self._differed = drift.differs

    def ask(self, host: Host) -> tuple[Event, ...]:
        """Ask VyOS, and return that it can't be asked any more, or can again."""
        if self._router is None:
            return ()
        before = self._failure
        try:
            self._configured, self._failure = self._router.has(host, QAT), None
        except VyosError as error:
            self._configured, self._failure = None, str(error)
        if self._failure == before:
            return ()
        if self._failure is None:
            return (Event("info", f"VyOS tells again whether it has {words(QAT)}"),)
        return (Event("warning", f"whether VyOS has {words(QAT)} can't be told: {self._failure}"),)

    def added(self, reading: Reading, wanted: Selection) -> Reading:
        """Return a reading of the subtree with what VyOS's configuration said last."""
        if not wanted.wants(LEAF):
            return reading
        if self._failure is not None:
            return Reading(reading.tree, (*reading.faults, Fault(f"{PATH}/{LEAF}", self._failure)))
        found = {} if self._configured is None else {LEAF: self._configured}
        return Reading(reading.tree | found, reading.faults)
