"""What all kinds of dynamic subscriptions have in common (RFC 8639 2.4)."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Final

from agent.subscriptions.reasons import FILTER_UNAVAILABLE

if TYPE_CHECKING:
    from agent.subscriptions.receiver import Receiver
    from agent.subscriptions.terms import Terms


ENCODING: Final = "ietf-subscribed-notifications:encode-xml"
_MOST_FAILURES: Final = 2
"""Times in a row that a filter can't be evaluated before its subscription ends."""


class Subscription(ABC):
    """One dynamic subscription. ``suspended`` is the reason why nothing is sent, None while it is active.

    ``behind``: something could not be sent, as the session does not read. ``over``: it has ended. ``sent`` and
    ``excluded`` count event records, ``failures`` how often in a row the filter could not be evaluated. Who holds
    ``changing`` changes the terms.
    """

    def __init__(self, number: int, terms: Terms, receiver: Receiver) -> None:
        self.number = number
        self.terms = terms
        self.receiver = receiver
        self.suspended: str | None = None
        self.behind = False
        self.over = False
        self.sent = 0
        self.excluded = 0
        self.failures = 0
        self.changing = asyncio.Lock()

    @abstractmethod
    def start(self) -> None:
        """Begin to send; called when the reply that tells of the subscription is on its way."""

    @abstractmethod
    def stop(self) -> None:
        """Send no more."""

    @abstractmethod
    def catch_up(self, *, anew: bool) -> None:
        """Go on, as the session reads again; ``anew``: after a suspension."""

    def forget(self) -> None:  # noqa: B027 - most kinds keep nothing
        """Let go of what a suspended subscription does not need."""

    def failed(self) -> None:
        """Take note that the filter takes too long now; it may do the next time, but not over and over."""
        self.failures += 1
        if self.failures == _MOST_FAILURES:
            self.receiver.end(self, FILTER_UNAVAILABLE)

    def send(self, name: str, notification: bytes) -> None:
        """Send an event record, a notification of ietf-yang-push, where the user may get such (RFC 8341 3.4.6)."""
        if self.receiver.permits(f"/ietf-yang-push:{name}"):
            self.sent += 1
            self.receiver.session.notify(notification)
        else:
            self.excluded += 1

    def data(self) -> dict[str, Any]:
        """Return the subscription as an entry of ``subscriptions`` (RFC 8639 2.9), RFC 7951 data."""
        receiver = {
            "name": f"session {self.receiver.session.id}",
            "sent-event-records": str(self.sent),
            "excluded-event-records": str(self.excluded),
            "state": "active" if self.suspended is None else "suspended",
        }
        return {
            "id": self.number,
            **self.terms.data(),
            "encoding": ENCODING,
            "receivers": {"receiver": [receiver]},
        }
