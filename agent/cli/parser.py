"""The parser of the command line: wrong usage is one line, with the word that was perhaps meant."""

from __future__ import annotations

import argparse
import difflib
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterable


class Parser(argparse.ArgumentParser):
    """A parser that says what is wrong, and where to read on, in place of the whole usage."""

    def error(self, message: str) -> NoReturn:
        """Exit with 2."""
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")

    def parse_known_args(  # the library's signature is one of overloads
        self,
        args: Any = None,  # noqa: ANN401
        namespace: Any = None,  # noqa: ANN401
    ) -> tuple[Any, list[str]]:
        """Parse; what a command does not know is its own error, with its own help to read on in, not its parent's."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown and self._subparsers is None:
            near = difflib.get_close_matches(unknown[0], self._option_string_actions, n=1)
            perhaps = f", did you mean {near[0]}?" if near else ""
            self.error(f"unrecognized arguments: {' '.join(unknown)}{perhaps}")
        return found, unknown

    def _check_value(self, action: argparse.Action, value: Any) -> None:  # noqa: ANN401 - the library's signature
        if action.choices is not None and value not in action.choices:
            raise argparse.ArgumentError(action, f"invalid choice: {value!r}, {meant(str(value), action.choices)}")


def meant(word: str, choices: Iterable[object]) -> str:
    """Return which choice a word was perhaps meant to be, or else which there are."""
    known = [str(choice) for choice in choices]
    near = difflib.get_close_matches(word, known, n=1)
    return f"did you mean {near[0]}?" if near else f"there {'are' if len(known) > 1 else 'is only'} {', '.join(known)}"
