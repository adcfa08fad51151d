"""What changes have made of the machine: looked for in worker threads, kept until the event loop tells of it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from agent.plan import subtree
from translators.base import ChangeReporter, Refresh, RefreshReporter, ServiceOwner

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent.datastore import Datastores
    from agent.plan import PlannedStep
    from agent.tree import Node
    from translators.base import Event, Translator
    from translators.host import Host

log = logging.getLogger(__name__)


class Outcomes:
    """Notes what happened, and gives it to who tells of it."""

    def __init__(self, datastores: Datastores, translators: Sequence[Translator], host: Host) -> None:
        self._datastores = datastores
        self._translators = tuple(translators)
        self._host = host
        self._seen: list[Event] = []

    def take(self) -> list[Event]:
        """Return what was noted since the last call."""
        seen, self._seen = self._seen, []
        return seen

    def note(self, *events: Event) -> None:
        """Log what happened, and keep it."""
        for event in events:
            log.log(logging.getLevelName(event.severity.upper()), "%s", event.text)
        self._seen += events

    def note_change(
        self,
        done: Sequence[PlannedStep],
        moments: Sequence[float],
        root: Node,
        cause: str,
        *,
        undone: bool = False,
    ) -> None:
        """Look at what some steps, done and perhaps undone again, have made of the machine.

        ``moments`` are those of their change (Machine), ``root`` is running after it.
        """
        if not done:
            return
        try:
            for translator in self._translators:
                if isinstance(translator, ServiceOwner):
                    numbers = [n for n, planned in enumerate(done) if planned.interrupts == translator.service]
                    if numbers:
                        end = moments[-1] if undone else moments[numbers[-1] + 1]
                        steps = tuple(done[n].step for n in numbers)
                        self.note_refresh(translator, Refresh(steps, moments[numbers[0]], end, undone=undone))
            self.note_state(root, cause)
        except Exception:  # the change is over: a defect in telling of it must not make a failure of it
            log.exception("what a change has made of the machine can't be told")

    def note_state(self, root: Node, cause: str) -> None:
        """Look at what has changed since the last look, and why; ``root`` is running."""
        reporters = [t for t in self._translators if isinstance(t, ChangeReporter)]
        running = self._datastores.managed(root) if reporters else {}
        for reporter in reporters:
            self.note(*reporter.changed(self._host, subtree(running, reporter.path), cause))

    def note_refresh(self, owner: ServiceOwner, refresh: Refresh) -> None:
        """Look at what became of a service that was refreshed."""
        if refresh.steps and isinstance(owner, RefreshReporter):
            event = owner.refreshed(refresh, self._host)
            self.note(*(() if event is None else (event,)))
