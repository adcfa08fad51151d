"""Instance paths: in module-name form inside the agent (RFC 7951 6.11), as prefixed XPath in error-paths."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

# A literal, or a name with what stands before it.
STEP: Final = re.compile(
    r"""'[^']*'|"[^"]*"|(?P<before>[/\[])\s*(?:(?P<module>[A-Za-z_][\w.-]*):)?(?P<name>[A-Za-z_][\w.-]*)"""
)
_LITERAL: Final = re.compile(r"'[^']*'|\"[^\"]*\"")
_PREDICATE: Final = re.compile(
    r"""\[\s*(?:([A-Za-z_][\w.-]*):)?([A-Za-z_][\w.-]*)\s*=\s*(?:'([^']*)'|"([^"]*)")\s*\]"""
)


def step(qualified: str, keys: Iterable[tuple[str, str]] = ()) -> str:
    """Return one step of a path: the qualified name with its key predicates."""
    return f"/{qualified}" + "".join(f"[{name}={quoted(value)}]" for name, value in keys)


def quoted(value: str) -> str:
    """Return an XPath expression for a string; one with both kinds of quotes has no literal (XPath 1.0 section 3.7)."""
    for quote in ("'", '"'):
        if quote not in value:
            return f"{quote}{value}{quote}"
    return "concat(" + """, "'", """.join(f"'{part}'" for part in value.split("'")) + ")"


def unquoted(expression: str) -> str:
    """Return the string that a literal, or a concat of literals as ``quoted`` makes it, stands for."""
    return "".join(literal[1:-1] for literal in _LITERAL.findall(expression))


def prefix_all(path: str, prefix_of: Callable[[str], str]) -> tuple[str, tuple[str, ...]]:
    """Return the path with a prefix before every name, and the modules named in it, in order of appearance."""
    module = ""
    modules: dict[str, None] = {}

    def prefixed(match: re.Match[str]) -> str:
        nonlocal module
        if match["name"] is None:
            return match[0]
        own = match["module"] or module
        if match["before"] == "/":
            module = own
        if not own:
            return match[0]
        modules.setdefault(own)
        return f"{match['before']}{prefix_of(own)}:{match['name']}"

    return STEP.sub(prefixed, path), tuple(modules)


def without_last_keys(path: str) -> str:
    """Return a list entry's path as the path of the list."""
    end = 0
    for match in STEP.finditer(path):
        if match["before"] == "/":
            end = match.end()
    return path[:end]


def predicates(text: str) -> list[tuple[str | None, str, str]] | None:
    """Return (prefix, name, value) of each predicate in ``[a='1'][p:b='2']``; None where it is something else."""
    found, at = [], 0
    while at < len(text):
        match = _PREDICATE.match(text, at)
        if match is None:
            return None
        found.append((match[1], match[2], match[3] if match[3] is not None else match[4]))
        at = match.end()
    return found
