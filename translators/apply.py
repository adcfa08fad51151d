"""Carry out a plan, and undo it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from translators.base import Plan, StepError
from translators.host import ProgramTimeoutError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from translators.base import Step
    from translators.host import Host


class PlanFailedError(Exception):
    """A step of a plan failed.

    ``cause`` is what it raised: StepError, OSError or ProgramTimeoutError, or anything else where the step is
    defective. ``undo`` brings the machine back; its first step is the failed one's, which may be half done.
    """

    def __init__(self, step: Step, cause: Exception, undo: Plan) -> None:
        super().__init__(failure_text(step, cause))
        self.step = step
        self.cause = cause
        self.undo = undo


def apply(plan: Plan, host: Host, *, after_step: Callable[[Step], None] | None = None) -> Plan:
    """Carry out a plan's steps in order and return the plan that undoes them.

    ``after_step`` is called with each step that is done; what it raises counts as that step's failure.

    Raises PlanFailedError.
    """
    done: list[Step] = []
    for step in plan.steps:
        done.append(step)
        try:
            step.perform(host)
            if after_step is not None:
                after_step(step)
        # A defective step leaves the machine half changed like one that failed, and is undone like it.
        except Exception as cause:
            raise PlanFailedError(step, cause, undo_of(done)) from cause
    return undo_of(done)


def undo_of(steps: Iterable[Step]) -> Plan:
    """Return the plan that undoes steps, given in the order in which they are done, done or not."""
    return Plan(tuple(step.inverse() for step in reversed(tuple(steps))))


def unwind(plan: Plan, host: Host) -> tuple[str, ...]:
    """Carry out an undo plan to its end, whatever fails, and return what failed, in words."""
    failures: list[str] = []
    for step in plan.steps:
        try:
            step.perform(host)
        except Exception as cause:  # noqa: BLE001 - one step that can't be undone must not keep the others
            failures.append(f"{failure_text(step, cause)} [{_observed(step, host)}]")
    return tuple(failures)


def failure_text(step: Step, cause: Exception) -> str:
    """Return how a step failed: what it does, what went wrong, which command was run and what it printed."""
    text = f"{step.describe()}: {_reason(cause)}"
    if isinstance(cause, StepError) and cause.command:
        text += f"; command: {cause.command}"
    if isinstance(cause, StepError | ProgramTimeoutError):
        printed = cause.output.strip()
        text += f"; it printed: {printed}" if printed else "; it printed nothing" if _ran(cause) else ""
    return text


def _observed(step: Step, host: Host) -> str:
    try:
        return step.observe(host)
    except Exception as cause:  # noqa: BLE001 - same
        return f"its state can't be told: {_reason(cause)}"


def _reason(cause: Exception) -> str:
    if isinstance(cause, OSError) and cause.strerror:
        return f"{cause.filename}: {cause.strerror}" if cause.filename else cause.strerror
    return str(cause) or type(cause).__name__


def _ran(cause: StepError | ProgramTimeoutError) -> bool:
    return isinstance(cause, ProgramTimeoutError) or bool(cause.command)
