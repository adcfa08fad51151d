"""Tables of lines that fit into a width: what matters least gives way, and nothing is folded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Sequence

GAP: Final = 2


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table. Those with the highest ``rank`` give way first, together; those with 0 always stay."""

    heading: str
    cells: Sequence[Text]
    rank: int = 0
    right: bool = False

    @property
    def width(self) -> int:
        """How wide its widest cell is."""
        return max(cell_len(self.heading), *(cell_len(cell.plain) for cell in self.cells), 0)


def fitting(columns: Sequence[Column], width: int | None) -> list[Column]:
    """Return the columns that have room in so many, in their order; None is room for all."""
    kept = list(columns)
    while width is not None and used(kept) > width and (last := max(column.rank for column in kept)):
        kept = [column for column in kept if column.rank < last]
    return kept


def used(columns: Sequence[Column]) -> int:
    """Return how wide columns are beside each other."""
    return sum(column.width for column in columns) + GAP * (len(columns) - 1)


def rows(columns: Sequence[Column]) -> list[Text]:
    """Return the lines of a table: its headings, and what is in it."""
    headings = tuple(Text(column.heading, style="bold") for column in columns)
    # To measure a column is to look at all of its cells.
    widths = [column.width for column in columns]
    cells = zip(*(column.cells for column in columns), strict=True)
    return [_row(columns, widths, row) for row in (headings, *cells)]


def _row(columns: Sequence[Column], widths: Sequence[int], cells: Sequence[Text]) -> Text:
    line = Text()
    for column, width, cell in zip(columns, widths, cells, strict=True):
        blanks = " " * (width - cell_len(cell.plain))
        line.append_text(Text.assemble(blanks, cell) if column.right else Text.assemble(cell, blanks))
        line.append(" " * GAP)
    line.rstrip()
    return line
