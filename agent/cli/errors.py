"""What ends a command."""

from __future__ import annotations

from typing import Final

INTERRUPTED: Final = 130
"""The exit status after Ctrl-C, as a shell has it."""


class CommandError(Exception):
    """A command can't be done. The text is one line: what is wrong and what to do about it.

    ``status`` is the exit status.
    """

    def __init__(self, text: str, *, status: int = 1) -> None:
        super().__init__(text)
        self.status = status


class RefusedError(CommandError):
    """The agent answered with an rpc-error (RFC 6241 section 4.3)."""


class ReaderGoneError(Exception):
    """Whoever reads the output wants no more of it: the command is over, and nothing is wrong."""
