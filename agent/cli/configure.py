"""``set``, ``delete``, ``plan``, ``discard`` and ``save``: the configuration, through candidate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from agent.cli.connection import add_connection, target
from agent.cli.errors import CommandError
from agent.cli.parser import add_command

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

_SET_EXAMPLES = """\
The words are a path in the model and a value. The change goes to candidate: commit brings it to the gateway.

examples:
  accel-agent set qat enabled true
  accel-agent set qat device 0000:01:00.0 services asym sym dc
  accel-agent set qat device qat_dev0 section SSL cy-instances 2
  accel-agent plan && accel-agent commit
"""
_DELETE_EXAMPLES = """\
examples:
  accel-agent delete qat device 0000:01:00.0 services
  accel-agent delete qat device 0000:01:00.0 section SSL
  accel-agent delete qat ipsec-refresh
"""
_PLAN_EXAMPLES = """\
A step marked with ! disturbs a service. Nothing is done.

examples:
  accel-agent plan
  accel-agent plan --source running
  accel-agent plan --format json
"""
_DISCARD_EXAMPLES = """\
examples:
  accel-agent discard
"""
_SAVE_EXAMPLES = """\
examples:
  accel-agent commit && accel-agent save
"""
# By whether candidate is running; None: the agent can't tell.
_NOTHING: Final = {
    True: "candidate is running: nothing to do",
    False: "candidate differs from running, and nothing is to be done on the machine",
    None: "nothing to do",
}


def add(commands: Any) -> None:  # noqa: ANN401 - argparse's own type is private
    """Add the commands' parsers."""
    set_ = _parser(commands, "set", "change the configuration", "Set a value in candidate.", _SET_EXAMPLES, _set)
    _add_words(set_, "path and value")
    delete = _parser(
        commands, "delete", "delete from the configuration", "Delete from candidate.", _DELETE_EXAMPLES, _delete
    )
    _add_words(delete, "path")
    plan = _parser(
        commands, "plan", "show what a commit would do", "Show the steps of a commit.", _PLAN_EXAMPLES, _plan
    )
    plan.add_argument(
        "--source",
        choices=("candidate", "running"),
        default="candidate",
        help="candidate (default); running: what it takes to bring the gateway back to what was committed last",
    )
    plan.add_argument("--format", choices=("table", "json", "xml"), default="table", help="output (default table)")
    _parser(
        commands,
        "discard",
        "forget candidate's changes",
        "Make candidate what running is.",
        _DISCARD_EXAMPLES,
        _discard,
    )
    _parser(commands, "save", "keep running over a restart", "Copy running to startup.", _SAVE_EXAMPLES, _save)


def _parser(
    commands: Any,  # noqa: ANN401
    name: str,
    summary: str,
    description: str,
    epilog: str,
    run: Callable[[argparse.Namespace], int],
) -> argparse.ArgumentParser:
    parser = add_command(commands, name, summary, description, epilog)
    add_connection(parser)
    parser.set_defaults(run=run)
    return parser


def _add_words(parser: argparse.ArgumentParser, meaning: str) -> None:
    words: Any = parser.add_argument("words", nargs="+", metavar="WORD", help=meaning)
    words.completer = _complete


def _complete(prefix: str, parsed_args: argparse.Namespace, **_: object) -> Sequence[str]:
    from agent.cli.show_device import names
    from agent.cli.words import suggestions

    words = parsed_args.words or []
    if words[-2:] == ["qat", "device"]:
        return [name for name in names(prefix, parsed_args) if ":" in name]
    return suggestions(words)


def _set(options: argparse.Namespace) -> int:
    return _edit(options, delete=False)


def _delete(options: argparse.Namespace) -> int:
    return _edit(options, delete=True)


def _edit(options: argparse.Namespace, *, delete: bool) -> int:
    from agent.cli.client import connect
    from agent.cli.show_device import address
    from agent.cli.words import WordsError, device_names, edit

    where = target(options)
    try:
        content = edit(options.words, delete=delete)
    except WordsError as error:
        options.parser.exit(2, f"accel-agent: {error}\n")
    with connect(where) as client:
        for key in device_names(content):
            key.text = address(client, key.text or "")
        # With none, what is on the way to the node is not made by deleting in it.
        client.edit(content, default_operation="none" if delete else "merge")
    return 0


def _plan(options: argparse.Namespace) -> int:
    from agent.cli import show_plan
    from agent.cli.client import connect

    nothing = show_plan.NOTHING
    with connect(target(options)) as client:
        found = client.plan(options.source)
        if options.source == "candidate" and options.format == "table" and not show_plan.has_steps(found):
            nothing = _NOTHING[client.is_running()]
    show_plan.show(found, form=options.format, nothing=nothing)
    return 0


def _discard(options: argparse.Namespace) -> int:
    from agent.cli.client import connect

    with connect(target(options)) as client:
        client.discard()
    return 0


def _save(options: argparse.Namespace) -> int:
    from agent.cli.client import STARTUP, connect

    with connect(target(options)) as client:
        if not client.offers(STARTUP):
            raise CommandError("this agent has no startup datastore: what is committed is kept already")
        client.save()
    return 0
