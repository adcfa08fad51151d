"""The command line: one module per family of commands, each adding its parsers and returning an exit status."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from typing import TYPE_CHECKING, Final

from agent import __version__
from agent.cli.errors import CommandError
from agent.settings import StartError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_MODULES: Final[Mapping[str, str]] = {
    "serve": "serve",
    "demo": "demo",
    "simulate": "simulate",
    "show": "show",
    "set": "configure",
    "delete": "configure",
    "plan": "configure",
    "commit": "configure",
    "discard": "configure",
    "save": "configure",
    "completion": "completion",
}
"""The module of each command. Only that of the command that is given is loaded: some take their time."""


def main(arguments: Sequence[str]) -> int:
    """Run one command. Return 0 when it is done, 1 when it failed, 2 for wrong usage."""
    if "_ARGCOMPLETE" in os.environ:
        _complete(os.environ.get("COMP_LINE", "").split()[1:])
    options = _parser(_chosen(arguments) or _MODULES.values()).parse_args(arguments)
    try:
        status = int(options.run(options))
        sys.stdout.flush()
    except (CommandError, StartError) as error:
        if options.debug:
            raise
        print(f"accel-agent: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        _give_up_output()
        return 1
    except OSError as error:
        if options.debug:
            raise
        _give_up_output()
        print(f"accel-agent: {error}", file=sys.stderr)
        return 1
    except Exception as error:
        if options.debug:
            raise
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        print(f"accel-agent: a fault of this program ({reason}): report it with what --debug shows", file=sys.stderr)
        return 1
    return status


def _chosen(words: Sequence[str]) -> tuple[str, ...]:
    """Return the module of the command among the words, where there is one."""
    return next(((_MODULES[word],) for word in words if word in _MODULES), ())


def _parser(modules: Iterable[str], *, bare: Iterable[str] = ()) -> argparse.ArgumentParser:
    """Return the parser with the commands of modules, and those of the names in ``bare`` with nothing in them."""
    parser = argparse.ArgumentParser(
        prog="accel-agent",
        description="Serve hardware crypto acceleration of this gateway over NETCONF, and look at it.",
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


def _give_up_output() -> None:
    """Drop what is still to be written: it would fail again while the interpreter ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
