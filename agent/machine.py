"""Changes to the machine: recorded before they are made, undone when they fail, and tried again until undone."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from translators.apply import PlanFailedError, apply, undo_of, unwind
from translators.base import Plan

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent.store import Store
    from agent.tree import Node
    from translators.base import Step
    from translators.host import Host

log = logging.getLogger(__name__)


class ChangeFailedError(Exception):
    """A change failed and was undone, but for what ``failures`` says. ``cause`` is PlanFailedError or OSError.

    ``begun`` is how many steps had been begun, ``moments`` are as those of a change, the last is the undoing's end.
    """

    def __init__(
        self, cause: PlanFailedError | OSError, failures: tuple[str, ...], begun: int, moments: tuple[float, ...]
    ) -> None:
        super().__init__(str(cause))
        self.cause = cause
        self.failures = failures
        self.begun = begun
        self.moments = moments


class Machine:
    """Carries out plans. What could not be undone is owed: it is tried again before anything else is done.

    ``changing`` is whether a plan is being carried out or undone.
    """

    def __init__(self, store: Store, host: Host) -> None:
        self._store = store
        self._host = host
        self._owed = Plan()
        self._told: tuple[str, ...] = ()
        self.changing = False

    def recover(self) -> None:
        """Undo a change that an earlier agent left half done. Raises StartError."""
        journal = self._store.unfinished()
        if journal is not None:
            log.warning("an earlier commit was broken off: undoing %d steps", len(journal.plan.steps))
            self._owed = undo_of(journal.plan.steps)
            self.settle()

    def settle(self) -> tuple[str, ...]:
        """Undo what is owed, and return what can't be undone yet, in words."""
        if not self._owed:
            return ()
        failures = unwind(self._owed, self._host)
        if not failures:
            log.warning("what an earlier commit left half done is undone")
            self._owed = Plan()
            self._over()
        elif failures != self._told:
            log.error("what an earlier commit left half done can't be undone yet: %s", "; ".join(failures))
        self._told = failures
        return failures

    def change(self, plan: Plan, root: Node | None, *, then: Callable[[], None] | None = None) -> tuple[float, ...]:
        """Carry out a plan, and what makes it last. Nothing may be owed.

        ``root`` is what running becomes by it, None where it stays. Returned are the moments (Host.monotonic) before
        the first step and after each. Raises ChangeFailedError.
        """
        undo = Plan()
        moments: list[float] = []

        def done(step: Step) -> None:
            moments.append(self._host.monotonic())
            log.info("done: %s", step.describe())

        self.changing = True
        try:
            if plan:
                self._store.begin(plan, root)
            moments.append(self._host.monotonic())
            undo = apply(plan, self._host, after_step=done)
            if then is not None:
                then()
        except (PlanFailedError, OSError) as cause:
            undo = cause.undo if isinstance(cause, PlanFailedError) else undo
            failures = unwind(undo, self._host)
            if failures:
                self._owed = undo  # and the record stays, for the successor of this agent
            elif plan:
                self._over()
            moments.append(self._host.monotonic())
            raise ChangeFailedError(cause, failures, len(undo.steps), tuple(moments)) from cause
        finally:
            self.changing = False
        if plan:
            self._over()
        return tuple(moments)

    def _over(self) -> None:
        """Remove the record of what was done, or undone.

        One that stays is no failure of that: its successor replaces it, or a successor of this agent finds that it
        led to running, or undoes what is undone already.
        """
        try:
            self._store.end()
        except OSError as error:
            log.error("the record of a commit that is over can't be removed: %s", error)  # noqa: TRY400
