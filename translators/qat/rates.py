"""How many requests a device takes in a second, from two looks at its firmware's counters.

The firmware counts in 64 bits (counters beyond 2^32 are seen in the field), so a counter never comes around within
the life of a device: one that is smaller than it was has begun anew, or is within a step of 2^64.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from translators.qat.counters import Engine

MODULUS: Final = 2**64
# No engine takes as many: what would need more is no wrap but a counter that began anew.
MAX_PER_SECOND: Final = 10**9


@dataclass(frozen=True, slots=True)
class Meter:
    """What is known after a look; frozen and of plain values, so that it can be stored.

    ``rate`` is requests per second over the last interval, None until there are two looks at counters that go on.
    ``discontinuity`` is when the counters last were seen to have begun anew, None where they never were.
    """

    rate: int | None = None
    discontinuity: datetime | None = None
    counters: tuple[tuple[int, int], ...] | None = None
    seconds: float = 0.0
    begun: bool = False

    def after(self, engines: Sequence[Engine] | None, *, seconds: float, now: datetime) -> Meter:
        """Return the meter after a look: the engines' counters, None where the device is down.

        ``seconds`` is a clock that never goes back (``Host.monotonic``), ``now`` the time of day. A source that is
        broken is no look.
        """
        if engines is None:
            return Meter(None, self.discontinuity, None, seconds, self.begun)
        if self.begun and seconds <= self.seconds:
            return self
        if any(engine.requests is None for engine in engines):  # one did not answer: the next look spans two intervals
            return Meter(None, self.discontinuity, self.counters, self.seconds, self.begun)
        counters = tuple((engine.number, engine.requests or 0) for engine in engines)
        elapsed = seconds - self.seconds
        grown = self._grown(dict(counters), elapsed)
        if grown is None:
            return Meter(None, now if self.begun else None, counters, seconds, begun=True)
        return Meter(round(grown / elapsed), self.discontinuity, counters, seconds, begun=True)

    def _grown(self, counters: dict[int, int], elapsed: float) -> int | None:
        """Return how many requests there were since the last look; None where the counters don't go on from there."""
        before = dict(self.counters or ())
        if not counters or before.keys() != counters.keys():
            return None
        grown = {number: (count - before[number]) % MODULUS for number, count in counters.items()}
        return sum(grown.values()) if max(grown.values()) <= MAX_PER_SECOND * elapsed else None
