"""Following the kernel's log: each error of a QAT device once, also across restarts of the agent.

Where the reader is, is plain data that the caller stores: in /dev/kmsg the boot's id and the last record's number, in
a file its inode, a hash of its first line and the offset of the next one. A position of another boot, or of a file
that was rotated or truncated since, is as good as none: reading begins anew.
"""

from __future__ import annotations

import errno
import hashlib
from contextlib import closing
from itertools import chain, islice
from typing import TYPE_CHECKING, Final, TypeAlias

from translators.qat.kernel_log_lines import DeviceError, error_of, errors_in, record_line, text_lines
from translators.sources import SourceError, read_attribute

if TYPE_CHECKING:
    from collections.abc import Iterable

    from translators.host import Host, Piece

KMSG: Final = "/dev/kmsg"
BOOT_ID: Final = "/proc/sys/kernel/random/boot_id"
# What one reading takes; the rest comes with the next one.
RECORDS_LIMIT: Final = 500_000
ERRORS_LIMIT: Final = 1000
PIECE_LIMIT: Final = 4 * 1024 * 1024
_PART: Final = 64 * 1024
_HEAD_LIMIT: Final = 4096

Position: TypeAlias = dict[str, str | int]
Errors: TypeAlias = tuple[DeviceError, ...]


class KernelLog:
    """The log at a path: /dev/kmsg, or a file with the lines that dmesg and syslog write, or with its records."""

    def __init__(self, host: Host, path: str = KMSG) -> None:
        self._host = host
        self._path = path

    def read(self, position: Position | None) -> tuple[Errors, Position | None]:
        """Return the errors after a position, and the position after them; nothing new where there is no log.

        Without a position reading begins at the beginning of what is there. Lines that were overwritten or cut off
        before they were read are told as an error of their own, without a device.

        Raises SourceError.
        """
        try:
            return self._read_device(position)
        except (FileNotFoundError, NotADirectoryError):
            return (), position
        except OSError as error:
            if error.errno != errno.ENODEV:
                raise SourceError(self._path, error.strerror or str(error)) from error
        try:
            return self._read_file(position)
        except FileNotFoundError:
            return (), position
        except OSError as error:
            raise SourceError(self._path, error.strerror or str(error)) from error

    def _read_device(self, position: Position | None) -> tuple[Errors, Position | None]:
        with closing(self._host.messages(self._path)) as messages:
            records = islice(messages, RECORDS_LIMIT)
            first = tuple(islice(records, 1))
            boot = read_attribute(self._host, BOOT_ID)
            if not boot:
                raise SourceError(BOOT_ID, "is not there: without it, lines can't be told from those of another boot")
            known = position is not None and position.get("boot") == boot
            begun = _number(position, "sequence") if known else -1
            errors, after = _new_errors(chain(first, records), begun, known=known)
        return errors, position if after == begun else {"boot": boot, "sequence": after}

    def _read_file(self, position: Position | None) -> tuple[Errors, Position | None]:
        head = self._host.piece(self._path, 0, limit=_HEAD_LIMIT)
        offset, lost = _offset(position, head)
        errors = (
            [_lost(f"{self._path} is another file now: its predecessor's last lines may be unread")] if lost else []
        )
        piece = self._host.piece(self._path, offset, limit=PIECE_LIMIT)
        if piece.inode != head.inode:
            raise OSError(errno.ESTALE, "was replaced while it was read", self._path)
        end = piece.data.rfind(b"\n") + 1
        if end == 0 and len(piece.data) == PIECE_LIMIT:
            end = PIECE_LIMIT  # no line is that long: it is skipped
        done = 0
        while done < end and len(errors) < ERRORS_LIMIT:
            part = _part(piece.data, done, end)
            errors += errors_in(text_lines(piece.data[done:part]))
            done = part
        return tuple(errors), {"inode": head.inode, "first-line": _first_line(head), "offset": offset + done}


def _new_errors(records: Iterable[bytes], after: int, *, known: bool) -> tuple[Errors, int]:
    """Return the errors in records after a number, and the last one's number; ``known``: that one was read before."""
    errors: list[DeviceError] = []
    for record in records:
        line = record_line(record, after=after)
        if line is None or line.sequence is None:
            continue
        missing = line.sequence - after - 1
        if known and missing:
            errors.append(_lost(f"{missing} lines of the kernel log were overwritten before they were read"))
        after, known = line.sequence, True
        error = error_of(line)
        if error is not None:
            errors.append(error)
        if len(errors) >= ERRORS_LIMIT:
            break
    return tuple(errors), after


def _offset(position: Position | None, head: Piece) -> tuple[int, bool]:
    """Return where to go on in a file, and whether that is not where the reader had been."""
    offset = _number(position, "offset")
    if position is None or offset <= 0:
        return 0, False
    same = (position.get("inode"), position.get("first-line")) == (head.inode, _first_line(head))
    return (offset, False) if same and offset <= head.size else (0, True)


def _part(data: bytes, start: int, end: int) -> int:
    """Return where a part of a piece ends that begins at ``start``: after a line, with the lines that belong to it."""
    cut = data.find(b"\n", start + _PART, end)
    while cut >= 0 and data.startswith(b" ", cut + 1):
        cut = data.find(b"\n", cut + 1, end)
    return end if cut < 0 else cut + 1


def _first_line(head: Piece) -> str:
    """Return a hash of a file's first line, of its beginning where that is longer; nothing before it is complete."""
    line, newline, _ = head.data.partition(b"\n")
    return hashlib.sha256(line).hexdigest() if newline or len(line) == _HEAD_LIMIT else ""


def _number(position: Position | None, name: str) -> int:
    value = None if position is None else position.get(name)
    return value if isinstance(value, int) else -1


def _lost(text: str) -> DeviceError:
    return DeviceError(None, "other", "warning", text, "errors of devices may have gone unseen: look at the devices")
