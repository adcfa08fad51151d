"""Where the keys of a TOML document stand: tomllib gives values without lines, and an error must name one."""

from __future__ import annotations

import re
import tomllib

KeyPath = tuple[str, ...]

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_PART = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')"""
_KEY = rf"(?P<key>{_PART}(?:[ \t]*\.[ \t]*{_PART})*)"
_STATEMENT = re.compile(rf"(?P<table>\[\[?)[ \t]*{_KEY}[ \t]*\]\]?|{_KEY.replace('<key>', '<name>')}[ \t]*=")
# The pieces of a value. Strings and comments come first: they hide brackets and line ends.
_TOKEN = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}(?!")'
    r"|'''.*?'{3,5}(?!')"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'"
    r"|#[^\n]*"
    r"|.",
    re.DOTALL,
)


def key_lines(text: str) -> dict[KeyPath, int]:
    """Return the line, from 1, of each table header and ``key = value`` in a document that tomllib accepts.

    A key inside an inline table is not listed: ask for the table's key.
    """
    lines: dict[KeyPath, int] = {}
    table: KeyPath = ()
    position = _end(_BLANK, text, 0)
    while (statement := _STATEMENT.match(text, position)) is not None:
        if statement["table"]:
            table = path = _key_path(statement["key"])
        else:
            path = table + _key_path(statement["name"])
        lines.setdefault(path, text.count("\n", 0, position) + 1)
        position = _end(_BLANK, text, _value_end(text, statement.end()))
    return lines


def _key_path(key: str) -> KeyPath:
    """Take a dotted key apart; quotes and escapes are tomllib's business."""
    path: list[str] = []
    inner: object = tomllib.loads(f"{key} = 0")
    while isinstance(inner, dict):
        ((name, inner),) = inner.items()
        path.append(name)
    return tuple(path)


def _value_end(text: str, position: int) -> int:
    """Return where the line ends on which the value ends that starts at ``position``."""
    depth = 0
    for token in _TOKEN.finditer(text, position):
        if token[0] in ("[", "{"):
            depth += 1
        elif token[0] in ("]", "}"):
            depth -= 1
        elif token[0] == "\n" and depth == 0:
            return token.end()
    return len(text)


def _end(pattern: re.Pattern[str], text: str, position: int) -> int:
    found = pattern.match(text, position)
    return found.end() if found else position
