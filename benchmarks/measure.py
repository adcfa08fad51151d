"""What a figure is, and how two servers take turns so that a machine's drift meets both alike."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# Measures, and returns its samples.
Side: TypeAlias = "Callable[[], Sequence[float]]"
# The samples of the agent and of the floor.
Pair: TypeAlias = "tuple[Sequence[float], Sequence[float]]"


@dataclass(frozen=True, slots=True)
class Counts:
    """How much is measured.

    In a turn there are so many ``requests`` or ``commits``, or one of what is slow. ``seconds`` is idle time,
    ``entries`` the length of the long list; ``devices`` and ``cpus`` make the big machine.
    """

    turns: int
    slow_turns: int
    rounds: int
    starts: int
    connects: int
    requests: int
    commits: int
    fills: int
    entries: int
    rpcs: int
    sessions: int
    seconds: float
    devices: int
    cpus: int


@dataclass(frozen=True, slots=True)
class Goal:
    """At most ``limit`` (or ``at_least``), in the row's unit or as a multiple of the floor."""

    limit: float
    times_floor: bool = False
    at_least: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the result: a figure of the agent, and of the floor where there is one, both in ``unit``."""

    name: str
    unit: str
    agent: float
    floor: float | None
    samples: int
    goal: Goal | None = None

    @property
    def ratio(self) -> float | None:
        """The agent's figure by the floor's; None where that is nothing."""
        return self.agent / self.floor if self.floor else None

    @property
    def met(self) -> bool | None:
        """Whether the goal is reached; None where there is none."""
        goal = self.goal
        if goal is None or (goal.times_floor and self.floor is None):
            return None
        limit = goal.limit * (self.floor or 0.0) if goal.times_floor else goal.limit
        return self.agent >= limit if goal.at_least else self.agent <= limit


def compare(agent: Side, floor: Side, *, rounds: int) -> Pair:
    """Return the samples of two that take turns."""
    first, second = take_turns([agent, floor], rounds=rounds)
    return first, second


def take_turns(sides: Sequence[Side], *, rounds: int) -> list[list[float]]:
    """Return each side's samples: in every round each side measures once, in every other round in reverse order."""
    samples: list[list[float]] = [[] for _ in sides]
    for number in range(rounds):
        order = range(len(sides)) if number % 2 == 0 else reversed(range(len(sides)))
        for side in order:
            samples[side] += sides[side]()
    return samples


def percentile(samples: Sequence[float], percent: float) -> float:
    """Return the smallest sample that ``percent`` of them do not exceed (nearest rank)."""
    ordered = sorted(samples)
    return ordered[max(0, math.ceil(percent / 100 * len(ordered)) - 1)]


def milliseconds(name: str, pair: Pair, goal: Goal | None = None, *, percent: float = 50) -> Row:
    """Return the row of a percentile of times in seconds."""
    agent, floor = (percentile(side, percent) * 1e3 for side in pair)
    return Row(name, "ms", agent, floor, len(pair[0]), goal)
