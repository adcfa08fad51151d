"""The terminal: taken whole, with keys that come one by one, and left as it was found."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import termios
import tty
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from rich.live import Live

if TYPE_CHECKING:
    from rich.console import Console

Handlers: TypeAlias = Mapping[int, Callable[..., Any]]


@contextlib.contextmanager
def whole(console: Console) -> Iterator[Live]:
    """Have all of the terminal to draw on, for a ``with`` block."""
    descriptor = sys.stdin.fileno() if sys.stdin.isatty() else None
    before = [] if descriptor is None else termios.tcgetattr(descriptor)
    try:
        if descriptor is not None:
            tty.setcbreak(descriptor, termios.TCSANOW)
        with Live(console=console, screen=True, auto_refresh=False) as live:
            yield live
    finally:
        if descriptor is not None:
            termios.tcsetattr(descriptor, termios.TCSANOW, before)


@contextlib.contextmanager
def signals(handlers: Handlers, wake: int) -> Iterator[None]:
    """Have signals handled for a ``with`` block; each also writes a byte to the descriptor ``wake``."""
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    descriptor = signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    try:
        yield
    finally:
        signal.set_wakeup_fd(descriptor)
        for number, handler in before.items():
            signal.signal(number, handler)


def suspend() -> None:
    """Stop as Ctrl-Z would have it, until the shell goes on with this command. The terminal is given back before."""
    handler = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGTSTP)
    signal.signal(signal.SIGTSTP, handler)
