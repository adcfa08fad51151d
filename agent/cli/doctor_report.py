"""The findings of ``doctor``, as a table for people and as a tree for programs."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from rich.text import Text

from agent.cli.output import line, plain, table
from translators.doctor.finding import NOT_APPLICABLE, OK, PROBLEM, UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType

    from agent.cli.reply import Tree
    from translators.doctor.finding import Check, Finding

    Found = Sequence[tuple[Check, Finding]]

_WORDS: Final = {OK: "ok", PROBLEM: "problem", NOT_APPLICABLE: "not applicable", UNKNOWN: "can't tell"}
_STYLES: Final = {OK: "green", PROBLEM: "bold red", NOT_APPLICABLE: "dim", UNKNOWN: "yellow"}


def render(found: Found, *, root: bool) -> Iterator[RenderableType]:
    """Return a row for each finding, what to do below what was found, and how many of each verdict there are."""
    rows = table("CHECK", "VERDICT", "FINDING")
    before = None
    for check, finding in found:
        text = Text(plain(finding.text))
        if finding.action is not None:
            text.append(f"\n→ {plain(finding.action)}", style="bold" if finding.verdict == PROBLEM else "")
        verdict = Text(_WORDS[finding.verdict], style=_STYLES[finding.verdict])
        rows.add_row(check.title if check.title != before else "", verdict, text)
        before = check.title
    yield rows
    counts: Counter[str] = Counter(finding.verdict for _, finding in found)
    yield line(", ".join(f"{counts[verdict]} {word}" for verdict, word in _WORDS.items()))
    lacking = [] if root else [check.title for check, _ in _lacking(found)]
    if lacking:
        yield line(f"Not root: for all of {', '.join(dict.fromkeys(lacking))}, run this as root.")


def tree(found: Found, *, sysroot: str, root: bool) -> Tree:
    """Return the findings for programs. ``action`` is there only where there is something to do.

    ``needs-root`` are the checks that could not see all, where this is not run as root.
    """
    return {
        "sysroot": sysroot,
        "needs-root": [] if root else list(dict.fromkeys(check.name for check, _ in _lacking(found))),
        "problems": sum(finding.verdict == PROBLEM for _, finding in found),
        "findings": [
            {
                "check": check.name,
                "title": check.title,
                "verdict": finding.verdict,
                "text": finding.text,
                **({"action": finding.action} if finding.action is not None else {}),
            }
            for check, finding in found
        ],
    }


def _lacking(found: Found) -> Iterator[tuple[Check, Finding]]:
    """Yield the findings that may be such because only root may read what was looked at."""
    return ((check, finding) for check, finding in found if check.root and finding.verdict == UNKNOWN)
