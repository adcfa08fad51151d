"""Standard input, output and error of a command, whatever the caller made of them."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING

from agent.cli.errors import CommandError, ReaderGoneError

if TYPE_CHECKING:
    from collections.abc import Iterator


def open_missing() -> None:
    """Open what the caller closed: else the next file or socket would get its number, and what is printed.

    What is then read is empty, what is reported is dropped. Writing output fails with EBADF, as it should.
    """
    for name, mode, flags in (("stdin", "r", os.O_RDONLY), ("stdout", "w", os.O_RDONLY), ("stderr", "w", os.O_WRONLY)):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, flags), mode))


@contextlib.contextmanager
def writing() -> Iterator[None]:
    """Turn what fails while output is written into a CommandError, or a ReaderGoneError."""
    try:
        yield
    except BrokenPipeError as error:
        raise ReaderGoneError from error
    except OSError as error:
        raise CommandError(f"the output can't be written: {error.strerror}") from error


def flush() -> None:
    """Write what was printed. Raises as ``writing``."""
    with writing():
        sys.stdout.flush()


def announce(text: str) -> None:
    """Print a line that somebody waits for. Raises CommandError, also when nobody does."""
    try:
        print(text, flush=True)
    except OSError as error:
        raise CommandError(f"the line that tells what is served can't be written: {error.strerror}") from error


def drop_output() -> None:
    """Drop what is still to be written: it would fail again while the interpreter ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
