"""``load``: a file with configuration, into candidate."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.cli.connection import add_connection, target
from agent.cli.errors import CommandError

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

_EXAMPLES = """\
The file holds <config>, or one top-level element of a model. What it says is merged into candidate: commit brings it
to the gateway.

examples:
  accel-agent load packaging/access-control.xml && accel-agent commit
  accel-agent load qat.xml --host gateway.example --user admin && accel-agent plan --host gateway.example --user admin
"""


def add(commands: Any) -> None:  # noqa: ANN401 - argparse's own type is private
    """Add the command's parser."""
    parser = commands.add_parser(
        "load",
        help="load configuration from a file",
        description="Merge a file with configuration, as XML, into candidate.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="XML file")
    add_connection(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    from agent.cli.client import connect

    where = target(options)
    content = _read(options.file)
    with connect(where) as client:
        client.edit(*content, default_operation="merge")
    return 0


def _read(path: Path) -> list[Element]:
    """Return the top-level elements in a file. Raises OSError, CommandError."""
    from lxml import etree

    from agent.errors import NETCONF

    parser = etree.XMLParser(resolve_entities=False, no_network=True, remove_comments=True, remove_pis=True)
    try:
        root = etree.fromstring(path.read_bytes(), parser)
    except etree.XMLSyntaxError as error:
        raise CommandError(f"{path}: no XML: {error.msg}: correct the file") from error
    return list(root) if root.tag in {f"{{{NETCONF}}}config", "config"} else [root]
