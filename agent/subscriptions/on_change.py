"""A subscription that is told what changes (RFC 8641 3.1, 3.3)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, cast

from agent.subscriptions.reasons import UPDATE_TOO_BIG
from agent.subscriptions.subscription import Subscription
from agent.subscriptions.untouched import untouched
from agent.tree import merge

if TYPE_CHECKING:
    from agent.subscriptions.reader import Reading
    from agent.subscriptions.receiver import Receiver
    from agent.subscriptions.terms import DatastoreTerms, OnChange
    from agent.subscriptions.watches import Watches
    from agent.tree import Node


class OnChangeSubscription(Subscription):
    """Gets what changes. ``told`` is what it was told last, ``known`` what is there now, both without counters.

    They are trees that all who select the same share: however long nothing can be sent, no more than that is kept.
    ``first`` was read after so many ``moves`` (see ``Watches``).
    """

    terms: DatastoreTerms

    def __init__(
        self, number: int, terms: DatastoreTerms, receiver: Receiver, watches: Watches, first: Reading, moves: int
    ) -> None:
        super().__init__(number, terms, receiver)
        self.told = self.known = watches.steady(first)
        self._watches = watches
        self._first: Reading | None = first
        self._moves = moves
        self._source = first.source
        self._everything = self.trigger.sync
        self._complete = first.complete
        self._patches = 0
        self._dampened: asyncio.TimerHandle | None = None

    @property
    def trigger(self) -> OnChange:
        """When updates are sent."""
        return cast("OnChange", self.terms.trigger)

    def start(self) -> None:
        """Send everything where that is wanted, then what changes; what has changed since it was read is read anew."""
        first, self._first = self._first, None
        if self.over or first is None:
            return
        self._watches.add(self)
        if self._moves != self._watches.moves:
            self._watches.wake(self)
        elif self._everything:
            self._synchronize(first)

    def stop(self) -> None:
        """Leave the others."""
        self._watches.remove(self)
        self._end_dampening()

    def catch_up(self, *, anew: bool) -> None:
        """Send what has changed meanwhile; after a suspension everything, unless only changes are wanted."""
        if anew or self._everything:
            self._watches.wake(self)
        else:
            self._tell()

    def synchronize(self) -> None:
        """Have everything sent anew (RFC 8641 4.4.4)."""
        self._everything = True
        self._watches.wake(self)

    def is_current(self, source: Node | None) -> bool:
        """Return whether it has all that is selected of a configuration; then send what of it is not told yet."""
        if self._everything or source is None or self._source is None:
            return False
        if not untouched(self._source, source, self.terms.criteria.filters):
            return False
        self._source = source
        self._tell()
        return True

    def see(self, reading: Reading) -> None:
        """Take what is selected now. What only could not be read is not gone."""
        if self.over or reading.failed:
            return
        self.failures = 0
        self._source = reading.source
        steady = self._watches.steady(reading)
        self.known = steady if reading.complete else merge(self.told, steady)
        self._complete = reading.complete
        if reading.too_big:
            self.receiver.suspend(self, UPDATE_TOO_BIG)
            return
        if self.suspended == UPDATE_TOO_BIG:
            self.receiver.resume(self)
        if self._everything:
            self._synchronize(reading)
        else:
            self._tell()

    def forget(self) -> None:
        """Keep nothing while suspended, where everything is sent afterwards."""
        if self.trigger.sync:
            self._everything = True
            self._source = None
            self.told = self.known = self.told.with_children({})

    def _synchronize(self, reading: Reading) -> None:
        if not self.receiver.ready:
            self.receiver.missed(self)
            return
        self._everything = False
        self.told = self.known
        self._patches = 0
        self._dampen()
        self.send("push-update", self._watches.update(reading).to(self.number))

    def _tell(self) -> None:
        """Send what is not told yet, unless it is too soon, or there is no way for it now."""
        if self.over or self._dampened is not None or self.known is self.told:
            return
        update = self._watches.change(self.told, self.known, self.trigger.excluded, complete=self._complete)
        if update is not None:
            if not self.receiver.ready:
                self.receiver.missed(self)
                return
            self._dampen()
            self.send("push-change-update", update.to(self.number, self._patches))
            self._patches += 1
        self.told = self.known

    def _dampen(self) -> None:
        self._end_dampening()
        if self.trigger.dampening:
            loop = asyncio.get_running_loop()
            self._dampened = loop.call_later(self.trigger.dampening / 100, self._undamped)

    def _undamped(self) -> None:
        self._dampened = None
        self._tell()

    def _end_dampening(self) -> None:
        if self._dampened is not None:
            self._dampened.cancel()
            self._dampened = None
