"""Values as text for people: what is not known is a dash, never a 0."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

from agent.cli.output import plain

if TYPE_CHECKING:
    from collections.abc import Mapping

UNKNOWN: Final = "–"


def value(of: Any) -> str:  # noqa: ANN401 - any of JSON's types
    """Return a value as text that can't steer a terminal."""
    return UNKNOWN if of is None else plain(of)


def text(of: Any) -> Text:  # noqa: ANN401 - same
    """Return a value as text without a style."""
    return Text(value(of))


def styled(word: str | None, styles: Mapping[str, str], other: str = "") -> Text:
    """Return a word in its style, or in the one that all others have."""
    return Text(value(word), style="dim" if word is None else styles.get(word, other))
