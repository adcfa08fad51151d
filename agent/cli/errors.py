"""What ends a command."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

INTERRUPTED: Final = 130
"""The exit status after Ctrl-C, as a shell has it."""


class CommandError(Exception):
    """A command can't be done. The text is one line: what is wrong and what to do about it.

    ``status`` is the exit status.
    """

    def __init__(self, text: str, *, status: int = 1) -> None:
        super().__init__(text)
        self.status = status


@dataclass(frozen=True, slots=True)
class AgentError:
    """One rpc-error (RFC 6241 section 4.3). ``text`` says all of it, in one line.

    ``path`` is an XPath expression with the prefixes in ``namespaces``; ``element`` and ``attribute`` are
    the bad-element and bad-attribute of its error-info.
    """

    text: str
    tag: str = ""
    path: str | None = None
    namespaces: Mapping[str, str] = field(default_factory=dict)
    element: str | None = None
    attribute: str | None = None


class RefusedError(CommandError):
    """The agent answered with one rpc-error or several."""

    def __init__(self, errors: Sequence[AgentError]) -> None:
        super().__init__("; ".join(error.text for error in errors))
        self.errors = tuple(errors)


class ReaderGoneError(Exception):
    """Whoever reads the output wants no more of it: the command is over, and nothing is wrong."""
