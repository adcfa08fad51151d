"""NETCONF over a local socket: the kernel says who the client is.

For the commands of this package, and for OpenSSH's ``Subsystem netconf`` through ``accel-agent relay``.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import grp
import logging
import os
import socket
import stat
import struct
from typing import TYPE_CHECKING, Final, cast

from agent.groups import groups_of, user_of
from agent.link import Peer
from agent.settings import UNIX, StartError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agent.link import Connect, Receiver

TRANSPORT: Final = "accel-agent:netconf-unix"
# sun_path has 108 bytes, the last one for the NUL (unix(7)).
LONGEST_PATH: Final = 107
CLOSE_TIMEOUT: Final = 10.0
_BACKLOG: Final = 128
_UCRED: Final = struct.Struct("3i")

log = logging.getLogger(__name__)


async def listen(connect: Connect, *, path: Path, mode: int = 0o600, group: str | None = None) -> UnixListener:
    """Serve NETCONF sessions on a Unix socket, which ``group`` may use besides those whom ``mode`` lets.

    Raises StartError, also when another process serves the socket.
    """
    sock = _bind(path, mode=mode, group=group)
    connections: set[_Connection] = set()
    server = await asyncio.get_running_loop().create_unix_server(
        lambda: _Connection(connect, connections), sock=sock, backlog=_BACKLOG
    )
    return UnixListener(path, server, connections)


class UnixListener:
    """Takes local connections until it is closed."""

    def __init__(self, path: Path, server: asyncio.Server, connections: set[_Connection]) -> None:
        self.path = path
        self._server = server
        self._connections = connections
        status = path.lstat()
        self._file = (status.st_dev, status.st_ino)

    async def close(self) -> None:
        """Stop listening, remove the socket's file, end all connections."""
        with contextlib.suppress(FileNotFoundError):
            status = self.path.lstat()
            # Somebody may have put a socket of their own in its place.
            if (status.st_dev, status.st_ino) == self._file:
                self.path.unlink()
        self._server.close()
        for connection in tuple(self._connections):
            connection.abort()
        # An aborted transport tells its protocol in the loop's next round.
        await asyncio.sleep(0)
        await self._server.wait_closed()


class _Connection(asyncio.Protocol):
    """A client, and the Transport of its session."""

    def __init__(self, connect: Connect, connections: set[_Connection]) -> None:
        self._connect = connect
        self._connections = connections
        self._receiver: Receiver | None = None
        self._deadline: asyncio.TimerHandle | None = None
        self._full = False

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._connections.add(self)
        # Until it is known who the peer is, what it sends waits in the socket.
        self._transport.pause_reading()
        self._opening = asyncio.ensure_future(self._open(_uid(transport.get_extra_info("socket"))))

    async def _open(self, uid: int) -> None:
        """Begin the session."""
        username = user_of(uid)
        try:
            groups = await groups_of(username)
        except TimeoutError:
            log.warning("no session for %s on the local socket: the machine does not say its groups", username)
            self.close()
            return
        if self._transport.is_closing():
            return
        self._transport.resume_reading()
        peer = Peer(username, TRANSPORT, recovery=uid == 0, groups=groups)
        try:
            self._receiver = self._connect(peer, self)
        except Exception as exc:  # noqa: BLE001 - whatever refuses a session ends its connection only
            log.warning("no session for %s on the local socket: %r", peer.username, exc)
            self.close()
            return
        if self._full:
            self._receiver.pause_writing()

    def data_received(self, data: bytes) -> None:
        if self._receiver is not None:
            self._receiver.data_received(data)

    def eof_received(self) -> bool:
        if self._receiver is not None:
            self._receiver.eof_received()
        return True

    def pause_writing(self) -> None:
        self._full = True
        if self._receiver is not None:
            self._receiver.pause_writing()

    def resume_writing(self) -> None:
        self._full = False
        if self._receiver is not None:
            self._receiver.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.discard(self)
        self._opening.cancel()
        if self._deadline is not None:
            self._deadline.cancel()
        if self._receiver is not None:
            self._receiver.connection_lost(exc)

    # Transport.

    def write(self, data: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(data)

    def close(self) -> None:
        if not self._transport.is_closing():
            self._transport.close()
            self._deadline = asyncio.get_running_loop().call_later(CLOSE_TIMEOUT, self._transport.abort)

    def abort(self) -> None:
        self._transport.abort()

    def pause_reading(self) -> None:
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        self._transport.resume_reading()


def _uid(sock: socket.socket) -> int:
    """Return who connected: unix(7), SO_PEERCRED, the credentials at the time of connect(2)."""
    _, uid, _ = _UCRED.unpack(sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size))
    return int(uid)


def _bind(path: Path, *, mode: int, group: str | None) -> socket.socket:
    name = os.fspath(path)
    if len(os.fsencode(name)) > LONGEST_PATH:
        message = f"the local socket's path {name} is longer than {LONGEST_PATH} bytes: shorten"
        raise StartError(message, setting=UNIX)
    gid = _group_id(group)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if not path.parent.exists():
            path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        with _locked(path.parent):
            _remove_stale(path)
            # bind(2) gives the file the socket's own mode: closed to others from its first moment. Until
            # listen(2) the kernel refuses everybody.
            os.fchmod(sock.fileno(), 0o600)
            sock.bind(name)
            if gid is not None:
                os.chown(name, -1, gid)
            path.chmod(mode | (0o060 if gid is not None else 0))
            sock.listen(_BACKLOG)
    except OSError as exc:
        sock.close()
        message = f"cannot make the local socket {name} ({exc.strerror}): correct"
        raise StartError(message, setting=UNIX) from None
    except StartError:
        sock.close()
        raise
    return sock


def _group_id(group: str | None) -> int | None:
    try:
        return None if group is None else grp.getgrnam(group).gr_gid
    except KeyError:
        raise StartError(f"there is no group {group}: make it, or change [listen] unix-group") from None


def _remove_stale(path: Path) -> None:
    """Remove a socket on which nobody answers. Raises StartError when somebody does, or it is no socket."""
    try:
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise StartError(f"{path} is there and is no socket: remove it, or change", setting=UNIX)
    except FileNotFoundError:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(0)
        error = probe.connect_ex(os.fspath(path))
    if error in (0, errno.EAGAIN):
        raise StartError(f"an agent is already running, on {path}: stop it, or change", setting=UNIX)
    if error != errno.ECONNREFUSED:
        message = f"cannot tell who serves {path} ({os.strerror(error)}): remove it, or change"
        raise StartError(message, setting=UNIX)
    path.unlink()


@contextlib.contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """Let one agent at a time look for a stale socket and make its own."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
