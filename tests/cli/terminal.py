"""A terminal for a command to run in, and somebody who looks at it and types."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

DEADLINE = 30.0
ENTER, LEAVE = "\x1b[?1049h", "\x1b[?1049l"
HIDE, SHOW = "\x1b[?25l", "\x1b[?25h"
_HOME = "\x1b[H"
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class Terminal:
    """A pseudoterminal of so many columns and rows, whose only process is a command. ``seen`` is all that it wrote."""

    def __init__(self, *argv: str, home: Path, size: tuple[int, int] = (100, 24), **env: str) -> None:
        self.seen = ""
        self._raw = b""
        self._master, self._slave = pty.openpty()
        self.resize(*size, tell=False)
        self.before = self.modes()
        kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
        self.process = subprocess.Popen(
            argv,
            cwd=home,
            env={**kept, "HOME": str(home), "TERM": "xterm-256color", "LANG": "C.UTF-8", **env},
            stdin=self._slave,
            stdout=self._slave,
            stderr=self._slave,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509 - the test has no threads
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait(DEADLINE)
        os.close(self._master)
        os.close(self._slave)

    def modes(self) -> list[Any]:
        """Return how the terminal treats what is typed."""
        return termios.tcgetattr(self._slave)

    def resize(self, columns: int, rows: int, *, tell: bool = True) -> None:
        """Give it another size; the kernel tells the command."""
        fcntl.ioctl(self._master if tell else self._slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, keys: str) -> None:
        """Type."""
        os.write(self._master, keys.encode())

    def look(self, seconds: float = 0.05) -> str:
        """Return all that was written so far."""
        while select.select([self._master], [], [], seconds)[0]:
            try:
                self._raw += os.read(self._master, 65536)
            except OSError:
                break
            seconds = 0
        self.seen = self._raw.decode(errors="replace")
        return self.seen

    def until(self, holds: Callable[[], object], what: str) -> None:
        """Look until something holds."""
        deadline = time.monotonic() + DEADLINE
        while not (self.look() and holds()):
            assert time.monotonic() < deadline, f"{what}: not seen in {self.seen[-3000:]!r}"

    def picture(self) -> list[str]:
        """Return the lines of the last picture, as far as it was drawn yet."""
        return _COLOUR.sub("", self.seen.rpartition(_HOME)[2]).split("\r\n")

    def line(self, number: int) -> str:
        """Return a line of the last picture, empty where it was not drawn yet; the first one is 0."""
        return "".join(self.picture()[number : number + 1])

    def ended(self) -> int:
        """Return the exit status of the command, once it has ended."""
        deadline = time.monotonic() + DEADLINE
        while self.process.poll() is None:
            assert time.monotonic() < deadline, f"it goes on: {self.seen[-3000:]!r}"
            self.look()
        self.look()
        return self.process.returncode
