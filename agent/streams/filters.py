"""Which events pass a subscription's filter (RFC 5277 sections 2.1.1 and 3.6): it is put to the event's content."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent import filter as subtree

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from agent.filter import Filter
    from agent.streams.event import Event
    from agent.xpath import XPath


def every(_event: Event) -> bool:
    """Let all events pass."""
    return True


def by_subtree(filters: Sequence[Filter]) -> Callable[[Event], bool]:
    """Return the test whether subtree filters select something of an event."""
    return lambda event: bool(subtree.apply(event.content, filters).children)


def by_xpath(
    xpath: XPath, select: str, prefixes: Mapping[str | None, str], user: str
) -> Callable[[Event], Awaitable[bool]]:
    """Return the test whether an expression is true of an event, or selects something of it, for a user.

    The test raises NetconfError where the expression can't be evaluated in time.
    """
    return lambda event: xpath.holds(event.content.xml(), select, prefixes, (user,))
