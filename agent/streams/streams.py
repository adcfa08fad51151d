"""The stream NETCONF: events go into its log and wake those who follow it (RFC 5277 section 3.2.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.streams.log import Event
from agent.tree import from_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime
    from pathlib import Path

    from agent.model.load import Model
    from translators.base import Tree


class Streams:
    """All that happened, in order. Readers keep the number of the last event that they have seen."""

    def __init__(self, model: Model, folder: Path, *, now: Callable[[], datetime]) -> None:
        self._model = model
        self._now = now
        self._events: list[Event] = []
        self._wake: list[Callable[[], None]] = []

    @property
    def last(self) -> int:
        """The number of the newest event; 0 before the first."""
        return self._events[-1].number if self._events else 0

    def publish(self, data: Tree) -> None:
        """Log an event, RFC 7951 data from the top level down, and tell those who follow. Called in the event loop."""
        self._events.append(Event(self.last + 1, self._now(), from_json(self._model.root, data)))
        for wake in tuple(self._wake):
            wake()

    def after(self, number: int) -> Iterator[Event]:
        """Yield the logged events behind a number, in order."""
        return (event for event in self._events if event.number > number)

    def follow(self, wake: Callable[[], None]) -> Callable[[], None]:
        """Have a function called at each new event; return the one that ends that."""
        self._wake.append(wake)
        return lambda: self._wake.remove(wake)
