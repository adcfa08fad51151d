"""``load``: a file with configuration, into candidate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.cli.connection import add_connection, target
from agent.cli.errors import RefusedError
from agent.cli.parser import add_command

if TYPE_CHECKING:
    import argparse

_EXAMPLES = """\
The file holds <config>, or one top-level element of a model. What it says is merged into candidate: commit brings it
to the gateway. What is wrong with it is told with its line.

examples:
  accel-agent load packaging/access-control.xml && accel-agent commit
  accel-agent load qat.xml --host gateway.example --user admin && accel-agent plan --host gateway.example --user admin
"""


def add(commands: Any) -> None:  # noqa: ANN401 - argparse's own type is private
    """Add the command's parser."""
    parser = add_command(
        commands,
        "load",
        "load configuration from a file",
        "Merge a file with configuration, as XML, into candidate.",
        _EXAMPLES,
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="XML file")
    add_connection(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    from agent.cli import config_file
    from agent.cli.client import connect

    where = target(options)
    content = config_file.read(options.file)
    with connect(where) as client:
        try:
            client.edit(*content, default_operation="merge")
        except RefusedError as error:
            raise config_file.located(options.file, content, error.errors) from error
    return 0
