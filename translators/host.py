"""The one door to the machine: files, programs, the clock, and the daemons that are asked over a socket."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence
    from datetime import datetime

    from translators.systemd import Systemd
    from translators.vici import Message

READ_LIMIT = 16 * 1024 * 1024
POLL_INTERVAL = 0.05


@dataclass(frozen=True, slots=True)
class Completed:
    """A program's end: what was run, its exit status, what it printed on both streams.

    The status of a program that a signal ended is the negative signal, or 128 and the signal.
    """

    argv: tuple[str, ...]
    returncode: int
    output: str


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a file that others append to; ``inode`` tells whether it still is that file, ``size`` its length."""

    data: bytes
    inode: int
    size: int


class ProgramTimeoutError(Exception):
    """A program did not end in time and was killed, with the processes that it had started."""

    def __init__(self, argv: Sequence[str], seconds: float, output: str) -> None:
        super().__init__(f"{' '.join(argv)} did not end within {seconds:g} s and was killed")
        self.argv = tuple(argv)
        self.output = output


class Host(Protocol):
    """What a translator may do to, and ask of, the machine.

    Paths are absolute, as the managed machine sees them.
    """

    def read(self, path: str, *, limit: int = READ_LIMIT) -> bytes:
        """Return a file's bytes.

        Raises FileNotFoundError where there is none, OSError otherwise or past ``limit``.
        """

    def piece(self, path: str, offset: int, *, limit: int) -> Piece:
        """Return up to ``limit`` bytes of a regular file from an offset on. Raises FileNotFoundError, OSError."""

    def messages(self, path: str) -> Generator[bytes, None, None]:
        """Yield the messages of a device such as /dev/kmsg, one per read, until none is left; never wait for one.

        Messages that are overwritten meanwhile are left out. How many are taken is up to the caller: they can come
        faster than they are read. Raises FileNotFoundError, OSError with ENODEV where the path is no such device.
        """

    def write(self, path: str, data: bytes, *, mode: int = 0o644) -> None:
        """Replace a file whole, durably; an existing file keeps its mode and owner. Raises OSError."""

    def assign(self, path: str, data: bytes) -> None:
        """Write an attribute of the kernel's (sysfs, debugfs), in place and in one call.

        Raises FileNotFoundError where there is none, OSError with the kernel's reason where it refuses the value.
        """

    def remove(self, path: str) -> None:
        """Remove a file; one that is not there is no error. Raises OSError."""

    def names(self, path: str) -> tuple[str, ...]:
        """Return the names in a directory, sorted. Raises FileNotFoundError, OSError."""

    def link(self, path: str) -> str:
        """Return a symbolic link's target as stored. Raises FileNotFoundError, OSError (not a link)."""

    def exists(self, path: str) -> bool:
        """Return whether anything is there."""

    def executable(self, path: str) -> bool:
        """Return whether a regular file is there that may be executed."""

    def run(self, argv: Sequence[str], *, timeout: float) -> Completed:
        """Run a program (``argv[0]`` is a path on the managed machine) and wait for its end.

        After ``timeout`` seconds it is killed, with all that it started.
        Raises FileNotFoundError, PermissionError, OSError, ProgramTimeoutError.
        """

    def vici(
        self,
        path: str,
        command: str,
        message: Mapping[str, Any],
        *,
        stream: str | None = None,
        timeout: float,
        silence: float | None = None,
    ) -> list[Message]:
        """Ask charon at its socket; return the events of ``stream``, then the answer.

        It is given up after ``timeout`` seconds, and before that where nothing comes for ``silence`` seconds.
        Raises ViciError.
        """

    def vici_events(
        self, path: str, names: Sequence[str], *, pause: float
    ) -> Generator[tuple[str, Message] | None, None, None]:
        """Yield what charon tells at the socket ``path``, by event and message, and None after each ``pause`` seconds.

        Raises ViciError, also where charon ends.
        """

    def systemd(self) -> Systemd | None:
        """Return the machine's service manager, None where there is none to talk to."""

    def vyos(self, endpoint: str, message: Mapping[str, Any], *, timeout: float) -> Any:  # noqa: ANN401 - JSON
        """Ask the HTTP API of VyOS that the settings name; return the data of its answer (JSON).

        Raises VyosError, also where the settings name none.
        """

    def now(self) -> datetime:
        """Return the time of day, in UTC, with its zone."""

    def monotonic(self) -> float:
        """Return seconds on a clock that never goes back."""

    def sleep(self, seconds: float) -> None:
        """Wait: for polling a state with a deadline."""


def wait_until(host: Host, holds: Callable[[], bool], *, seconds: float) -> bool:
    """Return whether a condition holds within ``seconds``, looking again at short intervals."""
    deadline = host.monotonic() + seconds
    while not holds():
        if host.monotonic() >= deadline:
            return False
        host.sleep(POLL_INTERVAL)
    return True
