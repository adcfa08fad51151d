"""What is shown at one moment: made from what an agent reports and from the picture before. No clock, no terminal."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from agent.cli.monitor.rates import load, rate

if TYPE_CHECKING:
    from datetime import datetime

    from agent.cli.monitor.events import Event
    from agent.cli.reply import Tree

_HISTORY: Final = 120
_LAST_EVENTS: Final = 100
_OF_TRAFFIC: Final = ("bytes-in", "bytes-out")


@dataclass(frozen=True, slots=True)
class Sample:
    """What an agent reported at one moment.

    ``clock`` is in seconds and never goes back; ``time`` is the time of day, with its zone. ``tree`` is the model's
    part of the reply, None where there was none: ``problem`` says why then. ``note`` says why there are no events.
    """

    clock: float
    time: datetime
    tree: Tree | None
    events: tuple[Event, ...] = ()
    problem: str | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Device:
    """A device as reported, with its requests in a second since the picture before, and those of the last pictures.

    None is a rate that is not known. The oldest comes first.
    """

    data: Tree
    rates: tuple[float | None, ...]

    @property
    def rate(self) -> float | None:
        """The requests in a second since the picture before."""
        return self.rates[-1]

    @property
    def flows(self) -> Tree:
        """Its counters; empty where there are none, or the user may not see them."""
        flows: Tree = self.data.get("flows", {})
        return flows


@dataclass(frozen=True, slots=True)
class Association:
    """A security association as reported, with its bytes in a second since the picture before, by leaf."""

    data: Tree
    rates: dict[str, float | None]

    @property
    def key(self) -> tuple[Any, ...]:
        """What tells it from others."""
        return tuple(self.data.get(leaf) for leaf in ("connection", "child", "id"))


@dataclass(frozen=True, slots=True)
class Picture:
    """What is shown. With a ``problem`` nothing newer is known than what was reported at ``known_at``.

    ``clock`` is that of what was reported. ``seconds`` are those since the picture before, None where there is none to
    compare with. ``load`` is that of all CPUs together since then, in %; None where it is not known. ``events`` are the
    last ones, the oldest first; ``news`` those since the picture before.
    """

    time: datetime
    clock: float
    known_at: datetime | None = None
    seconds: float | None = None
    tree: Tree | None = None
    load: float | None = None
    devices: tuple[Device, ...] = ()
    associations: tuple[Association, ...] = ()
    events: tuple[Event, ...] = ()
    news: tuple[Event, ...] = ()
    problem: str | None = None
    note: str | None = None


def advance(before: Picture | None, sample: Sample) -> Picture:
    """Return the picture that follows another one, or is the first."""
    before = before or Picture(sample.time, sample.clock)
    # After a session that ended, the events of the meantime are asked for with the last one that is known.
    news = tuple(one for one in sample.events if one not in before.events)
    events = (*before.events, *news)[-_LAST_EVENTS:]
    if sample.tree is None:
        told = replace(before, time=sample.time, events=events, news=news)
        return replace(told, problem=sample.problem, note=sample.note)
    known = before.tree is not None and before.problem is None
    seconds = sample.clock - before.clock if known else None
    return Picture(
        time=sample.time,
        clock=sample.clock,
        known_at=sample.time,
        seconds=seconds,
        tree=sample.tree,
        load=None if seconds is None else load(_times(before.tree), _times(sample.tree)),
        devices=_devices(before, sample.tree, seconds),
        associations=_associations(before, sample.tree, seconds),
        events=events,
        news=news,
        note=sample.note,
    )


def _times(tree: Tree | None) -> Tree:
    times: Tree = (tree or {}).get("cpu", {}).get("time", {})
    return times


def _devices(before: Picture, tree: Tree, seconds: float | None) -> tuple[Device, ...]:
    known = {one.data.get("address"): one for one in before.devices}
    found = []
    for data in tree.get("qat", {}).get("device", []):
        last = known.get(data.get("address"))
        now = None if last is None or seconds is None else _requests(last.flows, data.get("flows", {}), seconds)
        found.append(Device(data, (*(last.rates if last else ()), now)[-_HISTORY:]))
    return tuple(found)


def _requests(before: Tree, after: Tree, seconds: float) -> float | None:
    """Return the requests in a second; None where the counters began anew in between."""
    if before.get("discontinuity-time") != after.get("discontinuity-time"):
        return None
    return rate(before.get("requests"), after.get("requests"), seconds)


def _associations(before: Picture, tree: Tree, seconds: float | None) -> tuple[Association, ...]:
    known = {one.key: one.data for one in before.associations}
    found = []
    for data in tree.get("ipsec", {}).get("security-association", []):
        last = known.get(Association(data, {}).key, {})
        rates = {leaf: rate(last.get(leaf), data.get(leaf), seconds or 0) for leaf in _OF_TRAFFIC}
        found.append(Association(data, rates))
    return tuple(found)
