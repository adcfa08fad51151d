"""A session that is subscribed: what it does not read in time is not kept for it (RFC 8639 2.5.1, 2.7)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from agent.subscriptions.messages import state_change
from agent.subscriptions.reasons import INSUFFICIENT_RESOURCES, SUSPENSION_TIMEOUT

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent.nacm import Access
    from agent.session import Session
    from agent.subscriptions.reader import Parts
    from agent.subscriptions.subscription import Subscription

GRACE: Final = 10.0
LONGEST: Final = 600.0
"""Seconds that a session may not read until what it misses is suspended, and from then on until it is ended."""


class Receiver:
    """Sends to a session while it is writable. A subscription that misses something gets it when it is again.

    ``end`` is called with a subscription that is over, and the reason for which it is terminated; None where the
    session has ended.
    """

    def __init__(self, parts: Parts, session: Session, end: Callable[[Subscription, str | None], None]) -> None:
        self.session = session
        self.subscriptions: dict[int, Subscription] = {}
        self._parts = parts
        self.end = end
        self._timer: asyncio.TimerHandle | None = None
        session.drained.append(self._drained)

    @property
    def ready(self) -> bool:
        """Whether the session takes notifications."""
        return self.session.writable and not self.session.ended

    @property
    def user(self) -> str:
        """The session's user."""
        return self.session.peer.username

    @property
    def access(self) -> Access:
        """What the session's user may see now."""
        return self._parts.nacm.access(self.session.peer)

    def permits(self, notification: str) -> bool:
        """Return whether the session's user may get a notification, by its path."""
        if self.access.may_receive(self._parts.model.node(notification)):
            return True
        self._parts.nacm.note_denied_notification()
        return False

    def add(self, subscription: Subscription) -> None:
        """Take a subscription; its session is not idle any more."""
        self.subscriptions[subscription.number] = subscription
        self.session.subscriptions += 1

    def remove(self, subscription: Subscription) -> None:
        """Forget a subscription."""
        del self.subscriptions[subscription.number]
        self.session.subscriptions -= 1

    def close(self) -> None:
        """Let go of the session."""
        self._stop_timer()
        self.session.drained.remove(self._drained)

    def tell(self, subscription: Subscription, name: str, **more: Any) -> None:  # noqa: ANN401 - RFC 7951 data
        """Send a subscription state change notification: there are few of them, and they are small."""
        self.session.notify(state_change(self._parts.model, self._parts.now(), name, subscription.number, **more))

    def missed(self, subscription: Subscription) -> None:
        """Take note that a subscription could not be sent something."""
        if self.session.ended:
            return
        subscription.behind = True
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(GRACE, self._suspend_all)

    def suspend(self, subscription: Subscription, reason: str) -> None:
        """Send nothing more of a subscription for the time being."""
        if subscription.suspended is None:
            self.tell(subscription, "subscription-suspended", reason=reason)
            subscription.forget()
        subscription.suspended = reason

    def resume(self, subscription: Subscription) -> None:
        """Go on with a suspended subscription."""
        if subscription.suspended is not None:
            subscription.suspended = None
            self.tell(subscription, "subscription-resumed")

    def _suspend_all(self) -> None:
        for subscription in tuple(self.subscriptions.values()):
            if subscription.behind:
                self.suspend(subscription, INSUFFICIENT_RESOURCES)
        self._timer = asyncio.get_running_loop().call_later(LONGEST, self._give_up)

    def _give_up(self) -> None:
        self._timer = None
        for subscription in tuple(self.subscriptions.values()):
            if subscription.behind:
                self.end(subscription, SUSPENSION_TIMEOUT)

    def _drained(self) -> None:
        """Go on where the session reads again; end all where it has ended."""
        if self.session.ended:
            for subscription in tuple(self.subscriptions.values()):
                self.end(subscription, None)
            return
        self._stop_timer()
        for subscription in tuple(self.subscriptions.values()):
            if subscription.behind:
                subscription.behind = False
                anew = subscription.suspended is not None
                self.resume(subscription)
                subscription.catch_up(anew=anew)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
