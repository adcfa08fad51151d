# ruff: noqa: PTH102, PTH104, PTH106, PTH108, PTH112, PTH114, PTH120, PTH123, PTH208, PTH211
"""Files below a sysroot.

A file is replaced whole: written in run/simulator/unfinished, then renamed. So nobody reads half a file, and
a program that is killed leaves at worst a temporary file, which the next one removes. Who changes anything
holds ``locked``, a lock of the kernel that ends with its holder.

Plain ``os`` throughout: importing pathlib takes longer than all that the programs do.
"""

import fcntl
import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

STATE = "run/simulator"
COMMANDS = f"{STATE}/commands.log"
UNFINISHED = f"{STATE}/unfinished"


class MachineError(Exception):
    """A file of the machine is not what it must be; the text names it."""


@contextmanager
def locked(root: str) -> "Iterator[None]":
    """Keep every other program, and the hardware, from changing the machine. Raises OSError."""
    descriptor = os.open(f"{root}/{STATE}/lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        for name in names(root, UNFINISHED):
            discard(root, f"{UNFINISHED}/{name}")
        yield
    finally:
        os.close(descriptor)


def read(root: str, name: str) -> bytes | None:
    """Return a file's bytes, None where there is none. Raises OSError."""
    try:
        with open(f"{root}/{name}", "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def exists(root: str, name: str) -> bool:
    """Return whether anything is there."""
    return os.path.lexists(f"{root}/{name}")


def names(root: str, name: str) -> list[str]:
    """Return the names in a directory, sorted; none where there is no directory."""
    try:
        return sorted(os.listdir(f"{root}/{name}"))
    except FileNotFoundError:
        return []


def publish(root: str, name: str, data: bytes, mode: int = 0o644) -> None:
    """Make a file have this content, in one instant. Its directory is made if need be. Raises OSError."""
    if read(root, name) == data:
        return
    temporary = f"{root}/{UNFINISHED}/{os.getpid()}"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "wb") as file:
        os.fchmod(descriptor, mode)
        file.write(data)
    try:
        os.rename(temporary, f"{root}/{name}")
    except FileNotFoundError:
        _make_directory(root, os.path.dirname(name))
        os.rename(temporary, f"{root}/{name}")


def link(root: str, name: str, target: str) -> None:
    """Make a symbolic link, and its directory if need be. One that is there stays. Raises OSError."""
    _make_directory(root, os.path.dirname(name))
    with suppress(FileExistsError):
        os.symlink(target, f"{root}/{name}")


def append(root: str, name: str, line: str) -> None:
    """Add a line to a file in one write, so that lines of several programs never mix. Raises OSError."""
    descriptor = os.open(f"{root}/{name}", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(descriptor, f"{line}\n".encode())
    finally:
        os.close(descriptor)


def discard(root: str, name: str) -> None:
    """Remove a file or a link, if it is there. Raises OSError."""
    with suppress(FileNotFoundError):
        os.unlink(f"{root}/{name}")


def discard_tree(root: str, name: str) -> None:
    """Remove a directory with all that is in it, if it is there. Raises OSError."""
    for folder, directories, files in os.walk(f"{root}/{name}", topdown=False):
        for entry in files:
            os.unlink(f"{folder}/{entry}")
        for entry in directories:
            path = f"{folder}/{entry}"
            if os.path.islink(path):
                os.unlink(path)
        os.rmdir(folder)


def _make_directory(root: str, name: str) -> None:
    # The root itself is never made: a process that outlives the machine must not bring its directory back.
    if not name or os.path.isdir(f"{root}/{name}"):
        return
    _make_directory(root, os.path.dirname(name))
    with suppress(FileExistsError):
        os.mkdir(f"{root}/{name}")
