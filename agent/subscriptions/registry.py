"""All dynamic subscriptions: made, changed and ended by their sessions, and by what happens (RFC 8639 2.4)."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from agent.subscriptions import messages, reasons
from agent.subscriptions.checks import NETCONF_STREAM, check, check_size
from agent.subscriptions.criteria import by_name
from agent.subscriptions.on_change import OnChangeSubscription
from agent.subscriptions.periodic import Beats, PeriodicSubscription
from agent.subscriptions.reader import read, rules
from agent.subscriptions.reasons import Refused
from agent.subscriptions.receiver import Receiver
from agent.subscriptions.stream import StreamSubscription, check_expression
from agent.subscriptions.subscription import ENCODING
from agent.subscriptions.terms import Periodic, StreamTerms, timestamp
from agent.subscriptions.volatile import Volatile
from agent.subscriptions.watches import Watches

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent.nacm import Access
    from agent.session import Session
    from agent.subscriptions.reader import Parts
    from agent.subscriptions.subscription import Subscription
    from agent.subscriptions.terms import Criteria, Terms
    from translators.base import Selection, Tree

MOST: Final = 1000
MOST_PER_SESSION: Final = 100
"""Subscriptions that there can be at a time."""


class Subscriptions:
    """Gives subscriptions their numbers and keeps them until they end."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._live: dict[int, Subscription] = {}
        self._receivers: dict[Session, Receiver] = {}
        self._stops: dict[int, asyncio.TimerHandle] = {}
        self._following: dict[int, asyncio.Task[None]] = {}
        self._last = 0
        self._volatile = Volatile(parts.model)
        self._beats = Beats(parts)
        self._watches = Watches(parts, self._volatile)

    def of(self, session: Session, number: int) -> Subscription | None:
        """Return a subscription that a session has."""
        found = self._live.get(number)
        return found if found is not None and found.receiver.session is session else None

    def get(self, number: int) -> Subscription | None:
        """Return anybody's subscription."""
        return self._live.get(number)

    async def establish(self, session: Session, terms: Terms) -> Subscription:
        """Make a subscription; it begins once the running callback is through, behind the reply. Raises Refused."""
        self._check_limits(session)
        check(terms, self._parts.datastores, self._volatile)
        self._last += 1
        receiver = self._receivers.get(session) or Receiver(self._parts, session, self.end)
        self._receivers[session] = receiver
        try:
            subscription = await self._make(self._last, terms, receiver)
            self._check_limits(session)
            receiver.add(subscription)
        finally:
            self._leave(receiver)
        self._begin(subscription)
        return subscription

    async def modify(self, subscription: Subscription, change: Callable[[Terms], Terms]) -> bool:
        """Let a subscription go on with other terms; one that is suspended is active again.

        ``change`` makes the terms of those that it has when it is its turn. Returns False for a subscription that ends
        before they hold. Raises Refused.
        """
        async with subscription.changing:
            current = self._live.get(subscription.number)
            return current is not None and await self._change(current, change(current.terms)) is not None

    def end(self, subscription: Subscription, reason: str | None) -> None:
        """End a subscription. Its receiver is told a reason; None where it knows, or where there is no receiver."""
        if subscription.over:
            return
        if reason is not None:
            subscription.receiver.tell(subscription, "subscription-terminated", reason=reason)
        subscription.over = True
        subscription.stop()
        del self._live[subscription.number]
        if (timer := self._stops.pop(subscription.number, None)) is not None:
            timer.cancel()
        subscription.receiver.remove(subscription)
        self._leave(subscription.receiver)

    def configured(self) -> None:
        """Take note that running has changed: filters that subscriptions name, and what they select."""
        for subscription in tuple(self._live.values()):
            self._refer(subscription)
        self._watches.configured()

    def looked(self) -> None:
        """Take note that the machine was looked at."""
        self._watches.looked()

    def state(self, _wanted: Selection, access: Access) -> Tree:
        """Return ``subscriptions`` (RFC 8639 2.9), for a user.

        A filter may hold what others are not to know: it is shown to users with the same rights as the subscriber's,
        and to those who may do everything.
        """
        listed = [self._entry(subscription, access) for subscription in self._live.values()]
        return {"ietf-subscribed-notifications:subscriptions": {"subscription": listed}} if listed else {}

    def _entry(self, subscription: Subscription, access: Access) -> Tree:
        entry = subscription.data()
        if access.unrestricted or self._parts.nacm.access(subscription.receiver.session.peer).key == access.key:
            return entry
        return {name: value for name, value in entry.items() if "filter" not in name}

    def streams(self, _wanted: Selection) -> Tree:
        """Return ``streams`` (RFC 8639 2.1)."""
        streams = self._parts.streams
        stream: dict[str, Any] = {
            "name": NETCONF_STREAM,
            "description": "The events of the agent and of what it manages (RFC 5277 section 3.2.3).",
            "replay-support": [None],
            "replay-log-creation-time": timestamp(streams.created),
        }
        if streams.aged is not None:
            stream["replay-log-aged-time"] = timestamp(streams.aged)
        return {"ietf-subscribed-notifications:streams": {"stream": [stream]}}

    def _check_limits(self, session: Session) -> None:
        if session.subscriptions >= MOST_PER_SESSION:
            message = f"the session has {MOST_PER_SESSION} subscriptions, which is the limit: delete one first"
            raise Refused(reasons.INSUFFICIENT_RESOURCES, message)
        if len(self._live) >= MOST:
            message = f"there are {MOST} subscriptions, which is the limit: wait until some end"
            raise Refused(reasons.INSUFFICIENT_RESOURCES, message)

    async def _make(self, number: int, terms: Terms, receiver: Receiver) -> Subscription:
        """Return a subscription that has not begun."""
        if isinstance(terms, StreamTerms):
            await check_expression(self._parts, terms.criteria, receiver.user)
            return StreamSubscription(number, terms, receiver, self._parts, end=self.end, completed=self._complete)
        moves, in_force = self._watches.moves, rules(self._parts)
        reading = await read(self._parts, terms.datastore, terms.criteria, receiver.access, (receiver.user,))
        check_size(terms, reading)
        if isinstance(terms.trigger, Periodic):
            return PeriodicSubscription(number, terms, receiver, self._beats, reading, in_force)
        return OnChangeSubscription(number, terms, receiver, self._watches, reading, moves)

    def _begin(self, subscription: Subscription) -> None:
        loop = asyncio.get_running_loop()
        number, stop = subscription.number, subscription.terms.stop
        self._live[number] = subscription
        loop.call_soon(subscription.start)
        loop.call_soon(self._refer, subscription)
        if (timer := self._stops.pop(number, None)) is not None:
            timer.cancel()
        if stop is not None and not isinstance(subscription, StreamSubscription):
            left = (stop - self._parts.now()).total_seconds()
            self._stops[number] = loop.call_later(max(0.0, left), self._complete, subscription)

    def _complete(self, subscription: Subscription) -> None:
        """End a subscription at its stop time."""
        session = subscription.receiver.session
        session.notify(messages.completed(self._parts.now(), subscription.number))
        self.end(subscription, None)

    def _leave(self, receiver: Receiver) -> None:
        """Let go of a session that has no subscription left."""
        if not receiver.subscriptions and self._receivers.pop(receiver.session, None) is not None:
            receiver.close()

    async def _change(self, subscription: Subscription, terms: Terms) -> Subscription | None:
        """Return what goes on in place of a subscription; None where that has ended meanwhile."""
        check(terms, self._parts.datastores, self._volatile)
        if isinstance(subscription, StreamSubscription) and isinstance(terms, StreamTerms):
            await check_expression(self._parts, terms.criteria, subscription.receiver.user)
            if subscription.over:
                return None
            subscription.change(terms)
            asyncio.get_running_loop().call_soon(self._refer, subscription)
            return subscription
        changed = await self._make(subscription.number, terms, subscription.receiver)
        if subscription.over:
            return None
        changed.sent, changed.excluded, changed.changing = (
            subscription.sent,
            subscription.excluded,
            subscription.changing,
        )
        subscription.over = True
        subscription.stop()
        subscription.receiver.subscriptions[changed.number] = changed
        self._begin(changed)
        return changed

    def _named(self, subscription: Subscription) -> Criteria | None:
        """Return the filter that a subscription names, as it is now; None where there is none that can be used."""
        terms = subscription.terms
        readable = subscription.receiver.access.readable(self._parts.datastores.running)
        try:
            return by_name(self._parts.model, readable, terms.target, terms.criteria.reference or "")
        except Refused:
            return None

    def _refer(self, subscription: Subscription) -> None:
        """Look whether a filter that a subscription names is what it was (RFC 8639 2.7.2, 2.7.3)."""
        if subscription.over or subscription.terms.criteria.reference is None:
            return
        criteria = self._named(subscription)
        if criteria is None:
            self.end(subscription, reasons.FILTER_UNAVAILABLE)
        elif criteria.same != subscription.terms.criteria.same and subscription.number not in self._following:
            self._following[subscription.number] = asyncio.ensure_future(self._follow(subscription))

    async def _follow(self, subscription: Subscription) -> None:
        """Go on with a filter that was changed, and tell the receiver."""
        try:
            async with subscription.changing:
                current = self._live.get(subscription.number)
                if current is not None and current.terms.criteria.reference is not None:
                    await self._exchange(current)
        finally:
            del self._following[subscription.number]
        if (changed := self._live.get(subscription.number)) is not None:
            self._refer(changed)

    async def _exchange(self, subscription: Subscription) -> None:
        try:
            criteria = self._named(subscription)
            if criteria is None or criteria.same == subscription.terms.criteria.same:
                return
            changed = await self._change(subscription, replace(subscription.terms, criteria=criteria))
        except Refused:
            self.end(subscription, reasons.FILTER_UNAVAILABLE)
            return
        if changed is not None:
            changed.receiver.tell(changed, "subscription-modified", **changed.terms.data(), encoding=ENCODING)
