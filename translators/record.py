"""Hosts for tests: a machine in memory or recorded in a folder, and one that refuses a call."""

from __future__ import annotations

import errno
import json
import os
import sys
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from translators.host import READ_LIMIT, Completed, Piece
from translators.vici import Message, ViciAbsentError, ViciError
from translators.vyos import VyosUnansweredError, VyosUnreachableError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence
    from pathlib import Path

    from translators.host import Host
    from translators.systemd import Systemd

RECORDING: Final = "recording.json"
FILES: Final = "files"

_Result = TypeVar("_Result")

_START: Final = datetime(2026, 1, 1, tzinfo=UTC)


class UnseenError(Exception):
    """Something was asked for that the recording neither holds nor calls absent: it does not say what a machine says.

    No OSError, as a reader would take that for the machine's answer.
    """


@dataclass(slots=True)
class RecordedHost:
    """A machine of files, links and programs that behave as the test says.

    ``files`` has bytes, or the OSError that reading raises; ``links`` targets; ``folders`` what is to be there though
    nothing is in it. A program gets the host, which it may change, and its argv, and returns its exit status and
    output. ``absent`` are patterns of paths that the machine does not have; a path that is neither there nor absent
    raises UnseenError, unless the recording is ``complete``. ``ran`` are the command lines that were run.
    ``devices`` give messages; ``inodes`` are those of files, 1 where they don't matter.
    ``daemons`` answer at VICI sockets: each gets the host, the command and its message, and returns the answer's
    messages or raises ViciError; ``asked`` are the commands; ``events`` is what they tell by themselves. ``manager`` is
    the service manager. ``router`` is VyOS: it gets the host, the endpoint and the message, and returns the data of its
    answer or raises VyosError; ``requests`` are what it was asked.
    """

    files: dict[str, bytes | OSError] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)
    programs: dict[str, Program] = field(default_factory=dict)
    devices: dict[str, list[bytes]] = field(default_factory=dict)
    inodes: dict[str, int] = field(default_factory=dict)
    absent: tuple[str, ...] = ()
    complete: bool = False
    ran: list[tuple[str, ...]] = field(default_factory=list)
    read_paths: list[str] = field(default_factory=list)
    daemons: dict[str, Daemon] = field(default_factory=dict)
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    events: dict[str, list[tuple[str, Message]]] = field(default_factory=dict)
    manager: Systemd | None = None
    router: Router | None = None
    requests: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    elapsed: float = 0.0

    def read(self, path: str, *, limit: int = READ_LIMIT) -> bytes:
        """See Host."""
        self.read_paths.append(path)
        found = self.files.get(self._resolved(path))
        if isinstance(found, OSError):
            raise found
        if found is None:
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        if len(found) > limit:
            raise OSError(errno.EFBIG, f"is larger than {limit} bytes", path)
        return found

    def piece(self, path: str, offset: int, *, limit: int) -> Piece:
        """See Host."""
        data = self.read(path, limit=sys.maxsize)
        return Piece(data[offset : offset + limit], self.inodes.get(path, 1), len(data))

    def messages(self, path: str) -> Generator[bytes, None, None]:
        """See Host."""
        if path not in self.devices:
            self._resolved(path)
            raise OSError(errno.ENODEV, os.strerror(errno.ENODEV), path)
        yield from self.devices[path]

    def write(self, path: str, data: bytes, *, mode: int = 0o644) -> None:  # noqa: ARG002 - files have no mode here
        """See Host."""
        self.files[path] = data

    def assign(self, path: str, data: bytes) -> None:
        """See Host."""
        self.files[self._resolved(path)] = data

    def remove(self, path: str) -> None:
        """See Host."""
        self.files.pop(path, None)

    def names(self, path: str) -> tuple[str, ...]:
        """See Host."""
        folder = self._resolved(path)
        if folder in self.files:
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
        below = f"{folder.rstrip('/')}/"
        return tuple(
            sorted({entry[len(below) :].partition("/")[0] for entry in self._all() if entry.startswith(below)})
        )

    def link(self, path: str) -> str:
        """See Host."""
        if path not in self.links:
            self._resolved(path)
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), path)
        return self.links[path]

    def exists(self, path: str) -> bool:
        """See Host."""
        try:
            self._resolved(path)
        except FileNotFoundError:
            return False
        return True

    def executable(self, path: str) -> bool:
        """See Host."""
        return path in self.programs if self.exists(path) else False

    def run(self, argv: Sequence[str], *, timeout: float) -> Completed:  # noqa: ARG002 - programs end at once here
        """See Host."""
        if not self.executable(argv[0]):
            self._resolved(argv[0])
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), argv[0])
        self.ran.append(tuple(argv))
        returncode, output = self.programs[argv[0]](self, tuple(argv))
        return Completed(tuple(argv), returncode, output)

    def vici(
        self,
        path: str,
        command: str,
        message: Mapping[str, Any],
        *,
        stream: str | None = None,  # noqa: ARG002 - a recorded answer is whole
        timeout: float,  # noqa: ARG002 - and comes at once
        silence: float | None = None,  # noqa: ARG002 - same
    ) -> list[Message]:
        """See Host."""
        if path not in self.daemons:
            try:
                self._resolved(path)
            except FileNotFoundError as error:
                raise ViciAbsentError(path, "there is no such socket") from error
            raise ViciError(path, "is not a socket")
        self.asked.append((command, dict(message)))
        return self.daemons[path](self, command, dict(message))

    def vici_events(
        self, path: str, names: Sequence[str], *, pause: float
    ) -> Generator[tuple[str, Message] | None, None, None]:
        """See Host. After what the test has, charon ends."""
        for name, message in self.events.get(path, ()):
            if name in names:
                yield name, message
        yield None
        self.elapsed += pause
        raise ViciAbsentError(path, "there is no such socket")

    def systemd(self) -> Systemd | None:
        """See Host."""
        return self.manager

    def vyos(self, endpoint: str, message: Mapping[str, Any], *, timeout: float) -> Any:  # noqa: ANN401, ARG002 - Host
        """See Host."""
        if self.router is None:
            raise VyosUnreachableError("", "the settings have no [vyos] url")
        self.requests.append((endpoint, dict(message)))
        return self.router(self, endpoint, dict(message))

    def now(self) -> datetime:
        """See Host."""
        return _START + timedelta(seconds=self.elapsed)

    def monotonic(self) -> float:
        """See Host."""
        return self.elapsed

    def sleep(self, seconds: float) -> None:
        """See Host. Time passes at once."""
        self.elapsed += seconds

    def _resolved(self, path: str) -> str:
        """Return a path that is there. Raises FileNotFoundError for one that is absent, UnseenError for others."""
        if path in self.files or path in self.links or path in self.folders or path in self.programs:
            return path
        if any(entry.startswith(f"{path.rstrip('/')}/") for entry in self._all()):
            return path
        if self.complete or any(fnmatchcase(path, pattern) for pattern in self.absent):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        raise UnseenError(f"the recording says nothing about {path}")

    def _all(self) -> set[str]:
        return {*self.files, *self.links, *self.folders, *self.programs}


Program: TypeAlias = "Callable[[RecordedHost, tuple[str, ...]], tuple[int, str]]"
Daemon: TypeAlias = "Callable[[RecordedHost, str, dict[str, Any]], list[Message]]"
Router: TypeAlias = "Callable[[RecordedHost, str, dict[str, Any]], Any]"


def load(folder: Path) -> RecordedHost:
    """Return the machine that is recorded in a folder.

    Below ``files`` are its files. ``recording.json`` has ``links``, which maps paths to targets, ``absent``, a list of
    patterns of paths that the machine does not have, ``programs``, which maps command lines to [exit status, output],
    and ``vici``, which maps sockets to what charon answers there: commands to lists of messages.

    Raises OSError, ValueError.
    """
    recording = json.loads((folder / RECORDING).read_text())
    host = RecordedHost(links=dict(recording.get("links", {})), absent=tuple(recording.get("absent", ())))
    root = folder / FILES
    for path in sorted(root.rglob("*")):
        name = f"/{path.relative_to(root)}"
        if path.is_dir():
            host.folders.add(name)
        else:
            host.files[name] = path.read_bytes()
    answers = {tuple(line.split()): (status, text) for line, (status, text) in recording.get("programs", {}).items()}
    for argv in answers:
        host.programs[argv[0]] = lambda _host, argv: _answer(answers, argv)
    for path, messages in recording.get("vici", {}).items():
        host.daemons[path] = partial(_said, messages)
    return host


def _answer(answers: dict[tuple[str, ...], tuple[int, str]], argv: tuple[str, ...]) -> tuple[int, str]:
    if argv not in answers:
        raise UnseenError(f"the recording says nothing about {' '.join(argv)}")
    return answers[argv]


def _said(
    messages: dict[str, list[Message]], _host: RecordedHost, command: str, _message: dict[str, Any]
) -> list[Message]:
    if command not in messages:
        raise UnseenError(f"the recording says nothing about VICI's {command}")
    return messages[command]


class RefusingHost:
    """A host whose ``refused``-th call fails with EIO (the first is 1); ``calls`` is how many there were.

    Only what can fail is counted: files, folders and programs. With ``before`` false the call is carried out first.
    """

    def __init__(self, host: Host, refused: int, *, before: bool = True) -> None:
        self._host = host
        self._refused = refused
        self._before = before
        self.calls = 0

    def read(self, path: str, *, limit: int = READ_LIMIT) -> bytes:
        """See Host."""
        return self._call(path, lambda: self._host.read(path, limit=limit))

    def piece(self, path: str, offset: int, *, limit: int) -> Piece:
        """See Host."""
        return self._call(path, lambda: self._host.piece(path, offset, limit=limit))

    def messages(self, path: str) -> Generator[bytes, None, None]:
        """See Host."""
        return self._call(path, lambda: self._host.messages(path))

    def write(self, path: str, data: bytes, *, mode: int = 0o644) -> None:
        """See Host."""
        self._call(path, lambda: self._host.write(path, data, mode=mode))

    def assign(self, path: str, data: bytes) -> None:
        """See Host."""
        self._call(path, lambda: self._host.assign(path, data))

    def remove(self, path: str) -> None:
        """See Host."""
        self._call(path, lambda: self._host.remove(path))

    def names(self, path: str) -> tuple[str, ...]:
        """See Host."""
        return self._call(path, lambda: self._host.names(path))

    def link(self, path: str) -> str:
        """See Host."""
        return self._call(path, lambda: self._host.link(path))

    def exists(self, path: str) -> bool:
        """See Host."""
        return self._call(path, lambda: self._host.exists(path))

    def executable(self, path: str) -> bool:
        """See Host."""
        return self._call(path, lambda: self._host.executable(path))

    def run(self, argv: Sequence[str], *, timeout: float) -> Completed:
        """See Host."""
        return self._call(argv[0], lambda: self._host.run(argv, timeout=timeout))

    def vici(
        self,
        path: str,
        command: str,
        message: Mapping[str, Any],
        *,
        stream: str | None = None,
        timeout: float,
        silence: float | None = None,
    ) -> list[Message]:
        """See Host. It fails as a socket that can't be reached does."""
        ask = partial(self._host.vici, path, command, message, stream=stream, timeout=timeout, silence=silence)
        try:
            return self._call(path, ask)
        except OSError as error:
            raise ViciError(path, error.strerror or str(error)) from error

    def vici_events(
        self, path: str, names: Sequence[str], *, pause: float
    ) -> Generator[tuple[str, Message] | None, None, None]:
        """See Host. What is heard is no call that a step makes."""
        return self._host.vici_events(path, names, pause=pause)

    def systemd(self) -> Systemd | None:
        """See Host."""
        return self._host.systemd()

    def vyos(self, endpoint: str, message: Mapping[str, Any], *, timeout: float) -> Any:  # noqa: ANN401 - as in Host
        """See Host. It fails as an API that can't be reached, or does not answer."""
        try:
            return self._call(endpoint, lambda: self._host.vyos(endpoint, message, timeout=timeout))
        except OSError as error:
            failed = VyosUnreachableError if self._before else VyosUnansweredError
            raise failed("", error.strerror or str(error)) from error

    def now(self) -> datetime:
        """See Host."""
        return self._host.now()

    def monotonic(self) -> float:
        """See Host."""
        return self._host.monotonic()

    def sleep(self, seconds: float) -> None:
        """See Host."""
        self._host.sleep(seconds)

    def _call(self, path: str, call: Callable[[], _Result]) -> _Result:
        self.calls += 1
        if self.calls != self._refused:
            return call()
        if not self._before:
            call()
        raise OSError(errno.EIO, os.strerror(errno.EIO), path)
