"""Sends the events of a stream to one session, as fast as it reads them (RFC 5277 sections 2.1.1 and 2.2)."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from agent.errors import NetconfError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from datetime import datetime

    from agent.nacm import Access, Nacm
    from agent.session import Session
    from agent.streams.event import Event
    from agent.streams.streams import Streams

    Passes: TypeAlias = Callable[[Event], "bool | Awaitable[bool]"]

log = logging.getLogger(__name__)

Ending: TypeAlias = Literal["stopped", "lost", "filter", "session"]
"""Why a delivery is over: its stop time came; the log has lost what was to be sent next, as the peer reads too slowly;
the filter can't be evaluated; the session has ended."""
_TURN: Final = 64


@dataclass(frozen=True, slots=True)
class Span:
    """Which events: those behind the number ``after``, up to the time ``stop`` where there is one.

    Those up to the number ``replay_to`` are of the past, and there is a replay of them; None: there is none.
    """

    after: int
    replay_to: int | None = None
    stop: datetime | None = None


class Delivery:
    """A position in the log, and no queue: what a slow peer has not read yet is in the log only.

    ``passes`` and ``stop`` can be changed while it runs; then call ``wake``. ``on_denied`` is called for each event
    that the user may not get.
    """

    def __init__(
        self,
        streams: Streams,
        nacm: Nacm,
        session: Session,
        span: Span,
        *,
        passes: Passes,
        replayed: Callable[[], None] = lambda: None,
        ended: Callable[[Ending], None],
    ) -> None:
        """Begin, once the running callback is through: a reply that it gives is sent first.

        Sent are events that pass the filter and that the user may get. ``replayed`` is called once, when the past is
        sent; ``ended`` once, at the end, unless it is cancelled.
        """
        self.passes = passes
        self.stop = span.stop
        self.position = span.after
        self.on_denied: Callable[[], None] = lambda: None
        self._replay_to = span.replay_to
        self._streams = streams
        self._nacm = nacm
        self._session = session
        self._replayed = replayed
        self._news = asyncio.Event()
        self._unfollow = streams.follow(self.wake)
        session.drained.append(self.wake)
        self._task = asyncio.ensure_future(self._run(ended))
        self._task.add_done_callback(self._over)

    def wake(self) -> None:
        """Look whether there is something to do."""
        self._news.set()

    def cancel(self) -> None:
        """End at once, without a word."""
        self._task.cancel()
        self._leave()

    def _leave(self) -> None:
        if self.wake in self._session.drained:
            self._session.drained.remove(self.wake)
            self._unfollow()

    def _over(self, task: asyncio.Task[None]) -> None:
        self._leave()
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("session %d ends: its events can't be sent", self._session.id, exc_info=error)
            self._session.end("other")

    async def _run(self, ended: Callable[[Ending], None]) -> None:
        while True:
            self._news.clear()
            why = self._hindrance() or (await self._turn() if self._session.writable else None)
            if why is not None:
                self._leave()
                ended(why)
                return
            await self._rest()

    async def _rest(self) -> None:
        """Wait for news; where there are some already, let others have a turn."""
        if self._news.is_set():
            await asyncio.sleep(0)
            return
        left = None
        if self.stop is not None and self._session.writable:
            left = max(0.0, (self.stop - self._streams.now()).total_seconds())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(left):
                await self._news.wait()

    def _hindrance(self) -> Ending | None:
        if self._session.ended:
            return "session"
        return "lost" if self.position < self._streams.dropped else None

    async def _turn(self) -> Ending | None:
        """Send some events, and tell why the delivery is over where it is."""
        access = self._nacm.access(self._session.peer)
        last = self._streams.last
        events = list(islice(self._streams.after(self.position), _TURN))
        # Read behind the log: what is logged later is later than a stop time that has come.
        time = self._streams.now()
        for event in events:
            if (why := self._hindrance()) is not None or not self._session.writable:
                return why
            if self.stop is not None and event.time > self.stop:
                self._tell_replayed(last)
                return "stopped"
            self._tell_replayed(event.number - 1)
            try:
                passes = await self._lets_pass(event, access)
            except NetconfError as error:
                log.warning("session %d: the filter can't be evaluated: %s", self._session.id, error.message)
                return "filter"
            message = self._streams.message(event, access) if passes else None
            if message is not None:
                self._session.notify(message)
            self.position = event.number
        if len(events) == _TURN:
            self.wake()
            return None
        self.position = max(self.position, last)  # events that the schema has no more are skipped
        self._tell_replayed(last)
        return "stopped" if self.stop is not None and time >= self.stop else None

    async def _lets_pass(self, event: Event, access: Access) -> bool:
        """Put the filter to what the user may see of an event: nothing else is to be found out by it."""
        seen = self._streams.seen(event, access)
        if seen is None:
            self.on_denied()
            self._nacm.note_denied_notification()
            return False
        passes = self.passes(seen)
        return passes if isinstance(passes, bool) else await passes

    def _tell_replayed(self, number: int) -> None:
        """Tell that the past is sent, where it is when all up to a number is."""
        if self._replay_to is not None and number >= self._replay_to:
            self._replay_to = None
            self._replayed()
