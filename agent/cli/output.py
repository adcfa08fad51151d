"""What commands print: tables and lines for people, JSON and XML for programs.

What goes into a pipe has no colour and is never cut.
"""

from __future__ import annotations

import contextlib
import json
import sys
from typing import TYPE_CHECKING, Final

from lxml import etree
from rich.console import Console
from rich.table import Table
from rich.text import Text

from agent.cli.streams import writing

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lxml.etree import _Element as Element
    from rich.console import RenderableType

    from agent.cli.reply import Tree

_UNLIMITED: Final = 1_000_000
STYLES: Final = {"up": "green", "down": "yellow", "failed": "bold red", "unbound": "yellow", "unknown": "red"}


def show(parts: Iterable[RenderableType]) -> None:
    """Print lines and tables on standard output."""
    terminal = sys.stdout.isatty()
    # rich takes a pipe for a terminal where the environment says so; scripts would get escape sequences.
    console = Console(
        width=None if terminal else _UNLIMITED,
        force_terminal=terminal,
        markup=False,
        emoji=False,
        highlight=False,
    )
    with writing():
        with contextlib.nullcontext() if terminal else console.capture() as captured:
            for part in parts:
                console.print(part, soft_wrap=not isinstance(part, Table))
        if captured is not None:
            # rich fills the last column of a table with blanks.
            print("\n".join(text.rstrip() for text in captured.get().splitlines()))


def show_json(tree: Tree) -> None:
    """Print a tree as JSON."""
    with writing():
        print(json.dumps(tree, indent=2, ensure_ascii=False))


def show_xml(element: Element) -> None:
    """Print an element, indented."""
    etree.indent(element)
    with writing():
        print(etree.tostring(element, encoding="unicode"))


def width() -> int | None:
    """Return how many columns there are, None for no limit."""
    return Console().width if sys.stdout.isatty() else None


def table(*columns: str, right: Iterable[str] = ()) -> Table:
    """Return a table with these column headings, those in ``right`` with their values to the right."""
    made = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        made.add_column(column, justify="right" if column in right else "left", overflow="fold")
    return made


def pairs(rows: Iterable[tuple[str, object]]) -> Table:
    """Return a table of names and values without headings."""
    made = Table(box=None, pad_edge=False, show_header=False)
    made.add_column(style="bold")
    made.add_column(overflow="fold")
    for name, value in rows:
        made.add_row(name, plain(value))
    return made


def line(text: str, *, status: str | None = None) -> Text:
    """Return a line of text in which the status, a word at its end, is coloured."""
    shown = Text(plain(text))
    if status is not None and text.endswith(status):
        shown.stylize(STYLES.get(status, ""), len(text) - len(status))
    return shown


def plain(value: object) -> str:
    """Return a value as text that can't steer a terminal: control characters become blanks."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "".join(letter if letter.isprintable() else " " for letter in str(value))
