"""Threads that listen to what the machine tells by itself, and hand it to the event loop."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from typing import TYPE_CHECKING, Final

from translators.base import ListeningError

if TYPE_CHECKING:
    from collections.abc import Callable

    from translators.base import Event, Listener, Tree
    from translators.host import Host

log = logging.getLogger(__name__)

# What waits for the event loop: a restart of thousands of tunnels tells of each of them.
MOST_WAITING: Final = 4096
_AT_A_TIME: Final = 32
_FIRST_PAUSE: Final = 0.5
# A source that goes with a change of the machine comes back with it, and what it tells first is what became of that.
_SHORT_PAUSE: Final = 0.02
_LONGEST_PAUSE: Final = 30.0


class Listening:
    """Listens to one translator's source until it is closed; where the source is gone, tries again and again.

    ``changing`` is whether the machine is being changed: then it tries often. ``publish`` is called in the event loop;
    what comes faster than that is left out, and counted in the log.
    """

    def __init__(
        self, listener: Listener, host: Host, changing: Callable[[], bool], publish: Callable[[Tree], None]
    ) -> None:
        self._listener = listener
        self._host = host
        self._changing = changing
        self._publish = publish
        self._loop = asyncio.get_running_loop()
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._waiting: deque[Tree] = deque()
        self._left_out = 0
        self._thread = threading.Thread(target=self._run, name="listener", daemon=True)
        self._thread.start()

    async def close(self) -> None:
        """Stop listening."""
        self._stop.set()
        await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        pause = _FIRST_PAUSE
        while not self._stop.is_set():
            try:
                for event in self._listener.events(self._host):
                    pause = _FIRST_PAUSE
                    if self._stop.is_set():
                        return
                    if event is not None:
                        self._take(event)
            except ListeningError as error:
                log.debug("%s", error)
            except Exception:  # a defect here must not be the end of all news
                log.exception("what the machine tells can't be understood")
            if self._changing():
                self._stop.wait(_SHORT_PAUSE)
                continue
            self._stop.wait(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)

    def _take(self, event: Event) -> None:
        log.log(logging.getLevelName(event.severity.upper()), "%s", event.text)
        if event.notification is None:
            return
        with self._lock:
            if len(self._waiting) >= MOST_WAITING:
                self._left_out += 1
                return
            self._waiting.append(event.notification)
            alone = len(self._waiting) == 1
        if alone and not self._stop.is_set():
            self._loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        """Publish some, and let the loop do something else before the next."""
        with self._lock:
            some = [self._waiting[n] for n in range(min(_AT_A_TIME, len(self._waiting)))]
        for notification in some:
            if not self._stop.is_set():
                self._publish(notification)
        with self._lock:
            # Not before: who adds one to an empty queue calls this.
            for _ in some:
                self._waiting.popleft()
            more, left_out = bool(self._waiting), self._left_out
            self._left_out = 0
        if left_out:
            log.warning("%d events of the machine came too fast and are not sent", left_out)
        if more and not self._stop.is_set():
            self._loop.call_soon(self._deliver)
