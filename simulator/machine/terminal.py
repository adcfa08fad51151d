"""Output of the programs, written at once: who reads both streams in one pipe sees the order of events."""

import os
from contextlib import suppress

_STDOUT = 1
_STDERR = 2


def say(text: str) -> None:
    """Print on standard output."""
    _write(_STDOUT, text)


def complain(text: str) -> None:
    """Print on standard error."""
    _write(_STDERR, text)


def _write(descriptor: int, text: str) -> None:
    data = text.encode(errors="surrogateescape")
    # A caller that does not listen (EPIPE, EBADF) must not end the work half-way.
    with suppress(OSError):
        while data:
            data = data[os.write(descriptor, data) :]
