"""``set``, ``delete``, ``plan``, ``commit``, ``discard`` and ``save``: the configuration, through candidate."""

from __future__ import annotations

import argparse
import contextlib
import secrets
import sys
from typing import TYPE_CHECKING, Any, Final

from agent.cli.connection import add_connection, target, within
from agent.cli.errors import INTERRUPTED, CommandError, RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from agent.cli.client import Client

# What a commit waits for: IPsec and drivers that stop and start, at worst once more to undo it.
_COMMIT_TIMEOUT: Final = 900
_LONGEST_CONFIRM: Final = 2**32 - 1
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
_COMMIT_EXAMPLES = """\
examples:
  accel-agent commit
  accel-agent commit --confirmed 300
  accel-agent commit --host gateway.example --user admin
"""
_DISCARD_EXAMPLES = """\
examples:
  accel-agent discard
"""
_SAVE_EXAMPLES = """\
examples:
  accel-agent commit && accel-agent save
"""


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
    commit = _parser(
        commands, "commit", "make candidate running", "Bring candidate to the gateway.", _COMMIT_EXAMPLES, _commit
    )
    confirmation = commit.add_mutually_exclusive_group()
    confirmation.add_argument(
        "--confirmed",
        type=within(1, _LONGEST_CONFIRM),
        metavar="SECONDS",
        help="undo the commit unless it is confirmed within this time",
    )
    confirmation.add_argument("--persist-id", metavar="TOKEN", help="confirm the commit that printed this token")
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
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=summary,
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
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

    with connect(target(options)) as client:
        found = client.plan(options.source)
    show_plan.show(found, form=options.format)
    return 0


def _commit(options: argparse.Namespace) -> int:
    from agent.cli.client import CONFIRMED_COMMIT, connect

    with connect(target(options, timeout=_COMMIT_TIMEOUT)) as client:
        needed = options.confirmed is not None or options.persist_id is not None
        if needed and not client.offers(CONFIRMED_COMMIT):
            raise CommandError("this agent does not offer :confirmed-commit: commit without it")
        if options.persist_id is None:
            _tell_notes(client)
        if options.confirmed is None:
            with _interruptible(""):
                client.commit(persist_id=options.persist_id)
            print("committed")
            return 0
        token = secrets.token_hex(8)
        keep = f"to keep it: accel-agent commit --persist-id {token}"
        with _interruptible(f"; {keep}"):
            client.commit_for(options.confirmed, persist=token)
    print(f"committed for {options.confirmed} s; {keep}")
    return 0


def _tell_notes(client: Client) -> None:
    """Say what the plan of a commit has to be known, before it is done."""
    from agent.cli.show_plan import notes

    try:
        found = client.plan("candidate")
    except RefusedError:
        # A configuration that can't be planned is refused by the commit, with the reason.
        return
    for note in notes(found):
        print(note, file=sys.stderr)


@contextlib.contextmanager
def _interruptible(more: str) -> Iterator[None]:
    """Say what Ctrl-C does to a commit: it ends the waiting only."""
    try:
        yield
    except KeyboardInterrupt as error:
        raise CommandError(
            f"the commit goes on: look at accel-agent show qat status{more}", status=INTERRUPTED
        ) from error


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
