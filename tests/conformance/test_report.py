"""docs/conformance.md says what the tests are."""

from __future__ import annotations

from tests.conformance.report import DOCUMENT, document, evidence
from tests.conformance.rows import NOT_YET, ROWS


def test_every_row_has_a_test_or_a_reason() -> None:
    shown = evidence()
    assert set(shown) <= set(ROWS)
    assert set(NOT_YET) <= set(ROWS)
    assert [row for row in ROWS if row not in shown and row not in NOT_YET] == []
    assert [row for row in NOT_YET if row in shown] == []


def test_the_document_is_what_the_tests_say() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == document(), "run `python -m tests.conformance.report`"
