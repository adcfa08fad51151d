"""What a configuration takes on this machine: the translators' steps, with services quiesced around them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from agent import errors
from translators.base import Change, Plan, ServiceOwner, TranslatorError, TunnelOwner

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from translators.base import Actor, Disturbance, Invocation, Step, Translator, Tree
    from translators.host import Host


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """A step, the path of the subtree that wants it, and the service that is interrupted meanwhile, if one is."""

    step: Step
    owner: str
    interrupts: str | None = None


@dataclass(frozen=True, slots=True)
class Prepared:
    """What a commit would do: steps over all translators, in order, remarks, and the tunnels that are touched."""

    steps: tuple[PlannedStep, ...]
    notes: tuple[str, ...]
    tunnels: tuple[str, ...] = ()

    @property
    def plan(self) -> Plan:
        """The steps alone."""
        return Plan(tuple(planned.step for planned in self.steps), self.notes)


def prepare(
    translators: Sequence[Translator],
    wanted: Iterable[Translator],
    before: dict[str, Any] | None,
    after: dict[str, Any],
    host: Host,
) -> Prepared:
    """Return the steps from one configuration to another, both RFC 7951 data with defaults. Touches nothing.

    ``wanted`` are the translators to ask, in order; ``before`` is None at start-up. Raises NetconfError.
    """
    steps: list[PlannedStep] = []
    notes: list[str] = []
    try:
        for translator in wanted:
            old = None if before is None else subtree(before, translator.path)
            plan = translator.prepare(Change(old, subtree(after, translator.path)), host)
            steps += [PlannedStep(step, translator.path) for step in plan.steps]
            notes += plan.notes
        return _whole(translators, steps, notes, host)
    except TranslatorError as error:
        raise errors.operation_failed(error.message, app_tag=error.app_tag, path=error.path) from error


def prepare_action(
    translators: Sequence[Translator], actor: Actor, invocation: Invocation, running: dict[str, Any], host: Host
) -> Prepared:
    """Return the steps of an action. Touches nothing. Raises NetconfError.

    ``running`` is RFC 7951 data with defaults.
    """
    try:
        plan = actor.act(invocation, subtree(running, actor.path), host)
        return _whole(translators, [PlannedStep(step, actor.path) for step in plan.steps], [*plan.notes], host)
    except TranslatorError as error:
        raise errors.operation_failed(error.message, app_tag=error.app_tag, path=error.path) from error


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks for a plan: ``ends`` are the session's local and remote address, None for one without addresses.

    ``readable`` are the lists of tunnels (TunnelOwner) that the user may read.
    """

    ends: tuple[str, str] | None
    readable: frozenset[str]


def with_tunnels(prepared: Prepared, translators: Sequence[Translator], host: Host, asker: Asker) -> Prepared:
    """Return a plan with the tunnels that it touches, and what who asks is to know of them."""
    steps = prepared.plan.steps
    found = [
        owner.touched(steps, host, asker.ends, named=owner.tunnels in asker.readable)
        for owner in translators
        if isinstance(owner, TunnelOwner)
    ]
    return replace(
        prepared,
        tunnels=tuple(name for touched in found for name in touched.tunnels),
        notes=(*prepared.notes, *(note for touched in found for note in touched.notes)),
    )


def subtree(data: dict[str, Any], path: str) -> Tree:
    """Return the part of RFC 7951 data at a path of containers; empty where it is not there."""
    for name in path.strip("/").split("/"):
        data = data.get(name, {})
    return data


def _whole(translators: Sequence[Translator], steps: list[PlannedStep], notes: list[str], host: Host) -> Prepared:
    """Return steps with what the services that they disturb need around them. Raises TranslatorError."""
    for translator in translators:
        if isinstance(translator, ServiceOwner):
            steps = _surrounded(translator, steps, notes, host)
    return Prepared(tuple(steps), tuple(dict.fromkeys(notes)))


def _surrounded(owner: ServiceOwner, steps: list[PlannedStep], notes: list[str], host: Host) -> list[PlannedStep]:
    """Return the steps with a service's quiesce and resume steps around those that disturb it."""
    disturbing = [n for n, planned in enumerate(steps) if _disturbs(planned.step, owner.service)]
    if not disturbing:
        return steps
    begin, end = disturbing[0], disturbing[-1] + 1
    disturbances = tuple(d for planned in steps[begin:end] if (d := _disturbs(planned.step, owner.service)))
    first, last = owner.around(disturbances, host)
    notes += [*first.notes, *last.notes]
    if not first and not last:
        return steps
    path = steps[begin].owner
    around = [
        *(PlannedStep(step, path) for step in first.steps),
        *steps[begin:end],
        *(PlannedStep(step, path) for step in last.steps),
    ]
    return [*steps[:begin], *(replace(planned, interrupts=owner.service) for planned in around), *steps[end:]]


def _disturbs(step: Step, service: str) -> Disturbance | None:
    return step.disturbs if step.disturbs is not None and step.disturbs.service == service else None
