"""The driver's configuration file: reading keys as the driver does, and setting some without touching the rest.

Reading follows adf_ctl's ini_config.cpp: a line that begins with ``#`` is a comment, one with ``[`` a section; of a
value, what follows a ``#`` and all blanks are left out; of a key that comes twice the first counts, and sections of
one name are one. The file is the operator's: every byte that need not change stays. Encoding: the driver knows
none, so bytes pass through as Latin-1.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

# adf_cfg_common.h; 64 in some versions, with the final NUL.
MAX_LENGTH: Final = 63

_SAFE: Final = re.compile(r"[A-Za-z0-9_.,;:+/-]+")
_LINE: Final = re.compile(r"[^\n]*\n|[^\n]+")


@dataclass(frozen=True, slots=True)
class Setting:
    """One key of a section, and the text that the file is to have for it."""

    section: str
    key: str
    value: str


def quoted(text: str) -> str:
    """Return a value in quotation marks, as names are written.

    Raises ValueError for what the driver would read differently: there is no way to escape anything.
    """
    return f'"{_checked(text)}"'


def value_of(data: bytes, section: str, key: str) -> str | None:
    """Return a key's value as the driver reads it, None where the file does not have the key."""
    return section_values(data, section).get(key)


def section_values(data: bytes, section: str) -> dict[str, str]:
    """Return the keys of a section and their values, as the driver reads them."""
    return _values(_keys(_lines(data), section))


def with_settings(data: bytes, settings: Iterable[Setting]) -> bytes:
    """Return the file with these keys set; as it was where it has all of them so already.

    A key that is there gets its new value in its place, a new key comes after the last one of its section, a new
    section at the end of the file. Raises ValueError for a name or value that can't be written.
    """
    sections: dict[str, dict[str, str]] = {}
    for setting in settings:
        for text in (setting.section, setting.key, _bare(setting.value)):
            _checked(text)
        sections.setdefault(setting.section, {})[setting.key] = setting.value
    lines = _lines(data)
    ending = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    for section, wanted in sections.items():
        lines = _with_section(lines, section, wanted, ending)
    return "".join(lines).encode("latin-1")


@dataclass(frozen=True, slots=True)
class _KeyLine:
    """A line with a key, at its index in the file, and the value that the driver reads from it."""

    index: int
    key: str
    value: str


def _lines(data: bytes) -> list[str]:
    return _LINE.findall(data.decode("latin-1"))


def _keys(lines: list[str], section: str) -> list[_KeyLine]:
    found: list[_KeyLine] = []
    current: str | None = None
    for index, line in enumerate(lines):
        if line.startswith("["):
            current = _section_name(line) or current
        elif current == section and not line.startswith("#"):
            key, equals, value = line.partition("=")
            if equals and _sanitized(key):
                found.append(_KeyLine(index, _sanitized(key), _bare(_sanitized(value))))
    return found


def _values(keys: list[_KeyLine]) -> dict[str, str]:
    values: dict[str, str] = {}
    for line in keys:
        # A key without a value is none for the driver.
        if line.value:
            values.setdefault(line.key, line.value)
    return values


def _with_section(lines: list[str], section: str, wanted: dict[str, str], ending: str) -> list[str]:
    keys = _keys(lines, section)
    values = _values(keys)
    missing = {key: value for key, value in wanted.items() if values.get(key) != _bare(value)}
    changed = list(lines)
    for line in keys:
        value = missing.pop(line.key, None)
        if value is not None:
            changed[line.index] = _replaced(lines[line.index], value)
    if not missing:
        return changed
    fresh = [f"{key} = {value}{ending}" for key, value in missing.items()]
    heads = [n for n, line in enumerate(lines) if line.startswith("[") and _section_name(line) == section]
    if heads:
        last = max([*heads, *(line.index for line in keys)])
        return [*changed[:last], _ended(changed[last], ending), *fresh, *changed[last + 1 :]]
    if changed:
        changed[-1] = _ended(changed[-1], ending)
        if changed[-1].strip():
            changed.append(ending)
    return [*changed, f"[{section}]{ending}", *fresh]


def _replaced(line: str, value: str) -> str:
    """Return a key's line with another value: blanks, comment and line end stay."""
    before, equals, rest = line.partition("=")
    body = rest.rstrip("\r\n")
    old, hash_sign, comment = body.partition("#")
    leading = old[: len(old) - len(old.lstrip())]
    trailing = old[len(leading) + len(old.strip()) :]
    return f"{before}{equals}{leading}{value}{trailing}{hash_sign}{comment}{rest[len(body) :]}"


def _ended(line: str, ending: str) -> str:
    return line if line.endswith("\n") else line + ending


def _section_name(line: str) -> str | None:
    text = _sanitized(line)
    return text[1:].partition("]")[0] if "]" in text else None


def _sanitized(text: str) -> str:
    return text.partition("#")[0].replace(" ", "").replace("\r", "").replace("\n", "")


def _bare(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] == '"' else value


def _checked(text: str) -> str:
    if _SAFE.fullmatch(text) is None or len(text) > MAX_LENGTH:
        raise ValueError(f"{text!r} can't be written into a driver's configuration file")
    return text
