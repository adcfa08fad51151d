"""The stream NETCONF: events go into its log and wake those who follow it (RFC 5277 section 3.2.3)."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Final

from agent.streams.event import Event, encoded, visible
from agent.streams.log import Entry, Log, as_text
from agent.streams.recent import Recent
from agent.tree import from_json

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator
    from datetime import datetime
    from pathlib import Path

    from agent.model.load import Model
    from agent.nacm import Access
    from translators.base import Tree

log = logging.getLogger(__name__)

NAME: Final = "NETCONF"
# A tree is some ten times as large as its text.
_MOST_TEXT: Final = 256 * 1024
_MOST_MESSAGES: Final = 1024 * 1024
_EACH: Final = 256
_MOST_SEEN: Final = 64


class Streams:
    """All that happened, in order. Readers keep the number of the last event that they have seen."""

    def __init__(
        self,
        model: Model,
        folder: Path,
        *,
        now: Callable[[], datetime],
        entries: int = 10_000,
        size: int = 8 * 1024 * 1024,
    ) -> None:
        """``folder`` is the state directory; the log has no more than some entries, and bytes."""
        self._model = model
        self._now = now
        self._log = Log(folder / "notifications", entries=entries, size=size, now=now())
        self._wake: list[Callable[[], None]] = []
        self._events: Recent[int, Event | None] = Recent(_MOST_TEXT)
        self._seen: Recent[tuple[int, Hashable], Event | None] = Recent(_MOST_SEEN * _EACH)
        self._messages: Recent[tuple[int, Hashable], bytes | None] = Recent(_MOST_MESSAGES)

    @property
    def last(self) -> int:
        """The number of the newest event; 0 before the first."""
        return self._log.last

    @property
    def dropped(self) -> int:
        """The number of the newest event that the log has lost; 0 before that."""
        return self._log.dropped

    @property
    def created(self) -> datetime:
        """When the log was begun (replayLogCreationTime)."""
        return self._log.created

    @property
    def aged(self) -> datetime | None:
        """The time of the newest event that the log has lost (replayLogAgedTime); None before that."""
        return self._log.aged

    def now(self) -> datetime:
        """Return the time of day, which on a stream never goes back."""
        return max(self._now(), self._log.newest)

    def publish(self, data: Tree) -> None:
        """Log an event, RFC 7951 data from the top level down, and tell those who follow. Called in the event loop."""
        self._log.append(Entry(self.last + 1, self.now(), as_text(data)))
        for wake in tuple(self._wake):
            wake()

    def after(self, number: int) -> Iterator[Event]:
        """Yield the logged events behind a number, in order. Those that the schema has no more are left out."""
        return (event for entry in self._log.after(number) if (event := self._event(entry)) is not None)

    def since(self, time: datetime) -> int:
        """Return the number behind which are the logged events of a time and later."""
        return self._log.since(time)

    def follow(self, wake: Callable[[], None]) -> Callable[[], None]:
        """Have a function called at each new event; return the one that ends that."""
        self._wake.append(wake)
        return lambda: self._wake.remove(wake)

    def seen(self, event: Event, access: Access) -> Event | None:
        """Return an event as a user may get it, None for not at all: found out once for equal users."""
        key = (event.number, access.key)
        if key in self._seen:
            return self._seen[key]
        return self._seen.put(key, visible(event, access), _EACH)

    def message(self, event: Event, access: Access) -> bytes | None:
        """Return the ``<notification>`` that a user gets of an event, None for nothing: made once for equal users."""
        key = (event.number, access.key)
        if key in self._messages:
            return self._messages[key]
        seen = self.seen(event, access)
        message = None if seen is None else encoded(seen)
        return self._messages.put(key, message, len(message or b"") + _EACH)

    def close(self) -> None:
        """Free the log's file."""
        self._log.close()

    def _event(self, entry: Entry) -> Event | None:
        if entry.number in self._events:
            return self._events[entry.number]
        event = None
        try:
            event = Event(entry.number, entry.time, from_json(self._model.root, json.loads(entry.data)))
        except (KeyError, TypeError, AttributeError):
            log.info("the logged event %d is of another schema: it is left out", entry.number)
        return self._events.put(entry.number, event, len(entry.data) + _EACH)
