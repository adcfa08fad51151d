"""/proc/crypto: the kernel's table of algorithms (Linux, ``c_show`` in crypto/proc.c).

The order of the table is the kernel's own, which decides between equal priorities: what was registered last comes
first, and the first with the highest priority is taken (``__crypto_alg_lookup`` in crypto/api.c).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from translators.sources import SourceError, read_text, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from translators.host import Host

PROC_CRYPTO: Final = "/proc/crypto"
# Some 5000 algorithms; a machine has a few hundred at most.
LIMIT: Final = 2 * 1024 * 1024

# Every kernel since 2.6.20 says these of every algorithm.
_REQUIRED: Final = ("name", "driver", "module", "priority", "type")
# An algorithm that is asked for and not yet there, or being tested: the placeholder of one, and none itself.
_PLACEHOLDER: Final = "larval"
# Who asks for a cipher or a hash gets either form of it, so both compete (CRYPTO_ALG_TYPE_SKCIPHER_MASK and others
# in crypto/internal.h and include/crypto).
_INTERCHANGEABLE: Final = {
    "ablkcipher": "skcipher",
    "blkcipher": "skcipher",
    "givcipher": "skcipher",
    "lskcipher": "skcipher",
    "shash": "ahash",
    "scomp": "acomp",
    "nivaead": "aead",
}
_NUMBER: Final = re.compile(r"-?[0-9]{1,10}")
_INT32: Final = range(-(2**31), 2**31)
_UINT32: Final = range(2**32)


@dataclass(frozen=True, slots=True)
class Algorithm:
    """One implementation of an algorithm. None: the kernel does not say so of this type, or is too old to.

    ``references``: 1 for being registered and one for each user. Sizes are in bytes. ``self_test`` is whether it
    passed.
    """

    name: str
    driver: str
    module: str
    priority: int
    type: str
    references: int | None = None
    self_test: bool | None = None
    internal: bool | None = None
    asynchronous: bool | None = None
    block_size: int | None = None
    min_key_size: int | None = None
    max_key_size: int | None = None

    @property
    def kind(self) -> str:
        """The type that a user asks for to get it."""
        return _INTERCHANGEABLE.get(self.type, self.type)

    @property
    def usable(self) -> bool:
        """Whether the kernel gives it to who asks for the algorithm by its name."""
        return not self.internal and self.self_test is not False


@dataclass(frozen=True)
class Table:
    """All implementations, in the kernel's order."""

    algorithms: tuple[Algorithm, ...]

    def selected(self, name: str, kind: str) -> Algorithm | None:
        """Return what a new user of an algorithm gets, None where it is not in the table."""
        return self._selected.get((name, kind))

    def implementations(self, name: str) -> tuple[Algorithm, ...]:
        """Return all implementations of an algorithm, usable or not."""
        return tuple(entry for entry in self.algorithms if entry.name == name)

    @cached_property
    def _selected(self) -> dict[tuple[str, str], Algorithm]:
        best: dict[tuple[str, str], Algorithm] = {}
        for entry in self.algorithms:
            key = (entry.name, entry.kind)
            if entry.usable and (key not in best or entry.priority > best[key].priority):
                best[key] = entry
        return best


def read(host: Host) -> Table | None:
    """Return the kernel's table, None where there is none. Raises SourceError."""
    text = read_text(host, PROC_CRYPTO, limit=LIMIT)
    return None if text is None else parse(text)


def parse(text: str) -> Table:
    """Return the table that a text shows. Raises SourceError."""
    if text and not text.endswith("\n"):
        raise SourceError(PROC_CRYPTO, "is cut off: its last line has no end")
    found: dict[tuple[str, str, str], Algorithm] = {}
    for line, fields in _entries(text):
        if fields.get("type") != _PLACEHOLDER:
            entry = _algorithm(line, fields)
            # When an algorithm is registered while the file is read, the kernel shows another one twice.
            found.setdefault((entry.name, entry.driver, entry.type), entry)
    return Table(tuple(found.values()))


def _entries(text: str) -> Iterator[tuple[int, dict[str, str]]]:
    """Return each entry's first line number and its fields. An entry begins with a name or after an empty line."""
    start = 0
    fields: dict[str, str] = {}
    for number, whole in enumerate(text.split("\n"), 1):
        line = whole.strip()
        key, colon, value = line.partition(":")
        key = key.rstrip()
        if fields and (not line or key == "name"):
            yield start, fields
            fields = {}
        if not line:
            continue
        if not colon or not line.isprintable():
            raise SourceError(PROC_CRYPTO, f"line {number}: {shown(line)} is no property of an algorithm")
        if not fields:
            if key != "name":
                raise SourceError(PROC_CRYPTO, f"line {number}: {shown(line)} belongs to no named algorithm")
            start = number
        if key in fields:
            raise SourceError(PROC_CRYPTO, f"line {number}: {shown(key)} is there twice in one entry")
        fields[key] = value.lstrip()


def _algorithm(line: int, fields: dict[str, str]) -> Algorithm:
    for key in _REQUIRED:
        if not fields.get(key):
            raise SourceError(PROC_CRYPTO, f"line {line}: the entry of {shown(fields['name'])} has no {key}")
    self_test = fields.get("selftest")
    return Algorithm(
        name=fields["name"],
        driver=fields["driver"],
        module=fields["module"],
        priority=_number(line, fields["name"], "priority", fields["priority"], _INT32),
        type=fields["type"],
        references=_optional_number(line, fields, "refcnt"),
        self_test=None if self_test is None else self_test == "passed",
        internal=_boolean(line, fields, "internal"),
        asynchronous=_boolean(line, fields, "async"),
        block_size=_optional_number(line, fields, "blocksize"),
        min_key_size=_optional_number(line, fields, "min keysize"),
        max_key_size=_optional_number(line, fields, "max keysize"),
    )


def _optional_number(line: int, fields: dict[str, str], key: str) -> int | None:
    value = fields.get(key)
    return None if value is None else _number(line, fields["name"], key, value, _UINT32)


def _number(line: int, name: str, key: str, text: str, allowed: range) -> int:
    if _NUMBER.fullmatch(text) and (number := int(text)) in allowed:
        return number
    raise SourceError(PROC_CRYPTO, f"line {line}: {shown(text)} is no {key} of {shown(name)}")


def _boolean(line: int, fields: dict[str, str], key: str) -> bool | None:
    value = fields.get(key)
    if value not in {None, "yes", "no"}:
        raise SourceError(PROC_CRYPTO, f"line {line}: {shown(value or '')} is no yes or no for {key}")
    return None if value is None else value == "yes"
