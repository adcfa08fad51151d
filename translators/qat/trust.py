"""Whether something that failed is trusted to be back: failing counts at once, coming back when it has lasted.

What fails again soon after it was trusted is trusted later the next time: each time after twice as many looks, until
it has lasted. So neither is a device that flaps told of with each change, nor IPsec refreshed with it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

LOOKS_TO_TRUST: Final = 2
MOST_LOOKS: Final = 32


@dataclass(frozen=True, slots=True)
class Trust:
    """``up`` is what is believed, ``looks`` how many in a row found it up, ``needed`` how many it takes to believe."""

    up: bool
    looks: int = 0
    needed: int = LOOKS_TO_TRUST

    def after(self, *, up: bool) -> Trust:
        """Return the trust after a look."""
        if not up:
            return Trust(up=False, needed=self.needed)
        looks = self.looks + 1
        if looks >= MOST_LOOKS:
            return Trust(up=True, looks=MOST_LOOKS)
        if self.up or looks < self.needed:
            return replace(self, looks=looks)
        return Trust(up=True, looks=looks, needed=min(2 * self.needed, MOST_LOOKS))

    def told(self, *, up: bool) -> Trust:
        """Return the trust after a change that the agent itself has made: what it finds is what it wanted."""
        return replace(self, up=up, looks=0)
