"""Passwords in files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.cli.errors import CommandError

if TYPE_CHECKING:
    from pathlib import Path


def first_line(path: Path) -> str:
    """Return the password that a file has in its first line. Raises CommandError."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise CommandError(f"the password file {path} can't be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise CommandError(f"the password file {path} is no text in UTF-8") from error
    if not lines or not lines[0]:
        raise CommandError(f"{path} has no first line: write the password there")
    return lines[0]
