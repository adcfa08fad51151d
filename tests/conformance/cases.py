"""What a row of a table says: what is asked when, and what comes of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tests.conformance.session import edit, top

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.conformance.session import Session


@dataclass(frozen=True, slots=True)
class Case:
    """A request to a session that has ``before`` below top in running; ``after`` is candidate then, whole.

    ``name`` begins with the row's number; ``outcome`` is ``ok`` or the error as session.refusals writes it.
    """

    name: str
    request: str
    outcome: str = "ok"
    before: str = ""
    after: str | None = None

    def check(self, session: Session) -> None:
        """Ask, and compare."""
        if self.before:
            session.fill(self.before)
        unchanged = session.config()
        outcome = session.outcome(self.request)
        assert outcome == self.outcome, outcome
        found = session.config()
        if self.after is not None:
            assert found == (f"<top>{self.after}</top>" if self.after else ""), found
        elif self.outcome != "ok":
            assert found == unchanged, found


@dataclass(frozen=True, slots=True)
class Query:
    """A subtree filter on what is below top in running, and what is selected there."""

    name: str
    filter: str
    data: str
    before: str

    def check(self, session: Session) -> None:
        """Ask, and compare."""
        session.fill(self.before)
        found = session.config(self.filter)
        assert found == self.data, found


def change(content: str, default: str = "", options: str = "") -> str:
    """Return the edit of candidate below module t's ``top``."""
    return edit(top(content), default=default, options=options)


def table(cases: Iterable[Case | Query]) -> pytest.MarkDecorator:
    """Return the mark that makes each case a test."""
    cases = tuple(cases)
    return pytest.mark.parametrize("case", cases, ids=[case.name for case in cases])
