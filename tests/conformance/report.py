"""Writes docs/conformance.md: each row, its RFC, and the tests that show it or the reason why there are none.

``python -m tests.conformance.report`` writes the file; test_report.py fails while it is not what this makes.
"""

from __future__ import annotations

import re
from itertools import groupby
from pathlib import Path

from tests.conformance.rows import NOT_YET, REMARKS, ROWS, SECTIONS

FOLDER = Path(__file__).parent
DOCUMENT = FOLDER.parents[1] / "docs/conformance.md"
INTRODUCTION = """\
# Conformance

What a client may rely on, a row each: what is asked, where an RFC says what has to come of it, and the tests that ask
a real agent and compare the whole answer. A row without a test has the reason in its place. The tests are in
`tests/conformance`; a row's number is in their names, or in the names of a table's cases. The clients that are run
against the agent are in [clients.md](clients.md).

This file is made by `python -m tests.conformance.report`.
"""
_FUNCTION = re.compile(r"^def (test_([cf]\d{2,3})_\w+)", re.MULTILINE)
_CASE = re.compile(r'[("{ ]"([CF]\d{2,3})[ "]')


def evidence() -> dict[str, list[str]]:
    """Return, by row, the tests in the source: functions, and tables by their file and number of cases."""
    found: dict[str, list[str]] = {}
    for path in sorted(FOLDER.glob("test_*.py")):
        source = path.read_text(encoding="utf-8")
        for name, row in _FUNCTION.findall(source):
            found.setdefault(row.upper(), []).append(f"`{path.stem}::{name}`")
        cases = _CASE.findall(source)
        for row in dict.fromkeys(cases):
            count = cases.count(row)
            found.setdefault(row, []).insert(0, f"`{path.stem}` ({count} {'case' if count == 1 else 'cases'})")
    return found


def document() -> str:
    """Return the document."""
    shown = evidence()
    sections = [(title, list(rows)) for title, rows in groupby(ROWS, _section)]
    counts = ["| section | rows | tested | not yet |", "|---|---|---|---|"]
    tables = []
    for title, rows in sections:
        tested = sum(row in shown for row in rows)
        counts.append(f"| {title} | {len(rows)} | {tested} | {len(rows) - tested} |")
        tables += ["", f"## {title}", "", "| row | RFC | what is asked | test, or reason |", "|---|---|---|---|"]
        tables += [_line(row, shown.get(row)) for row in rows]
    tested = sum(row in shown for row in ROWS)
    counts.append(f"| **all** | **{len(ROWS)}** | **{tested}** | **{len(ROWS) - tested}** |")
    return "\n".join([INTRODUCTION, *counts, *tables, ""])


def _section(row: str) -> str:
    return [title for first, title in SECTIONS.items() if row[0] == first[0] and int(row[1:]) >= int(first[1:])][-1]


def _line(row: str, shown: list[str] | None) -> str:
    rfc, asked = ROWS[row]
    found = ", ".join(shown) if shown else NOT_YET.get(row, "")
    return f"| {row} | {rfc} | {asked} | {'; '.join(filter(None, (found, REMARKS.get(row))))} |"


if __name__ == "__main__":
    DOCUMENT.write_text(document(), encoding="utf-8")
