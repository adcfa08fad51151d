"""A subscription to an event stream (RFC 8639 2.1): a position in the stream's log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent.errors import NetconfError
from agent.streams import Delivery, Span
from agent.streams.filters import by_subtree, by_xpath, every
from agent.subscriptions.reasons import FILTER_UNAVAILABLE, SUSPENSION_TIMEOUT, filter_unsupported
from agent.subscriptions.subscription import Subscription

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from agent.streams import Ending, Event
    from agent.subscriptions.reader import Parts
    from agent.subscriptions.receiver import Receiver
    from agent.subscriptions.terms import Criteria, StreamTerms

_REASONS: Final[Mapping[Ending, str | None]] = {
    "lost": SUSPENSION_TIMEOUT,
    "filter": FILTER_UNAVAILABLE,
    "session": None,
}


class StreamSubscription(Subscription):
    """Gets the events that its filter lets pass, old ones first where they are wanted.

    ``completed`` is called at the stop time, ``end`` when there can be no more, with the reason; None where the
    session has ended.
    """

    terms: StreamTerms

    def __init__(
        self,
        number: int,
        terms: StreamTerms,
        receiver: Receiver,
        parts: Parts,
        *,
        end: Callable[[Subscription, str | None], None],
        completed: Callable[[Subscription], None],
    ) -> None:
        super().__init__(number, terms, receiver)
        self._parts = parts
        self._end = end
        self._completed = completed
        self._lets_pass = _test(parts, terms.criteria, receiver.user)
        last = parts.streams.last
        self._span = Span(last, None, terms.stop)
        if terms.start is not None:
            self._span = Span(parts.streams.since(terms.start), last, terms.stop)
        self._delivery: Delivery | None = None

    def start(self) -> None:
        """Begin to deliver."""
        if self.over:
            return
        self._delivery = Delivery(
            self._parts.streams,
            self._parts.nacm,
            self.receiver.session,
            self._span,
            passes=self._passes,
            replayed=self._replayed,
            ended=self._ended,
        )
        self._delivery.on_denied = self._exclude

    def stop(self) -> None:
        """Deliver no more."""
        if self._delivery is not None:
            self._delivery.cancel()
            self._delivery = None

    def catch_up(self, *, anew: bool) -> None:
        """Do nothing: the delivery goes on by itself, from where it was."""

    def change(self, terms: StreamTerms) -> None:
        """Go on from the same position with another filter or stop time."""
        self.terms = terms
        self._lets_pass = _test(self._parts, terms.criteria, self.receiver.user)
        if self._delivery is not None:
            self._delivery.stop = terms.stop
            self._delivery.wake()

    async def _passes(self, event: Event) -> bool:
        """Return whether an event that the user may get is sent, and count it."""
        found = self._lets_pass(event)
        passes = found if isinstance(found, bool) else await found
        if passes:
            self.sent += 1
        else:
            self._exclude()
        return passes

    def _exclude(self) -> None:
        self.excluded += 1

    def _replayed(self) -> None:
        self.receiver.tell(self, "replay-completed")

    def _ended(self, ending: Ending) -> None:
        self._delivery = None
        if ending == "stopped":
            self._completed(self)
        else:
            self._end(self, _REASONS[ending])


async def check_expression(parts: Parts, criteria: Criteria, user: str) -> None:
    """Raise Refused for an XPath filter of events that can't be evaluated."""
    if criteria.select is None or criteria.filters is not None:
        return
    try:
        await parts.xpath.holds(b"<none/>", criteria.select, criteria.prefixes or {}, (user,))
    except NetconfError as error:
        raise filter_unsupported(error.message.removeprefix("select: ")) from error


def _test(parts: Parts, criteria: Criteria, user: str) -> Callable[[Event], bool | Awaitable[bool]]:
    """Return whether a filter selects something of an event, or is true of it (RFC 8639 2.2)."""
    if criteria.filters is not None:
        return by_subtree(criteria.filters)
    if criteria.select is not None:
        return by_xpath(parts.xpath, criteria.select, criteria.prefixes or {}, user)
    return every
