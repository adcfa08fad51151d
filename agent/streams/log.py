"""The log of past notifications, bounded and durable (RFC 5277 section 3.3).

It is some files of lines of JSON, the segments; when the newest one is full, a new one is begun and the oldest one
dropped. An event is written before anybody is sent it, by one write(2) and without fsync: what was sent outlives the
agent, and not always the machine's power. What can't be written is in memory all the same, where all of the log is.
"""

from __future__ import annotations

import errno
import json
import logging
import os
from bisect import bisect_left, bisect_right
from collections import deque
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

log = logging.getLogger(__name__)

SEGMENTS: Final = 4
_MOST_NUMBERS: Final = 2**63
_ENCODER: Final = json.JSONEncoder(separators=(",", ":"))


class Entry(NamedTuple):
    """A logged event: its number, its time, and RFC 7951 data as JSON text."""

    number: int
    time: datetime
    data: bytes


@dataclass(slots=True)
class _Segment:
    """One file, and what is in it; ``size`` is the bytes of its lines."""

    path: Path
    entries: list[Entry] = field(default_factory=list)
    size: int = 0


class Log:
    """Keeps the newest events, no more than ``entries`` and, in bytes, ``size``.

    ``created`` is when the log was begun; ``aged`` the time, and ``dropped`` the number, of the newest event that it
    has lost (None and 0 before it lost any).
    """

    def __init__(self, folder: Path, *, entries: int, size: int, now: datetime) -> None:
        self.created = now
        self.aged: datetime | None = None
        self.dropped = 0
        self.last = 0
        self._folder = folder
        self._most_entries = max(1, entries // SEGMENTS)
        self._most_bytes = size // SEGMENTS
        self._segments: deque[_Segment] = deque()
        self._file: int | None = None
        self._torn = False
        self._failing = False
        self._load(now)

    @property
    def newest(self) -> datetime:
        """The time of the newest event; that of the log where there is none."""
        return next((s.entries[-1].time for s in reversed(self._segments) if s.entries), self.created)

    def append(self, entry: Entry) -> None:
        """Keep an event, whose number is the next one and whose time is not before ``newest``."""
        line = _line(entry)
        gone = self._file is not None and os.fstat(self._file).st_nlink == 0
        if not self._segments or self._is_full(self._segments[-1], len(line)):
            self._begin(entry.number)
        segment = self._segments[-1]
        segment.entries.append(entry)
        segment.size += len(line)
        self.last = entry.number
        self._write(line, gone=gone)

    def after(self, number: int) -> Iterator[Entry]:
        """Yield the events behind a number, in order. The log may grow meanwhile."""
        for segment in tuple(self._segments):
            if segment.entries and segment.entries[-1].number > number:
                yield from segment.entries[bisect_right(segment.entries, number, key=_number) :]

    def since(self, time: datetime) -> int:
        """Return the number behind which are the events of a time and later."""
        for segment in self._segments:
            if segment.entries and segment.entries[-1].time >= time:
                return segment.entries[bisect_left(segment.entries, time, key=_time)].number - 1
        return self.last

    def close(self) -> None:
        """Free the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _is_full(self, segment: _Segment, more: int) -> bool:
        return len(segment.entries) >= self._most_entries or segment.size + more > self._most_bytes

    def _begin(self, number: int) -> None:
        """Begin a segment whose first event has this number, and drop the oldest one where there are enough."""
        self.close()
        while len(self._segments) >= SEGMENTS:
            self._drop()
        self._segments.append(_Segment(self._folder / f"{number:012}.jsonl"))
        self._torn = False

    def _drop(self) -> None:
        segment = self._segments.popleft()
        if segment.entries:
            self.dropped, self.aged = segment.entries[-1].number, segment.entries[-1].time
        try:
            segment.path.unlink(missing_ok=True)
        except OSError as error:
            self._failed(error)

    def _write(self, line: bytes, *, gone: bool) -> None:
        try:
            if gone:
                self._restore()
            else:
                if self._file is None:
                    self._open(self._segments[-1].path)
                self._put(line)
        except OSError as error:
            self._failed(error)
            return
        if self._failing:
            log.warning("%s: events are logged durably again", self._folder)
        self._failing = False

    def _restore(self) -> None:
        """Write what is in memory anew where its file is gone."""
        log.warning("%s: files of events were deleted: they are written anew", self._folder)
        try:
            for segment in self._segments:
                self.close()
                if segment is self._segments[-1] or not segment.path.exists():
                    self._torn = False
                    self._open(segment.path)
                    self._put(b"".join(map(_line, segment.entries)))
        except OSError:
            self.close()  # it may be an older segment's
            raise

    def _open(self, path: Path) -> None:
        self._folder.mkdir(mode=0o700, exist_ok=True)
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        if os.fstat(self._file).st_size == 0:
            aged = {} if self.aged is None else {"aged": self.aged.isoformat()}
            head = {"created": self.created.isoformat(), "dropped": self.dropped, **aged}
            self._put(as_text(head) + b"\n")

    def _put(self, line: bytes) -> None:
        """Write a line; one that was written in part before ends first."""
        if self._file is None:
            return
        whole = b"\n" + line if self._torn else line
        self._torn = True
        if os.write(self._file, whole) < len(whole):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._torn = False

    def _failed(self, error: OSError) -> None:
        if not self._failing:
            log.error("%s: events can't be logged durably: %s", self._folder, error.strerror)
        self._failing = True

    def _load(self, now: datetime) -> None:
        """Read what earlier agents logged; where they were to keep more, the oldest is dropped."""
        try:
            for path in sorted(path for path in self._folder.glob("*.jsonl") if path.stem.isdigit()):
                self._read(path)
        except OSError as error:
            self._failed(error)
        self._limit_times(now)
        while len(self._segments) > 1 and self._is_over():
            self._drop()

    def _limit_times(self, now: datetime) -> None:
        """Have no event in the future, where a clock that was wrong has put it: it was not after the one behind it."""
        latest = now
        for segment in reversed(self._segments):
            for at, entry in reversed(tuple(enumerate(segment.entries))):
                if entry.time > now:
                    segment.entries[at] = entry._replace(time=latest)
                else:
                    latest = entry.time
        self.created = min(self.created, now)
        self.aged = None if self.aged is None else min(self.aged, now)

    def _is_over(self) -> bool:
        entries = sum(len(segment.entries) for segment in self._segments)
        size = sum(segment.size for segment in self._segments)
        return entries > SEGMENTS * self._most_entries or size > SEGMENTS * self._most_bytes

    def _read(self, path: Path) -> None:
        """Read a segment. A line that can't be read is no event: a crash or a full disk has torn it."""
        segment = _Segment(path)
        self._segments.append(segment)
        content = path.read_bytes()
        for line in content.split(b"\n"):
            try:
                read = json.loads(line)
                if "number" in read:
                    self._take(segment, Entry(_whole(read["number"]), _moment(read["time"]), as_text(read["data"])))
                else:
                    self.created = _moment(read["created"])
                    self.aged = _moment(read["aged"]) if "aged" in read else None
                    self.dropped = _whole(read["dropped"])
                    self.last = max(self.last, self.dropped)
            except (ValueError, KeyError, TypeError, RecursionError, OverflowError):
                continue
        self._torn = bool(content) and not content.endswith(b"\n")

    def _take(self, segment: _Segment, entry: Entry) -> None:
        if entry.number > self.last:
            segment.entries.append(entry)
            segment.size += len(entry.data)
            self.last = entry.number


def _line(entry: Entry) -> bytes:
    return b'{"number":%d,"time":"%s","data":%s}\n' % (entry.number, entry.time.isoformat().encode(), entry.data)


def as_text(data: Any) -> bytes:  # noqa: ANN401 - RFC 7951 data
    """Return data as JSON on one line."""
    return _ENCODER.encode(data).encode()


def _whole(number: Any) -> int:  # noqa: ANN401 - JSON
    """Return an event's number, which 64 bits are enough for. Raises ValueError for what is none."""
    if not isinstance(number, int) or not 0 <= number < _MOST_NUMBERS:
        raise ValueError(number)
    return number


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def _number(entry: Entry) -> int:
    return entry.number


def _time(entry: Entry) -> datetime:
    return entry.time
