"""Looks for changes: once for all who select the same, when something may have changed (RFC 8641 3.3)."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final, TypeVar

from agent.nmda import OPERATIONAL
from agent.subscriptions import patch
from agent.subscriptions.messages import PushChangeUpdate, PushUpdate
from agent.subscriptions.reader import read, rules, source
from agent.subscriptions.reasons import Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from agent.nacm import Access
    from agent.subscriptions.on_change import OnChangeSubscription
    from agent.subscriptions.reader import Parts, Reading
    from agent.subscriptions.terms import Criteria
    from agent.subscriptions.volatile import Volatile
    from agent.tree import Node

_REMEMBERED: Final = 8
_Made = TypeVar("_Made")


class Watches:
    """All on-change subscriptions, by what they select. ``moves`` counts what may have changed that."""

    def __init__(self, parts: Parts, volatile: Volatile) -> None:
        self._parts = parts
        self._volatile = volatile
        self.moves = 0
        self._watches: dict[Hashable, _Watch] = {}
        # What was made of which objects; those are kept with it, so that no other one gets their identity.
        self._made: OrderedDict[Hashable, tuple[object, Any]] = OrderedDict()

    def add(self, subscription: OnChangeSubscription) -> None:
        """Have a subscription see what changes."""
        key = _key(subscription)
        if key not in self._watches:
            terms = subscription.terms
            self._watches[key] = _Watch(self._parts, terms.datastore, terms.criteria, looked=self._made.clear)
        self._watches[key].members[subscription.number] = subscription

    def remove(self, subscription: OnChangeSubscription) -> None:
        """Have a subscription see nothing more."""
        watch = self._watches.get(_key(subscription))
        if watch is not None:
            watch.members.pop(subscription.number, None)
            if not watch.members:
                del self._watches[_key(subscription)]

    def wake(self, subscription: OnChangeSubscription) -> None:
        """Look for what a subscription selects now."""
        if (watch := self._watches.get(_key(subscription))) is not None:
            watch.wake()

    def configured(self) -> None:
        """Look for all, as the configuration has changed."""
        self.moves += 1
        for watch in self._watches.values():
            watch.wake()

    def looked(self) -> None:
        """Look for what can change by itself, as the machine was looked at."""
        self.moves += 1
        for watch in self._watches.values():
            if watch.datastore == OPERATIONAL:
                watch.wake()

    def steady(self, reading: Reading) -> Node:
        """Return what was read without counters."""
        return self._once(("steady", id(reading)), reading, lambda: self._volatile.without(reading.tree))

    def update(self, reading: Reading) -> PushUpdate:
        """Return the update that tells all that was read."""
        return self._once(
            ("update", id(reading)),
            reading,
            lambda: PushUpdate(self._parts.now(), reading.tree.xml(), complete=reading.complete),
        )

    def change(self, told: Node, known: Node, excluded: frozenset[str], *, complete: bool) -> PushChangeUpdate | None:
        """Return the update that tells what differs, None for nothing."""

        def make() -> PushChangeUpdate | None:
            edits = patch.xml(told, known, excluded=excluded)
            return PushChangeUpdate(self._parts.now(), edits, complete=complete) if edits else None

        return self._once(("change", id(told), id(known), excluded, complete), (told, known), make)

    def _once(self, key: Hashable, source: object, make: Callable[[], _Made]) -> _Made:
        """Return what is made of something, made once for all who share it."""
        if key not in self._made:
            self._made[key] = (source, make())
            if len(self._made) > _REMEMBERED:
                self._made.popitem(last=False)
        made: _Made = self._made[key][1]
        return made


class _Watch:
    """Those who select the same of the same datastore."""

    def __init__(self, parts: Parts, datastore: str, criteria: Criteria, *, looked: Callable[[], None]) -> None:
        self.members: dict[int, OnChangeSubscription] = {}
        self._parts = parts
        self.datastore = datastore
        self._criteria = criteria
        self._looked = looked
        self._again = False
        self._task: asyncio.Task[None] | None = None

    def wake(self) -> None:
        """Look once more; one look at a time, and the last one sees what is there in the end."""
        self._again = True
        if self._task is None or self._task.done():
            self._task = asyncio.ensure_future(self._run())

    async def _run(self) -> None:
        while self._again:
            self._again = False
            await self._look()
            self._looked()

    async def _look(self) -> None:
        """Read for each kind of user, and let each see what that gives."""
        kinds: dict[Hashable, tuple[Access, list[OnChangeSubscription]]] = {}
        for member in self.members.values():
            access = member.receiver.access
            kinds.setdefault(access.key, (access, []))[1].append(member)
        in_force = rules(self._parts)
        await asyncio.gather(*(self._look_as(access, members, in_force) for access, members in kinds.values()))

    async def _look_as(self, access: Access, members: list[OnChangeSubscription], in_force: Node | None) -> None:
        """Let those see what is selected for whom it may be something else; by other rules there is another look."""
        whole = source(self._parts, self.datastore, access)
        others = [member for member in members if not member.is_current(whole)]
        if not others:
            return
        users = {member.receiver.user for member in others}
        try:
            reading = await read(self._parts, self.datastore, self._criteria, access, users)
        except Refused:
            for member in others:
                member.failed()
            return
        async with self._parts.turns.turn(users):
            if rules(self._parts) is in_force:
                for member in others:
                    member.see(reading)


def _key(subscription: OnChangeSubscription) -> Hashable:
    return subscription.terms.datastore, subscription.terms.criteria.same
