"""What a subscription is about: its target, what of it is wanted, when updates are sent, and until when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence
    from datetime import datetime

    from agent.filter import Filter

CHANGES: Final = ("create", "delete", "insert", "move", "replace")
"""The kinds of changes (RFC 8641 ``change-type``)."""


@dataclass(frozen=True, slots=True, eq=False)
class Criteria:
    """A filter: a subtree filter (``filters``), an XPath expression (``select``), or neither, for everything.

    ``same`` is equal for filters that select the same, whatever the data; ``content`` is the filter as it is shown:
    inner XML, or the expression. ``reference`` names the configured filter that it comes from.
    """

    same: Hashable = None
    filters: Sequence[Filter] | None = None
    select: str | None = None
    prefixes: Mapping[str | None, str] | None = None
    content: str = ""
    reference: str | None = None

    def data(self, subtree: str, xpath: str, reference: str) -> dict[str, Any]:
        """Return the filter as RFC 7951 data, under the names that the target's modules have for it."""
        if self.reference is not None:
            return {reference: self.reference}
        if self.select is not None:
            return {xpath: self.content}
        return {} if self.filters is None else {subtree: self.content}


@dataclass(frozen=True, slots=True)
class Periodic:
    """Every ``period``, in centiseconds; at multiples of it from the anchor where there is one."""

    period: int
    anchor: datetime | None = None

    def data(self) -> dict[str, Any]:
        """Return the trigger as RFC 7951 data."""
        anchored = {} if self.anchor is None else {"anchor-time": timestamp(self.anchor)}
        return {"ietf-yang-push:periodic": {"period": self.period, **anchored}}


@dataclass(frozen=True, slots=True)
class OnChange:
    """At each change, but for ``excluded`` kinds; no oftener than every ``dampening`` centiseconds.

    ``sync``: everything is sent first.
    """

    dampening: int = 0
    sync: bool = True
    excluded: frozenset[str] = frozenset()

    def data(self) -> dict[str, Any]:
        """Return the trigger as RFC 7951 data."""
        excluded = [change for change in CHANGES if change in self.excluded]
        shown = {"dampening-period": self.dampening, "sync-on-start": self.sync}
        return {"ietf-yang-push:on-change": shown | ({"excluded-change": excluded} if excluded else {})}


@dataclass(frozen=True, slots=True)
class StreamTerms:
    """A subscription to an event stream, from ``start`` on where old events are wanted too."""

    stream: str
    criteria: Criteria
    start: datetime | None = None
    stop: datetime | None = None
    target: ClassVar = "stream"

    def data(self) -> dict[str, Any]:
        """Return the terms as RFC 7951 data."""
        shown = self.criteria.data("stream-subtree-filter", "stream-xpath-filter", "stream-filter-name")
        start = {} if self.start is None else {"replay-start-time": timestamp(self.start)}
        return {"stream": self.stream, **shown, **start, **_stop(self.stop)}


@dataclass(frozen=True, slots=True)
class DatastoreTerms:
    """A subscription to the contents of a datastore, by its name in ietf-datastores."""

    datastore: str
    criteria: Criteria
    trigger: Periodic | OnChange
    stop: datetime | None = None
    target: ClassVar = "datastore"

    def data(self) -> dict[str, Any]:
        """Return the terms as RFC 7951 data."""
        names = ("datastore-subtree-filter", "datastore-xpath-filter", "selection-filter-ref")
        shown = self.criteria.data(*(f"ietf-yang-push:{name}" for name in names))
        datastore = {"ietf-yang-push:datastore": f"ietf-datastores:{self.datastore}"}
        return {**datastore, **shown, **self.trigger.data(), **_stop(self.stop)}


Terms: TypeAlias = "StreamTerms | DatastoreTerms"


def timestamp(time: datetime) -> str:
    """Return a time in UTC as yang:date-and-time."""
    return time.isoformat().replace("+00:00", "Z")


def _stop(time: datetime | None) -> dict[str, str]:
    return {} if time is None else {"stop-time": timestamp(time)}
