"""XPath 1.0 expressions as tokens: which names in one stand for nodes, functions or operators."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

Kind: TypeAlias = Literal["name", "axis", "node-type", "function", "variable", "operator", "step", "value", "other"]

# A prefix is whatever XML allows: of all letters but what ends a name in an expression.
_NCNAME: Final = r"""[^\s\d.:/@$|,()\[\]<>=!*+'"-][^\s:/@$|,()\[\]<>=!*+'"]*+"""
_TOKEN: Final = re.compile(
    rf"""(?P<before>[ \t\r\n]*)(?:
        (?P<value>'[^']*'|"[^"]*"|[0-9]+(?:\.[0-9]*)?|\.[0-9]+)
        |(?P<step>\.\.?)
        |(?P<name>(?:(?P<prefix>{_NCNAME}):(?!:))?(?:{_NCNAME}|(?<=:)\*))
        |(?P<symbol>//|::|!=|<=|>=|.)
    )""",
    re.VERBOSE | re.DOTALL,
)
_NEXT: Final = re.compile(r"[ \t\r\n]*(::|\()")
_NODE_TYPES: Final = {"comment", "text", "processing-instruction", "node"}
_OPERATORS: Final = {"|", "+", "-", "=", "!=", "<", "<=", ">", ">=", "/", "//"}
_BEFORE_OPERANDS: Final = {"", "@", "::", "(", "[", ",", "$"}


@dataclass(frozen=True, slots=True)
class Token:
    """A token, with the space before it.

    A ``name`` is a node test; its ``prefix`` is None where it has none. ``step`` is ``.`` or ``..``, ``value`` a
    literal or number, ``other`` a bracket, comma, ``@``, ``::`` or ``$``, or what no expression has.
    """

    kind: Kind
    text: str
    before: str = ""
    prefix: str | None = None

    @property
    def local(self) -> str:
        """The name without its prefix; may be ``*``."""
        return self.text if self.prefix is None else self.text[len(self.prefix) + 1 :]


def tokens(expression: str) -> list[Token]:
    """Return an expression's tokens (XPath 1.0 section 3.7). Whether it is well-formed is not looked at."""
    found: list[Token] = []
    at, last = 0, Token("other", "")
    while (match := _TOKEN.match(expression, at)) is not None:
        at = match.end()
        last = _token(match, last, _NEXT.match(expression, at))
        found.append(last)
    return found


def renamed(expression: str, prefix_of: Callable[[str], str]) -> str:
    """Return an expression with other prefixes in its node tests; what stands in literals is left as it is."""
    return "".join(
        token.before + (token.text if token.prefix is None else f"{prefix_of(token.prefix)}:{token.local}")
        for token in tokens(expression)
    )


def _token(match: re.Match[str], last: Token, following: re.Match[str] | None) -> Token:
    text, before = match[0][len(match["before"]) :], match["before"]
    if match["value"]:
        return Token("value", text, before)
    if match["step"]:
        return Token("step", text, before)
    operand = last.kind == "operator" or (last.kind == "other" and last.text in _BEFORE_OPERANDS)
    if not operand and (text == "*" or match["name"]):
        return Token("operator", text, before)
    if text == "*":
        return Token("name", text, before)
    if match["symbol"]:
        return Token("operator" if text in _OPERATORS else "other", text, before)
    return Token(_kind(text, last, following[1] if following else ""), text, before, match["prefix"])


def _kind(name: str, last: Token, following: str) -> Kind:
    if last.text == "$":
        return "variable"
    if following == "::":
        return "axis"
    if following == "(":
        return "node-type" if name in _NODE_TYPES else "function"
    return "name"
