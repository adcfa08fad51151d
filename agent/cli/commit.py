"""``commit``: candidate becomes what runs; a confirmed commit, its confirmation and its end (RFC 6241 8.4)."""

from __future__ import annotations

import contextlib
import secrets
import sys
from typing import TYPE_CHECKING, Any, Final

from agent.cli.connection import add_connection, repeated, target, within
from agent.cli.errors import INTERRUPTED, CommandError, RefusedError
from agent.cli.parser import add_command

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from agent.cli.client import Client

# What a commit waits for: IPsec and drivers that stop and start, at worst once more to undo it.
_COMMIT_TIMEOUT: Final = 900
_LONGEST_CONFIRM: Final = 2**32 - 1
# It is carried out all the same: what running says is asked of the machine again.
_UNCHANGED: Final = "nothing to commit: candidate is running; if the machine had drifted from it, that is put right"
_EXAMPLES = """\
A confirmed commit prints a token. It is undone after its time, unless the token confirms it before.

examples:
  accel-agent commit
  accel-agent commit --confirmed 300
  accel-agent commit --persist-id 7c1f0e2b9a3d4856
  accel-agent commit --cancel --persist-id 7c1f0e2b9a3d4856
  accel-agent commit --host gateway.example --user admin
"""


def add(commands: Any) -> None:  # noqa: ANN401 - argparse's own type is private
    """Add the command's parser."""
    parser = add_command(commands, "commit", "make candidate running", "Bring candidate to the gateway.", _EXAMPLES)
    confirmation = parser.add_mutually_exclusive_group()
    confirmation.add_argument(
        "--confirmed",
        type=within(1, _LONGEST_CONFIRM),
        metavar="SECONDS",
        help="undo the commit unless it is confirmed within this time",
    )
    confirmation.add_argument(
        "--cancel", action="store_true", help="undo the confirmed commit of --persist-id now, in place of a commit"
    )
    parser.add_argument("--persist-id", metavar="TOKEN", help="confirm the commit that printed this token")
    add_connection(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    from agent.cli.client import CONFIRMED_COMMIT, connect

    where = target(options, timeout=_COMMIT_TIMEOUT)
    if options.confirmed is not None and options.persist_id is not None:
        options.parser.error("--confirmed and --persist-id exclude each other")
    with connect(where) as client:
        needed = options.confirmed is not None or options.persist_id is not None or options.cancel
        if needed and not client.offers(CONFIRMED_COMMIT):
            raise CommandError("this agent does not offer :confirmed-commit: commit without it")
        if options.cancel:
            said = _cancelled(client, options.persist_id)
        elif options.confirmed is None:
            said = _committed(client, options.persist_id)
        else:
            said = _committed_for(client, options.confirmed, repeated(options))
    print(said)
    return 0


def _cancelled(client: Client, persist_id: str | None) -> str:
    with _interruptible("undoing the commit"):
        client.cancel_commit(persist_id=persist_id)
    return "cancelled: running is what it was before the confirmed commit"


def _committed(client: Client, persist_id: str | None) -> str:
    unchanged = None
    if persist_id is None:
        _tell_notes(client)
        unchanged = client.is_running()
    with _interruptible("the commit"):
        client.commit(persist_id=persist_id)
    return _UNCHANGED if unchanged else "committed"


def _committed_for(client: Client, seconds: int, flags: str) -> str:
    _tell_notes(client)
    token = secrets.token_hex(8)
    keep = f"to keep it: accel-agent commit --persist-id {token}{flags}"
    with _interruptible("the commit", f"; {keep}"):
        client.commit_for(seconds, persist=token)
    return f"committed for {seconds} s; {keep}\nto undo it now: accel-agent commit --cancel --persist-id {token}{flags}"


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
def _interruptible(what: str, more: str = "") -> Iterator[None]:
    """Say what Ctrl-C does to a commit: it ends the waiting only."""
    try:
        yield
    except KeyboardInterrupt as error:
        raise CommandError(f"{what} goes on: look at accel-agent show qat status{more}", status=INTERRUPTED) from error
