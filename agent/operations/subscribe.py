"""create-subscription (RFC 5277 section 2.1.1), and the list of the event streams (3.2.5.1)."""

from __future__ import annotations

import logging
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Final

from agent import errors
from agent.messages import OK
from agent.monitoring import timestamp
from agent.operations import retrieve
from agent.operations.request import text
from agent.streams import Delivery, Span
from agent.streams.event import STREAM, message, moment
from agent.streams.filters import by_subtree, by_xpath, every
from agent.streams.streams import NAME

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from lxml.etree import _Element as Element

    from agent.operations.request import Request
    from agent.session import Session
    from agent.streams import Ending, Event, Streams
    from translators.base import Selection, Tree

log = logging.getLogger(__name__)

_INPUT: Final = "/notifications:create-subscription/notifications:input"
_WHY: Final = {
    "lost": "it reads its notifications too slowly: the log has lost what was to be sent next",
    "filter": "the filter of its subscription can't be evaluated",
}


async def create_subscription(request: Request) -> bytes:
    """Send the session the events of the stream from now on, and those of the past that it asks for first."""
    found = request.parameters("stream", "filter", "startTime", "stopTime")
    name = text(found.get("stream"), NAME)
    if name != NAME:
        raise errors.invalid_value(f"there is no stream {name}: {NAME} is the only one")
    start, stop = _time(request, found, "startTime"), _time(request, found, "stopTime")
    streams, session = request.services.streams, request.session
    _check_times(start, stop, streams.now())
    passes = await _passes(request, found.get("filter"))
    if session.listens:
        raise errors.in_use("this session has a subscription already")
    if session.subscriptions:
        message = "this session has subscriptions by establish-subscription: use that, or another session (RFC 8640 2)"
        raise errors.operation_not_supported(message)
    session.listens = True
    session.subscriptions += 1
    Delivery(
        streams,
        request.services.nacm,
        session,
        Span(streams.last if start is None else streams.since(start), None if start is None else streams.last, stop),
        passes=passes,
        replayed=partial(_complete, session, streams, "replayComplete"),
        ended=partial(_end, session, streams),
    )
    return OK


def list_streams(streams: Streams, _wanted: Selection) -> Tree:
    """Return the event streams as RFC 7951 data."""
    aged = {} if streams.aged is None else {"replayLogAgedTime": timestamp(streams.aged)}
    stream = {
        "name": NAME,
        "description": "All notifications of this server.",
        "replaySupport": True,
        "replayLogCreationTime": timestamp(streams.created),
        **aged,
    }
    return {"nc-notifications:netconf": {"streams": {"stream": [stream]}}}


def _end(session: Session, streams: Streams, why: Ending) -> None:
    session.listens = False
    session.subscriptions -= 1
    if why == "stopped":
        _complete(session, streams, "notificationComplete")
    elif why in _WHY:
        log.warning("session %d ends: %s", session.id, _WHY[why])
        session.end("other")


def _complete(session: Session, streams: Streams, name: str) -> None:
    """Tell that all of the past is sent, or all that was asked for; that is not filtered, and permitted to all."""
    session.notify(message(moment(streams.now()), f'<{name} xmlns="{STREAM}"/>'.encode()))


async def _passes(request: Request, element: Element | None) -> Callable[[Event], bool | Awaitable[bool]]:
    wanted = retrieve.wanted(request, element)
    if wanted is None:
        return every
    if not isinstance(wanted, retrieve.Expression):
        return by_subtree(wanted)
    xpath = request.services.xpath
    user = request.session.peer.username
    # Says now whether it is an expression at all.
    await xpath.holds(b"<none/>", wanted.select, wanted.prefixes, (user,))
    return by_xpath(xpath, wanted.select, wanted.prefixes, user)


def _time(request: Request, found: dict[str, Element], name: str) -> datetime | None:
    if name not in found:
        return None
    value = text(found[name], "")
    leaf = request.services.model.node(f"{_INPUT}/{name}")
    try:
        leaf.canonical(value, found[name])  # which would make another day of one that is not in the calendar
        time = datetime.fromisoformat(value)
        if time.tzinfo is None:
            raise ValueError(value)
        return time
    except ValueError:
        raise errors.invalid_value(f"<{name}> is {value!r}, which is no date-and-time with a time zone") from None


def _check_times(start: datetime | None, stop: datetime | None, now: datetime) -> None:
    if start is None and stop is not None:
        raise errors.missing_element("startTime", message="<stopTime> needs a <startTime>")
    if start is not None and start > now:
        raise errors.bad_element("startTime", "<startTime> is in the future")
    if start is not None and stop is not None and stop <= start:
        raise errors.bad_element("stopTime", "<stopTime> is not later than <startTime>")
