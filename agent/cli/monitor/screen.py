"""The live screen: a picture that fills the terminal, keys, and a terminal that is left as it was found."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import threading
import time
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Final

from rich.console import Console, Group

from agent.cli.monitor import terminal
from agent.cli.monitor.draw import draw
from agent.cli.monitor.picture import advance
from agent.cli.streams import writing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.live import Live

    from agent.cli.monitor.picture import Picture, Sample

_KEYS_TO_LEAVE: Final = frozenset(b"qQ")
_END_SECONDS: Final = 2.0


def console() -> Console:
    """Return standard output for pictures: nothing in them is markup."""
    return Console(markup=False, emoji=False, highlight=False)


class Screen:
    """Shows what samples tell until somebody leaves, or they end.

    Samples are read in a thread: keys count while an agent is slow. ``heading`` makes the first line of a picture of
    the seconds that have gone by since its sample.
    """

    def __init__(
        self, samples: Iterator[Sample], stop: threading.Event, heading: Callable[[Picture, float], str]
    ) -> None:
        self._samples = samples
        self._stop = stop
        self._heading = heading
        self._console = console()
        self._queue: SimpleQueue[Sample | BaseException | None] = SimpleQueue()
        self._wake_reader, self._wake_writer = os.pipe2(os.O_NONBLOCK)
        self._suspend = self._leave = False
        self._picture: Picture | None = None
        self._drawn_at = time.monotonic()

    def run(self, first: Sample) -> None:
        """Show pictures, beginning with that of a sample. Raises what reading raises, and as ``streams.writing``."""
        self._picture = advance(None, first)
        reader = threading.Thread(target=self._read, name="reader", daemon=True)
        with writing(), terminal.signals(self._handlers(), self._wake_writer):
            reader.start()
            try:
                while not self._leave:
                    with terminal.whole(self._console) as live:
                        self._show(live)
                    if self._suspend:
                        self._suspend = False
                        terminal.suspend()
            finally:
                self._stop.set()
        # An agent that is slow would not end the session in time, and needn't: it sees the connection go.
        reader.join(_END_SECONDS)

    def _read(self) -> None:
        """Queue the samples, and None or what was raised after the last one."""
        end: BaseException | None = None
        try:
            for sample in self._samples:
                self._queue.put(sample)
                self._wake()
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that shows it
            end = error
        self._queue.put(end)
        self._wake()

    def _show(self, live: Live) -> None:
        """Draw pictures until somebody leaves or suspends."""
        while not self._leave and not self._suspend:
            if self._picture is not None:
                self._draw(live, self._picture)
            self._wait()
            self._take()

    def _draw(self, live: Live, picture: Picture) -> None:
        width, height = self._console.size
        heading = self._heading(picture, time.monotonic() - self._drawn_at)
        live.update(Group(*draw(picture, heading, width=width, height=height)), refresh=True)

    def _wait(self) -> None:
        """Wait for a sample, a key, a signal, or a second to go by, and take keys."""
        watched = [self._wake_reader, *([sys.stdin] if sys.stdin.isatty() else [])]
        ready, _, _ = select.select(watched, [], [], 1.0)
        if self._wake_reader in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(self._wake_reader, 4096)
        if sys.stdin in ready:
            keys = os.read(sys.stdin.fileno(), 1024)
            # Nothing at all is a terminal that is gone.
            self._leave = self._leave or not keys or bool(_KEYS_TO_LEAVE & set(keys))

    def _take(self) -> None:
        """Take the samples that have come."""
        with contextlib.suppress(Empty):
            while True:
                taken = self._queue.get_nowait()
                if taken is None:
                    self._leave = True
                elif isinstance(taken, BaseException):
                    raise taken
                else:
                    self._picture = advance(self._picture, taken)
                    self._drawn_at = time.monotonic()

    def _handlers(self) -> terminal.Handlers:
        """Return what signals do; that one came wakes who waits."""
        return {
            signal.SIGWINCH: lambda *_: None,
            signal.SIGTSTP: lambda *_: setattr(self, "_suspend", True),
            signal.SIGTERM: lambda *_: setattr(self, "_leave", True),
        }

    def _wake(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.write(self._wake_writer, b"\0")
