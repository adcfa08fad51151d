"""Reading a source of state: its text, None where there is none, SourceError where it can't be used."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from translators.host import Host

ATTRIBUTE_LIMIT = 64 * 1024
TEXT_LIMIT = 16 * 1024 * 1024
_SHOWN = 60
# Characters outside of XML 1.0, section 2.2.
_NO_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


class SourceError(Exception):
    """A source exists and can't be used: ``source`` is its path, ``reason`` what is wrong with it."""

    def __init__(self, source: str, reason: str) -> None:
        super().__init__(f"{source}: {reason}")
        self.source = source
        self.reason = reason


def read_bytes(host: Host, path: str, *, limit: int = TEXT_LIMIT) -> bytes | None:
    """Return a file's bytes, None where there is none. Raises SourceError."""
    try:
        return host.read(path, limit=limit)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise SourceError(path, error.strerror or str(error)) from error


def read_beginning(host: Host, path: str, *, limit: int) -> bytes | None:
    """Return a regular file's first bytes, ``limit`` at most; None where there is no file. Raises SourceError."""
    try:
        return host.piece(path, 0, limit=limit).data
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise SourceError(path, error.strerror or str(error)) from error


def read_text(host: Host, path: str, *, limit: int = TEXT_LIMIT) -> str | None:
    """Return a file's text, None where there is none. Raises SourceError, also for what is no text."""
    data = read_bytes(host, path, limit=limit)
    return None if data is None else decoded(data, path)


def read_attribute(host: Host, path: str) -> str | None:
    """Return what a one-line file says, without blanks around it; None where there is no file.

    Raises SourceError.
    """
    text = read_text(host, path, limit=ATTRIBUTE_LIMIT)
    return None if text is None else text.strip()


def read_link_name(host: Host, path: str) -> str | None:
    """Return the last part of a link's target, None where there is no link. Raises SourceError."""
    try:
        name = host.link(path).rstrip("/").rpartition("/")[2]
        return decoded(name.encode("utf-8", "surrogateescape"), path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise SourceError(path, error.strerror or str(error)) from error


def read_names(host: Host, path: str) -> tuple[str, ...] | None:
    """Return the names in a directory, sorted; None where there is no directory. Raises SourceError."""
    try:
        return host.names(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise SourceError(path, error.strerror or str(error)) from error


def decoded(data: bytes, source: str) -> str:
    """Return bytes as text. Raises SourceError where they are not UTF-8 or hold what no XML can carry."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise SourceError(source, f"is not UTF-8 at byte {error.start}") from error
    found = _NO_TEXT.search(text)
    if found is not None:
        raise SourceError(source, f"has the character {found[0]!r} at {found.start()}, which no text has")
    return text


def shown(text: str) -> str:
    """Return the beginning of a text for a message, with everything that does not print escaped."""
    cut = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
    return repr(cut)
