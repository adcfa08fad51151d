"""The parser of the command line: wrong usage is one line, with the word that was perhaps meant."""

from __future__ import annotations

import argparse
import difflib
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


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
        """Parse; what a command does not know is its own error, with its own help to read on in, not its parent's.

        An option that it does not know is looked for first: the library would take it for a flag without a value, and
        refuse what follows it as a word that does not belong there.
        """
        if (option := self._unknown_option(args or ())) is not None:
            self.error(self._misplaced(option))
        found, unknown = super().parse_known_args(args, namespace)
        if unknown and self._subparsers is None:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown

    def _unknown_option(self, words: Sequence[str]) -> str | None:
        """Return the first option that this parser does not know, of those that stand before its subcommand."""
        subcommands = self._subcommands()
        for word in words:
            if word == "--" or word in subcommands:
                break
            # As the library has it: no option has a blank in it, or is a negative number; a beginning is enough.
            name = word.partition("=")[0] if word.startswith("--") else word[:2]
            if not name.startswith("-") or name == "-" or " " in word or self._negative_number_matcher.match(word):
                continue
            if not any(option.startswith(name) for option in self._option_string_actions):
                return name
        return None

    def _misplaced(self, name: str) -> str:
        """Return what to say of an option that this parser does not know."""
        if any(name in parser._option_string_actions for parser in self._subcommands().values()):  # noqa: SLF001
            return f"the option {name} belongs after the command"
        known = [option.strip("-") for option in self._option_string_actions]
        near = difflib.get_close_matches(name.strip("-"), known, n=1)
        return f"there is no option {name}" + (f", did you mean --{near[0]}?" if near else "")

    def _subcommands(self) -> Mapping[str, argparse.ArgumentParser]:
        """Return the parsers of the subcommands by name."""
        found = (action for action in self._actions if isinstance(action, argparse._SubParsersAction))  # noqa: SLF001
        return next((action.choices for action in found), {})

    def _check_value(self, action: argparse.Action, value: Any) -> None:  # noqa: ANN401 - the library's signature
        if action.choices is not None and value not in action.choices:
            raise argparse.ArgumentError(action, f"invalid choice: {value!r}, {meant(str(value), action.choices)}")


def add_command(
    commands: Any,  # noqa: ANN401 - argparse's own type is private
    name: str,
    summary: str,
    description: str,
    epilog: str,
) -> argparse.ArgumentParser:
    """Add the parser of a command; its help is laid out as ``description`` and ``epilog`` are."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=summary,
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    return parser


def meant(word: str, choices: Iterable[object]) -> str:
    """Return which choice a word was perhaps meant to be, or else which there are."""
    known = [str(choice) for choice in choices]
    near = difflib.get_close_matches(word, known, n=1)
    return f"did you mean {near[0]}?" if near else f"there {'are' if len(known) > 1 else 'is only'} {', '.join(known)}"
