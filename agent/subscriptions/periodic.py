"""Periodic updates (RFC 8641 3.1): one read and one serialization for all who get the same at the same time."""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, cast

from agent.subscriptions.messages import PushUpdate
from agent.subscriptions.reader import Reading, read, rules
from agent.subscriptions.reasons import UPDATE_TOO_BIG, Refused
from agent.subscriptions.subscription import Subscription
from agent.tree import Node

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable
    from datetime import datetime

    from agent.nacm import Access
    from agent.subscriptions.reader import Parts
    from agent.subscriptions.receiver import Receiver
    from agent.subscriptions.terms import Criteria, DatastoreTerms, Periodic

_EARLY: Final = 0.05
"""The part of a period by which a timer may be early."""


class PeriodicSubscription(Subscription):
    """Gets all that it selects, over and over. ``first`` was read by the access control rules ``in_force``."""

    terms: DatastoreTerms

    def __init__(
        self,
        number: int,
        terms: DatastoreTerms,
        receiver: Receiver,
        beats: Beats,
        first: Reading,
        in_force: Node | None,
    ) -> None:
        super().__init__(number, terms, receiver)
        self._beats = beats
        self._first: Reading | None = first
        self._in_force = in_force

    @property
    def trigger(self) -> Periodic:
        """When updates are due."""
        return cast("Periodic", self.terms.trigger)

    def start(self) -> None:
        """Send the first update at once, the next ones with all others of the period."""
        first, self._first = self._first, None
        if self.over or first is None:
            return
        if self._beats.goes_by(self._in_force):
            self.push(self._beats.update(first), first)
        else:
            self._beats.push_to(self)
        self._beats.add(self)

    def stop(self) -> None:
        """Leave the others."""
        self._beats.remove(self)

    def catch_up(self, *, anew: bool) -> None:
        """Send what is selected now, where updates were suspended; otherwise the next one comes soon."""
        if anew:
            self._beats.push_to(self)

    def push(self, update: PushUpdate, reading: Reading) -> None:
        """Send an update, unless there is no way for it now."""
        if self.over or self.receiver.session.ended:
            return
        if not reading.failed:
            self.failures = 0
        if not self.receiver.ready:
            self.receiver.missed(self)
        elif reading.too_big:
            self.receiver.suspend(self, UPDATE_TOO_BIG)
        else:
            self.receiver.resume(self)
            self.send("push-update", update.to(self.number))


@dataclass(slots=True)
class _Group:
    """Those who select the same of the same datastore; ``push`` is the update that is being made."""

    datastore: str
    criteria: Criteria
    members: dict[int, PeriodicSubscription] = field(default_factory=dict)
    push: asyncio.Task[None] | None = None


class Beats:
    """All periodic subscriptions, by when their updates are due."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._beats: dict[Periodic, _Beat] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def add(self, subscription: PeriodicSubscription) -> None:
        """Have a subscription updated from its next due time on."""
        trigger = subscription.trigger
        if trigger not in self._beats:
            self._beats[trigger] = _Beat(self._parts, trigger, self)
        self._beats[trigger].add(subscription)

    def remove(self, subscription: PeriodicSubscription) -> None:
        """Update a subscription no more."""
        beat = self._beats.get(subscription.trigger)
        if beat is not None and beat.remove(subscription):
            del self._beats[subscription.trigger]

    def push_to(self, subscription: PeriodicSubscription) -> None:
        """Update one subscription now."""
        terms = subscription.terms
        self.spawn(_Group(terms.datastore, terms.criteria, {subscription.number: subscription}))

    def spawn(self, group: _Group) -> None:
        """Begin an update of a group; one that is not through yet with the last one goes without."""
        if group.push is None or group.push.done():
            group.push = asyncio.ensure_future(self._push(group, tuple(group.members.values())))
            self._tasks.add(group.push)
            group.push.add_done_callback(self._tasks.discard)

    def update(self, reading: Reading) -> PushUpdate:
        """Return the update that tells what was read."""
        contents = b"" if reading.too_big else reading.tree.xml()
        return PushUpdate(self._parts.now(), contents, complete=reading.complete)

    def goes_by(self, in_force: Node | None) -> bool:
        """Return whether some access control rules are still those in force."""
        return rules(self._parts) is in_force

    async def _push(self, group: _Group, subscriptions: Iterable[PeriodicSubscription]) -> None:
        """Read for each kind of user, and send each what that gives."""
        kinds: dict[Hashable, tuple[Access, list[PeriodicSubscription]]] = {}
        for member in subscriptions:
            if member.over:
                continue
            if not member.receiver.ready:
                member.receiver.missed(member)
                continue
            access = member.receiver.access
            kinds.setdefault(access.key, (access, []))[1].append(member)
        in_force = rules(self._parts)
        await asyncio.gather(*(self._push_kind(group, *kind, in_force) for kind in kinds.values()))

    async def _push_kind(
        self, group: _Group, access: Access, members: list[PeriodicSubscription], in_force: Node | None
    ) -> None:
        users = {member.receiver.user for member in members}
        try:
            reading = await read(self._parts, group.datastore, group.criteria, access, users)
        except Refused:
            reading = Reading(Node(self._parts.model.root), complete=False, failed=True)
            for member in members:
                member.failed()
        async with self._parts.turns.turn(users):
            if self.goes_by(in_force):
                update = self.update(reading)
                for member in members:
                    member.push(update, reading)
                return
        await self._push(group, members)


class _Beat:
    """The due times of a period, with the groups that share them.

    Without an anchor they are at multiples of the period on the loop's clock, the same for everybody.
    """

    def __init__(self, parts: Parts, trigger: Periodic, beats: Beats) -> None:
        self._now = parts.now
        self._beats = beats
        self._period = trigger.period / 100
        self._anchor = trigger.anchor
        self._groups: dict[Hashable, _Group] = {}
        self._timer = self._next()

    def add(self, subscription: PeriodicSubscription) -> None:
        terms = subscription.terms
        key = (terms.datastore, terms.criteria.same)
        group = self._groups.setdefault(key, _Group(terms.datastore, terms.criteria))
        group.members[subscription.number] = subscription

    def remove(self, subscription: PeriodicSubscription) -> bool:
        """Forget a subscription where it is here; return whether nobody is left."""
        key = (subscription.terms.datastore, subscription.terms.criteria.same)
        group = self._groups.get(key)
        if group is not None:
            group.members.pop(subscription.number, None)
            if not group.members:
                del self._groups[key]
        if not self._groups:
            self._timer.cancel()
        return not self._groups

    def _elapsed(self) -> float:
        """Return the seconds since the anchor, or since the loop's clock was 0."""
        anchor: datetime | None = self._anchor
        if anchor is None:
            return asyncio.get_running_loop().time()
        return (self._now() - anchor).total_seconds()

    def _next(self) -> asyncio.TimerHandle:
        """Wait for the next due time; a clock that is a little early does not make one of two."""
        elapsed = self._elapsed()
        number = math.floor(elapsed / self._period + _EARLY) + 1
        return asyncio.get_running_loop().call_later(number * self._period - elapsed, self._due)

    def _due(self) -> None:
        self._timer = self._next()
        for group in self._groups.values():
            self._beats.spawn(group)
