"""The command line: one module per family of commands, each adding its parsers and returning an exit status."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from typing import TYPE_CHECKING, Final

from agent import __version__
from agent.cli import streams
from agent.cli.errors import INTERRUPTED, CommandError, ReaderGoneError
from agent.cli.parser import Parser
from agent.settings import StartError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_MODULES: Final[Mapping[str, str]] = {
    "serve": "serve",
    "demo": "demo",
    "simulate": "simulate",
    "doctor": "doctor",
    "show": "show",
    "monitor": "monitor",
    "set": "configure",
    "delete": "configure",
    "load": "load",
    "plan": "configure",
    "commit": "commit",
    "discard": "configure",
    "save": "configure",
    "relay": "relay",
    "completion": "completion",
}
"""The module of each command. Only that of the command that is given is loaded: some take their time."""
_STATUSES: Final = """\
exit status:
  0    done, also when whoever reads the output wants no more of it (as in | head -1)
  1    failed; one line on standard error says what is wrong and what to do
  2    wrong usage
  130  ended by Ctrl-C
"""


def main(arguments: Sequence[str]) -> int:
    """Run one command. Return the exit status, as the help has it."""
    if "_ARGCOMPLETE" in os.environ:
        _complete(os.environ.get("COMP_LINE", "").split()[1:])
    streams.open_missing()
    options = argparse.Namespace(debug=False)
    try:
        return _run(arguments, options)
    except ReaderGoneError:
        streams.drop_output()
        return 0
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        if options.debug:
            raise
        problem, status = _told(error)
        if isinstance(error, CommandError | OSError):
            streams.drop_output()
        print(f"accel-agent: {problem}", file=sys.stderr)
        return status


def _run(arguments: Sequence[str], options: argparse.Namespace) -> int:
    """Run one command to the end of its output; ``options`` are filled. Raises whatever the command does."""
    try:
        _parser(_chosen(arguments) or _MODULES.values()).parse_args(arguments, options)
        status = int(options.run(options))
    except SystemExit:
        # What argparse printed may still be on its way.
        streams.flush()
        raise
    streams.flush()
    return status


def _told(error: Exception) -> tuple[str, int]:
    """Return what to say of an error, in one line, and the exit status."""
    if isinstance(error, CommandError):
        return str(error), error.status
    if isinstance(error, StartError):
        return str(error), 1
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror, 1
    reason = " ".join(f"{type(error).__name__}: {error}".split())
    return f"a fault of this program ({reason}): report it with what --debug shows", 1


def _chosen(words: Sequence[str]) -> tuple[str, ...]:
    """Return the module of the command that the words begin with, where there is one."""
    command = next((word for word in words if not word.startswith("-")), "")
    return (_MODULES[command],) if command in _MODULES else ()


def _parser(modules: Iterable[str], *, bare: Iterable[str] = ()) -> argparse.ArgumentParser:
    """Return the parser with the commands of modules, and those of the names in ``bare`` with nothing in them."""
    parser = Parser(
        prog="accel-agent",
        description="Serve hardware crypto acceleration of this gateway over NETCONF, and look at it.",
        epilog=_STATUSES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"accel-agent {__version__}")
    parser.add_argument("--debug", action="store_true", help="show a traceback when something fails")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for module in dict.fromkeys(modules):
        importlib.import_module(f"agent.cli.{module}").add(commands)
    for name in bare:
        commands.add_parser(name)
    return parser


def _complete(words: Sequence[str]) -> None:
    """Tell the shell how the command line may go on, and exit."""
    import argcomplete

    modules = _chosen(words)
    # While a command's name is being typed, names are all that is needed.
    argcomplete.autocomplete(_parser(modules, bare=() if modules else _MODULES), always_complete_options=False)
