"""The ways in which pictures are shown: on a screen, one after another, as JSON."""

from __future__ import annotations

import contextlib
import json
import sys
import threading
from typing import TYPE_CHECKING

from agent.cli.errors import CommandError
from agent.cli.monitor.draw import clock, draw
from agent.cli.monitor.picture import advance
from agent.cli.monitor.screen import Screen, console
from agent.cli.monitor.tree import as_tree
from agent.cli.monitor.watch import watch
from agent.cli.streams import writing

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent.cli.connection import Target
    from agent.cli.monitor.picture import Picture


def is_screen() -> bool:
    """Return whether standard output is a terminal that can be drawn on."""
    return sys.stdout.isatty() and not console().is_dumb_terminal


def on_screen(where: Target, interval: int) -> int:
    """Show pictures on the terminal until somebody leaves. Return the exit status; raises CommandError."""
    stop = threading.Event()
    samples = watch(where, interval=interval, stop=stop, past=True)

    def heading(picture: Picture, age: float) -> str:
        silent = f"  no answer for {age:.0f} s" if picture.problem is None and age > 2 * interval + 1 else ""
        return f"{clock(picture.time)}{silent}  every {interval} s  q leaves  {where}"

    # A password may have to be typed, and that there is no agent is said, before the terminal is drawn on.
    first = next(samples)
    with contextlib.suppress(KeyboardInterrupt):
        Screen(samples, stop, heading).run(first)
    return 0


def printed(where: Target, interval: int, count: int | None) -> int:
    """Print pictures, ``count`` of them or without end. Return the exit status; raises CommandError."""
    out = console()
    terminal = sys.stdout.isatty()
    # What the terminal's encoding does not have is no reason to show nothing.
    getattr(sys.stdout, "reconfigure", lambda **_: None)(errors="replace")

    def write(picture: Picture) -> None:
        lines = draw(picture, f"{clock(picture.time)}  {where}", width=out.width if terminal else None)
        for line in lines:
            if terminal:
                out.print(line, soft_wrap=True)
            else:
                print(line.plain)
        if count != 1:
            print()

    return _each(where, interval, count, write, past=True)


def as_json(where: Target, interval: int, count: int | None) -> int:
    """Print pictures as JSON, one a line, as ``printed``."""
    # In ASCII, so that nothing in the data steers a terminal.
    return _each(where, interval, count, lambda picture: print(json.dumps(as_tree(picture))), past=False)


def _each(where: Target, interval: int, count: int | None, write: Callable[[Picture], None], *, past: bool) -> int:
    stop = threading.Event()
    picture: Picture | None = None
    made = 0
    try:
        for sample in watch(where, interval=interval, stop=stop, past=past):
            if count == 1 and sample.problem is not None:
                raise CommandError(sample.problem)
            picture = advance(picture, sample)
            with writing():
                write(picture)
                sys.stdout.flush()
            made += sample.problem is None
            if made == count:
                stop.set()
    except KeyboardInterrupt:
        if count is not None:
            raise
    return 0
