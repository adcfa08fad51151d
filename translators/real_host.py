"""The machine that the agent runs on, or one below a folder (a sysroot), as a Host."""

# Paths of the managed machine are text, and one answer can take hundreds of these calls: os, not pathlib.
# ruff: noqa: PTH104, PTH108, PTH115, PTH116, PTH118, PTH120, PTH123, PTH208

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import select
import signal
import stat
import subprocess
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from translators.host import POLL_INTERVAL, READ_LIMIT, Completed, Piece, ProgramTimeoutError
from translators.systemd import BUS, Manager
from translators.vici import ask, listen
from translators.vyos import Api, VyosUnreachableError
from translators.vyos import ask as ask_vyos

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from translators.systemd import Systemd
    from translators.vici import Message

READ_CHUNK = 256 * 1024
MESSAGE_LIMIT = 16 * 1024  # twice the longest record of /dev/kmsg
OUTPUT_LIMIT = 64 * 1024
MAX_LINKS = 40
FLOCK = "/usr/bin/flock"
ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "LANG": "C",
}
# What a program prints goes into messages for people and into XML, which can't carry most control characters.
UNPRINTABLE = {code: "\N{REPLACEMENT CHARACTER}" for code in (*range(0x20), 0x7F) if chr(code) not in "\t\n"}
UNPRINTABLE[ord("\r")] = ""


def wait_for_programs(lock: Path, *, timeout: float) -> None:
    """Wait until no program of a former agent runs any more: until the lock that each one holds is free.

    Raises TimeoutError after ``timeout`` seconds, OSError.
    """
    try:
        descriptor = os.open(lock, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    deadline = time.monotonic() + timeout
    try:
        while not _take(descriptor):
            if time.monotonic() >= deadline:
                raise TimeoutError(f"a program of a former agent holds {lock} for more than {timeout:g} s")
            time.sleep(POLL_INTERVAL)
    finally:
        os.close(descriptor)


class RealHost:
    """The machine below ``root``: the one that the agent runs on, or a simulated one in a folder.

    Below a folder, links are followed as if it were the root, so that no path leads out of it. With a
    ``program_lock`` a program holds that lock until it ends, whatever becomes of the agent meanwhile. ``vyos`` is the
    API of the VyOS that owns the machine's configuration.
    """

    def __init__(self, root: Path = Path("/"), *, program_lock: Path | None = None, vyos: Api | None = None) -> None:
        self._root = os.path.realpath(root)
        self._program_lock = program_lock
        self._vyos = vyos

    def read(self, path: str, *, limit: int = READ_LIMIT) -> bytes:
        """See Host. A file that is not a regular one is refused: a FIFO would never end."""
        # O_NONBLOCK: opening a FIFO waits for a writer without it.
        descriptor = os.open(self._locate(path), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            mode = os.fstat(descriptor).st_mode
            if stat.S_ISDIR(mode):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
            if not stat.S_ISREG(mode):
                raise OSError(errno.EINVAL, "is not a regular file", path)
            data = bytearray()
            while chunk := os.read(descriptor, min(READ_CHUNK, limit + 1 - len(data))):
                data += chunk
                if len(data) > limit:
                    raise OSError(errno.EFBIG, f"is larger than {limit} bytes", path)
        finally:
            os.close(descriptor)
        return bytes(data)

    def piece(self, path: str, offset: int, *, limit: int) -> Piece:
        """See Host."""
        descriptor = os.open(self._locate(path), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise OSError(errno.EINVAL, "is not a regular file", path)
            data = os.pread(descriptor, limit, offset)
        finally:
            os.close(descriptor)
        return Piece(data, status.st_ino, status.st_size)

    def messages(self, path: str) -> Generator[bytes, None, None]:
        """See Host."""
        # O_NOCTTY: a terminal is no such device, and is not to become the agent's.
        descriptor = os.open(self._locate(path), os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        try:
            if not stat.S_ISCHR(os.fstat(descriptor).st_mode):
                raise OSError(errno.ENODEV, "is not a device that gives messages", path)
            while True:
                try:
                    message = os.read(descriptor, MESSAGE_LIMIT)
                except BlockingIOError:
                    return
                except BrokenPipeError:  # the next one was overwritten: the kernel goes on with the oldest that is left
                    continue
                if not message:
                    return
                yield message
        finally:
            os.close(descriptor)

    def write(self, path: str, data: bytes, *, mode: int = 0o644) -> None:
        """See Host. A symbolic link is refused: replacing it would leave its target as it was."""
        target = self._locate(path, follow=False)
        folder, name = os.path.split(target)
        former = _status(target)
        if former is not None and not stat.S_ISREG(former.st_mode):
            raise OSError(errno.ELOOP, "is not a regular file and is not replaced", path)
        # One name per file: what a killed agent left is found and replaced by the next write.
        fresh = os.path.join(folder, f".{name}.accel-agent")
        with contextlib.suppress(FileNotFoundError):
            os.unlink(fresh)
        try:
            descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with open(descriptor, "wb") as file:
                if former is not None and (former.st_uid, former.st_gid) != (os.geteuid(), os.getegid()):
                    os.fchown(file.fileno(), former.st_uid, former.st_gid)
                os.fchmod(file.fileno(), mode if former is None else stat.S_IMODE(former.st_mode))
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.rename(fresh, target)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(fresh)
            raise
        _sync_folder(folder)

    def assign(self, path: str, data: bytes) -> None:
        """See Host."""
        # The kernel ignores O_TRUNC here; in a simulated machine the attribute is a file.
        flags = os.O_WRONLY | os.O_TRUNC | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(self._locate(path), flags)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OSError(errno.EINVAL, "is not an attribute", path)
            if os.write(descriptor, data) != len(data):
                raise OSError(errno.EIO, "took a part of the value only", path)
        except OSError as error:
            error.filename = path
            raise
        finally:
            os.close(descriptor)

    def remove(self, path: str) -> None:
        """See Host."""
        target = self._locate(path, follow=False)
        try:
            os.unlink(target)
        except FileNotFoundError:
            return
        _sync_folder(os.path.dirname(target))

    def names(self, path: str) -> tuple[str, ...]:
        """See Host."""
        return tuple(sorted(os.listdir(self._locate(path))))

    def link(self, path: str) -> str:
        """See Host."""
        return os.readlink(self._locate(path, follow=False))

    def exists(self, path: str) -> bool:
        """See Host."""
        return _status(self._locate(path), follow=True) is not None

    def executable(self, path: str) -> bool:
        """See Host."""
        target = self._locate(path)
        found = _status(target, follow=True)
        return found is not None and stat.S_ISREG(found.st_mode) and os.access(target, os.X_OK)

    def run(self, argv: Sequence[str], *, timeout: float) -> Completed:
        """See Host. The program gets no input, a small environment, and its own process group."""
        program = self._locate(argv[0])
        if not self.exists(argv[0]):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), argv[0])
        if not self.executable(argv[0]):
            raise PermissionError(errno.EACCES, "can't be executed", argv[0])
        command = [*self._locking(), program, *argv[1:]]
        # A file, not a pipe: a daemon that the program leaves behind keeps its end of a pipe open for ever.
        with (
            tempfile.TemporaryFile() as capture,
            subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=capture,
                stderr=subprocess.STDOUT,
                cwd=self._root,
                env=ENVIRONMENT,
                start_new_session=True,
            ) as process,
        ):
            try:
                ended = _ends_within(process.pid, timeout)
            except BaseException:
                _kill_group(process)
                raise
            if not ended:
                _kill_group(process)
                raise ProgramTimeoutError(argv, timeout, _captured(capture))
            return Completed(tuple(argv), process.wait(), _captured(capture))

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
        """See Host."""
        return ask(self._locate(path), path, command, message, stream=stream, timeout=timeout, silence=silence)

    def vici_events(
        self, path: str, names: Sequence[str], *, pause: float
    ) -> Generator[tuple[str, Message] | None, None, None]:
        """See Host."""
        return listen(self._locate(path), path, names, pause=pause)

    def systemd(self) -> Systemd | None:
        """See Host. Below another root it would be the manager of this machine, not of that one."""
        return Manager() if self._root == "/" and self.exists(BUS) else None

    def vyos(self, endpoint: str, message: Mapping[str, Any], *, timeout: float) -> Any:  # noqa: ANN401 - as in Host
        """See Host."""
        if self._vyos is None:
            raise VyosUnreachableError("", "the settings have no [vyos] url")
        return ask_vyos(self._vyos, endpoint, message, timeout=timeout)

    def now(self) -> datetime:
        """See Host."""
        return datetime.now(tz=UTC)

    def monotonic(self) -> float:
        """See Host."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """See Host."""
        time.sleep(seconds)

    def _locking(self) -> tuple[str, ...]:
        # flock itself holds the lock: with --close the program, and a daemon that it leaves behind, don't.
        if self._program_lock is None or not os.access(FLOCK, os.X_OK):
            return ()
        return (FLOCK, "--close", str(self._program_lock))

    def _locate(self, path: str, *, follow: bool = True) -> str:
        """Return where a path of the managed machine is here; ``follow``: also through a link at its end."""
        if not path.startswith("/"):
            raise ValueError(f"{path!r} is not an absolute path")
        if self._root == "/":
            return path
        ahead = path.split("/")[::-1]
        passed: list[str] = []
        links = 0
        while ahead:
            name = ahead.pop()
            if name == "..":
                del passed[-1:]
            elif name not in {"", "."}:
                target = _link_target("/".join((self._root, *passed, name))) if ahead or follow else None
                if target is None:
                    passed.append(name)
                    continue
                links += 1
                if links > MAX_LINKS:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
                if target.startswith("/"):
                    passed.clear()
                ahead.extend(target.split("/")[::-1])
        return "/".join((self._root, *passed))


def _take(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _status(path: str, *, follow: bool = False) -> os.stat_result | None:
    try:
        return os.stat(path, follow_symlinks=follow)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _link_target(path: str) -> str | None:
    try:
        return os.readlink(path)
    except OSError:  # no link, or not there: the caller's own access says which
        return None


def _sync_folder(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _ends_within(pid: int, seconds: float) -> bool:
    descriptor = os.pidfd_open(pid)
    try:
        poller = select.poll()
        poller.register(descriptor, select.POLLIN)
        return bool(poller.poll(seconds * 1000))
    finally:
        os.close(descriptor)


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    # The group is there as long as its leader has not been waited for.
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _captured(capture: IO[bytes]) -> str:
    size = os.fstat(capture.fileno()).st_size
    if size <= OUTPUT_LIMIT:
        data = os.pread(capture.fileno(), size, 0)
    else:
        half = OUTPUT_LIMIT // 2
        head = os.pread(capture.fileno(), half, 0)
        tail = os.pread(capture.fileno(), half, size - half)
        data = head + f"\n[{size - 2 * half} bytes left out]\n".encode() + tail
    return data.decode("utf-8", "replace").translate(UNPRINTABLE)
