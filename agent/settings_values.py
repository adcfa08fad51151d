"""What the values of the settings file may be: a parser takes a TOML value, or raises ValueError in words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeVar
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable

MIB: Final = 1024 * 1024
LARGEST_PORT: Final = 65535
_UNITS: Final = {"": 1, "B": 1, "KiB": 1024, "MiB": MIB, "GiB": 1024 * MIB}
_ADDRESS: Final = re.compile(r"(?:\[([0-9A-Fa-f:.]+(?:%\w+)?)\]|([^\s:\[\]]+)):([0-9]{1,5})", re.ASCII)
_SIZE: Final = re.compile(r"([0-9]{1,15}) ?([A-Za-z]*)", re.ASCII)
# systemd.unit(5): the characters of a unit's name, and its length.
_API: Final = re.compile(r"https://(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(?::([0-9]{1,5}))?/?", re.ASCII)
# As openssl prints it ("sha256 Fingerprint=AB:CD:…", before version 3 in capitals), or the digits alone.
_SHA256: Final = re.compile(r"(?:sha256 fingerprint=)?((?:[0-9a-f]{2}:?){31}[0-9a-f]{2})", re.ASCII | re.IGNORECASE)
_SERVICE: Final = re.compile(r"[A-Za-z0-9:_.\\@-]{1,247}\.service", re.ASCII)

_OWNER: Final = 0o600
_ALL: Final = 0o666

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Address:
    """A host name or IP address, and a TCP port; port 0 takes a free one."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Control:
    """Who starts and stops IPsec; ``name`` is a program's path on the managed machine, or a unit of its systemd."""

    kind: Literal["auto", "starter", "program", "systemd"]
    name: str | None = None

    def __str__(self) -> str:
        return self.kind if self.name is None else f"{self.kind}:{self.name}"


AUTO: Final = Control("auto")


def parse_address(value: object) -> Address:
    """Return the address of ``HOST:PORT`` or ``[IPV6]:PORT``."""
    match = _ADDRESS.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError(f"must be HOST:PORT or [IPV6-ADDRESS]:PORT, not {value!r}")
    if int(match[3]) > LARGEST_PORT:
        raise ValueError(f"has no port {match[3]}: ports go from 0 to {LARGEST_PORT}")
    return Address(match[1] or match[2], int(match[3]))


def parse_size(value: object) -> int:
    """Return the bytes of a whole number, or of a text such as ``16 MiB``."""
    if type(value) is int:
        return value
    match = _SIZE.fullmatch(value) if isinstance(value, str) else None
    if match is None or match[2] not in _UNITS:
        raise ValueError(f'must be bytes, or a text with B, KiB, MiB or GiB such as "16 MiB", not {value!r}')
    return int(match[1]) * _UNITS[match[2]]


def parse_mode(value: object) -> int:
    """Return the permission bits of a text such as ``0660``."""
    match = re.fullmatch(r"0?([0-7]{3})", value) if isinstance(value, str) else None
    if match is None:
        raise ValueError(f'must be permissions as a text, such as "0660", not {value!r}')
    mode = int(match[1], 8)
    if mode & _OWNER != _OWNER or mode & ~_ALL:
        raise ValueError(f"must let the owner read and write (0600 and more, up to 0666), not {value!r}")
    return mode


def parse_path(value: object) -> Path:
    """Return an absolute path."""
    return Path(parse_absolute(value))


def parse_absolute(value: object) -> str:
    """Return the text of an absolute path."""
    if not isinstance(value, str) or not value.startswith("/") or "\0" in value:
        raise ValueError(f"must be an absolute path, not {value!r}")
    return value


def parse_optional_path(value: object) -> Path | None:
    """Return an absolute path, or None for an empty text."""
    return None if value == "" else parse_path(value)


def parse_name(value: object) -> str | None:
    """Return a name, or None for an empty text."""
    if not isinstance(value, str) or value.strip() != value:
        raise ValueError(f"must be a name, not {value!r}")
    return value or None


def parse_user_pattern(value: object) -> str:
    """Return a path in which ``%u`` stands for the user: one file for all would let anyone in as any user."""
    pattern = parse_absolute(value)
    if pattern.count("%") != 1 or "%u" not in pattern:
        raise ValueError(f"must hold %u once, where the user's name goes, and no other %, not {value!r}")
    return pattern


def parse_control(value: object) -> Control:
    """Return who controls IPsec."""
    kind, _, argument = value.partition(":") if isinstance(value, str) else ("", "", "")
    if kind == "systemd":
        if not _SERVICE.fullmatch(argument):
            raise ValueError(f"must name a service of systemd, as in systemd:strongswan.service, not {value!r}")
        return Control("systemd", argument)
    if kind == "program" and argument:
        return Control("program", parse_absolute(argument))
    if value == "auto":
        return AUTO
    if value == "starter":
        return Control("starter")
    raise ValueError(f"must be auto, starter, systemd:UNIT or program:PATH, not {value!r}")


def parse_api(value: object) -> str | None:
    """Return the URL of an HTTPS server without a path, or None for an empty text."""
    if value == "":
        return None
    match = _API.fullmatch(value) if isinstance(value, str) else None
    if match is None or not isinstance(value, str):
        raise ValueError(f"must be https://HOST or https://HOST:PORT, not {value!r}")
    if not 0 < int(match[1] or 1) <= LARGEST_PORT:
        raise ValueError(f"has no port {match[1]}: ports go from 1 to {LARGEST_PORT}")
    try:
        (urlsplit(value).hostname or "").encode("idna")
    except ValueError:
        raise ValueError(f"has no host's name or address: {value!r}") from None
    return value.rstrip("/")


def parse_sha256(value: object) -> str | None:
    """Return the 64 hex digits of a SHA-256 digest, or None for an empty text.

    Colons may be in it, and what openssl prints before it: "sha256 Fingerprint=".
    """
    if value == "":
        return None
    found = _SHA256.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None:
        raise ValueError(f"must be a SHA-256 digest: 32 pairs of hex digits with or without colons, not {value!r}")
    return found[1].replace(":", "").lower()


def list_of(parse: Callable[[object], T], *, at_least: int = 0) -> Callable[[object], tuple[T, ...]]:
    """Return the parser of an array."""

    def parse_list(value: object) -> tuple[T, ...]:
        if not isinstance(value, list):
            raise ValueError(f"must be a list in [ ], not {value!r}")
        if len(value) < at_least:
            raise ValueError(f"must hold at least {at_least}")
        return tuple(parse(item) for item in value)

    return parse_list


def within(low: int, high: int, *, parse: Callable[[object], int] | None = None) -> Callable[[object], int]:
    """Return the parser of a whole number from ``low`` to ``high``."""

    def parse_number(value: object) -> int:
        number = parse(value) if parse else value
        if type(number) is not int or not low <= number <= high:
            raise ValueError(f"must be a whole number from {low} to {high}, not {value!r}")
        return number

    return parse_number


def one_of(*allowed: str) -> Callable[[object], str]:
    """Return the parser of what is one of some words."""

    def parse_word(value: object) -> str:
        if not isinstance(value, str) or value not in allowed:
            raise ValueError(f"must be one of {', '.join(map(_toml, allowed))}, not {value!r}")
        return value

    return parse_word


def parse_flag(value: object) -> bool:
    """Return a TOML boolean."""
    if not isinstance(value, bool):
        raise ValueError(f"must be true or false, not {value!r}")
    return value


def only(allowed: T, *, instead_of: str) -> Callable[[object], T]:
    """Return the parser of what has one value in this release: a setting that would be ignored is refused.

    ``instead_of`` says what other values would ask for.
    """

    def parse_only(value: object) -> T:
        if value != (list(allowed) if isinstance(allowed, tuple) else allowed):
            raise ValueError(f"{instead_of} is not in this release: only {_toml(allowed)} is, not {value!r}")
        return allowed

    return parse_only


def _toml(value: object) -> str:
    return "[]" if value == () else f'"{value}"'
