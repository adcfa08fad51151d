"""One SSH connection, and the NETCONF sessions in its channels: what is granted, and what holds them back.

RFC 6242 section 3: a session is the subsystem ``netconf`` in a channel; no other use of a channel is granted.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from typing import TYPE_CHECKING, Final, cast

import asyncssh

from agent.link import Peer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from asyncssh.logging import SSHLogger

    from agent.link import Connect, Receiver

SUBSYSTEM: Final = "netconf"
TRANSPORT: Final = "ietf-netconf-monitoring:netconf-ssh"
# Seconds in which a closing channel must have sent what was written, and the peer have closed it, too.
CLOSE_TIMEOUT: Final = 10.0
_MOST_VARIABLES: Final = 64
_MOST_PIECES: Final = 1024
_MOST_UNPROCESSED: Final = 4 * 1024 * 1024

log = logging.getLogger(__name__)


class Connection(asyncssh.SSHServerConnection):
    """Adds to asyncssh's connection the bounds of what a peer can make it keep in memory.

    asyncssh pauses a session when the window that the peer gave its channel is used up. A peer that gives a
    huge window and reads nothing, or begins a key exchange and never ends it, would let output pile up all
    the same. Here both pause the sessions, too, and while the socket takes no more, no further input is read.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        options: asyncssh.SSHServerConnectionOptions,
        *,
        on_sessions: Callable[[Connection], None],
    ) -> None:
        """``on_sessions`` is called when ``sessions`` becomes 0, and when it is no longer 0."""
        super().__init__(loop, options)
        self.channels: set[Channel] = set()
        self.sessions = 0
        self.groups: tuple[str, ...] = ()
        self.logging_in = True
        self._on_sessions = on_sessions
        self._tcp: asyncio.Transport | None = None
        self._not_reading: set[str] = set()
        self._not_writing: set[str] = set()

    @property
    def source_host(self) -> str:
        """The peer's IP address."""
        return str((self.get_extra_info("peername") or ("",))[0])

    @property
    def local_host(self) -> str:
        """The IP address that the peer connected to."""
        return str((self.get_extra_info("sockname") or ("",))[0])

    @property
    def writable(self) -> bool:
        """Whether sessions may write."""
        return not self._not_writing

    async def reload_config(self) -> None:
        """Change nothing: asyncssh reads its configuration files again for each user, and here are none."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the socket."""
        self._tcp = cast("asyncio.Transport", transport)
        super().connection_made(transport)

    def data_received(self, data: bytes, datatype: asyncssh.DataType = None) -> None:
        """Process input, then look at what it left behind."""
        super().data_received(data, datatype)
        if self.logging_in and self._tcp is not None and not self._tcp.is_closing():
            # OpenSSH's client sends two packets of the key exchange in a row with Nagle's algorithm on: the second one
            # waits for the acknowledgement of the first, which the kernel would delay by 40 ms.
            self._tcp.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
        self._look()

    def create_task(self, coro: Awaitable[None], task_logger: SSHLogger | None = None) -> asyncio.Task[None]:
        """Start a task of asyncssh's; some process input, and then all that came meanwhile."""
        task = super().create_task(coro, task_logger)
        # asyncssh's own callbacks are called before that.
        task.add_done_callback(lambda _: self._loop.call_soon(self._look))
        return task

    def pause_writing(self) -> None:
        """Take note that the socket's buffer is full."""
        super().pause_writing()
        self.hold_reading("socket full", hold=True)
        self._hold_writing("socket full", hold=True)

    def resume_writing(self) -> None:
        """Take note that the socket's buffer has drained."""
        super().resume_writing()
        self.hold_reading("socket full", hold=False)
        self._hold_writing("socket full", hold=False)

    def hold_reading(self, reason: str, *, hold: bool) -> None:
        """Leave input in the socket while there is a reason to."""
        _note(self._not_reading, reason, hold=hold)
        if self._tcp is not None and self._not_reading:
            self._tcp.pause_reading()
        elif self._tcp is not None:
            self._tcp.resume_reading()

    def count_session(self, change: int) -> None:
        """Take note that a channel's session has begun (1) or ended (-1)."""
        before = self.sessions
        self.sessions += change
        if bool(before) != bool(self.sessions):
            self._on_sessions(self)

    def _look(self) -> None:
        """Look at what input has changed."""
        exchanging = not self._kex_complete
        if exchanging != ("key exchange" in self._not_writing):
            self._hold_writing("key exchange", hold=exchanging)
        for channel in tuple(self.channels):
            channel.input_processed()
        if len(self._inpbuf) > _MOST_UNPROCESSED:
            self.abort()

    def _hold_writing(self, reason: str, *, hold: bool) -> None:
        _note(self._not_writing, reason, hold=hold)
        for channel in tuple(self.channels):
            channel.hold_writing("connection", hold=not self.writable)


class Channel(asyncssh.SSHServerSession[bytes]):
    """A channel, and once its subsystem is started the Transport of a NETCONF session."""

    def __init__(self, connection: Connection, connect: Connect) -> None:
        self._connection = connection
        self._connect = connect
        self._channel: asyncssh.SSHServerChannel[bytes] | None = None
        self._receiver: Receiver | None = None
        self._not_writing: set[str] = set()
        self._closing = False
        self._deadline: asyncio.TimerHandle | None = None
        connection.channels.add(self)

    # What asyncssh calls.

    def connection_made(self, chan: asyncssh.SSHServerChannel[bytes]) -> None:
        """Take the channel."""
        self._channel = chan

    def shell_requested(self) -> bool:
        """Refuse."""
        return self._refuse("a shell")

    def exec_requested(self, command: str) -> bool:
        """Refuse."""
        return self._refuse(f"the program {command[:80]!r}")

    def subsystem_requested(self, subsystem: str) -> bool:
        """Grant ``netconf``."""
        return subsystem == SUBSYSTEM or self._refuse(f"the subsystem {subsystem[:80]!r}")

    def session_started(self) -> None:
        """Begin the session: the peer has been told by now that it got its subsystem, and takes data."""
        link = self._connection
        peer = Peer(self._username, TRANSPORT, link.source_host, groups=link.groups, local_host=link.local_host)
        _note(self._not_writing, "connection", hold=not self._connection.writable)
        try:
            receiver = self._connect(peer, self)
        except Exception as exc:  # noqa: BLE001 - whatever refuses a session ends its channel, not the server
            log.warning("no session for %s from %s: %r", peer.username, peer.source_host, exc)
            self._finish(1)
            return
        self._receiver = receiver
        self._connection.count_session(1)
        if self._not_writing:
            receiver.pause_writing()

    def data_received(self, data: bytes, datatype: asyncssh.DataType) -> None:  # noqa: ARG002 - only one type
        """Hand on input."""
        if self._receiver is not None:
            self._receiver.data_received(data)

    def eof_received(self) -> bool:
        """Hand on the end of input; the channel stays open for replies."""
        if self._receiver is not None:
            self._receiver.eof_received()
        return True

    def pause_writing(self) -> None:
        """Take note that the channel's window is used up."""
        self.hold_writing("window", hold=True)

    def resume_writing(self) -> None:
        """Take note that the channel's window is open again."""
        self.hold_writing("window", hold=False)

    def connection_lost(self, exc: Exception | None) -> None:
        """Take note that the channel is closed on both sides, or its connection lost."""
        self._closing = True
        self._connection.channels.discard(self)
        self._end(exc)

    # What the connection calls.

    def hold_writing(self, reason: str, *, hold: bool) -> None:
        """Pause the session while there is a reason to."""
        before = bool(self._not_writing)
        _note(self._not_writing, reason, hold=hold)
        after = bool(self._not_writing)
        if self._receiver is not None and after and not before:
            self._receiver.pause_writing()
        elif self._receiver is not None and before and not after:
            self._receiver.resume_writing()

    def input_processed(self) -> None:
        """Look at the channel after input."""
        if self._channel is None:
            return
        if self._channel.is_closing() and not self._closing:
            # The peer closed it. asyncssh tells a session that has paused reading only when it reads on, and
            # one that waits until it may write would never do that.
            self._closing = True
            self._channel.abort()
        if len(self._channel.get_environment_bytes()) > _MOST_VARIABLES:
            log.warning("disconnected %s: too many environment variables", self._connection.source_host)
            self._connection.abort()
        # While the session has paused reading, asyncssh keeps each packet apart, also those of a single byte.
        pieces = self._channel._recv_buf  # noqa: SLF001 - no public way to join them
        if len(pieces) > _MOST_PIECES:
            pieces[:] = [(b"".join(piece for piece, _ in pieces), None)]

    # Transport.

    def write(self, data: bytes) -> None:
        """Send bytes; nothing once the channel closes."""
        if self._channel is not None and not self._channel.is_closing():
            self._channel.write(data)

    def close(self) -> None:
        """Close when what was written has been sent, in ``CLOSE_TIMEOUT`` in any case."""
        self._finish(0)

    def abort(self) -> None:
        """Close at once."""
        if self._channel is not None:
            self._closing = True
            self._channel.abort()
            # asyncssh waits for the peer to close the channel, too: the session needn't.
            asyncio.get_running_loop().call_soon(self._end, None)

    def pause_reading(self) -> None:
        """Stop delivering; up to a window's worth is kept."""
        if self._channel is not None:
            self._channel.pause_reading()

    def resume_reading(self) -> None:
        """Deliver again."""
        if self._channel is not None:
            self._channel.resume_reading()

    @property
    def _username(self) -> str:
        return str(self._connection.get_extra_info("username"))

    def _refuse(self, what: str) -> bool:
        log.info("refused %s to %s from %s", what, self._username, self._connection.source_host)
        return False

    def _finish(self, status: int) -> None:
        if self._channel is not None and not self._closing:
            self._closing = True
            self._channel.exit(status)
            self._deadline = asyncio.get_running_loop().call_later(CLOSE_TIMEOUT, self.abort)

    def _end(self, exc: Exception | None) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        receiver, self._receiver = self._receiver, None
        if receiver is not None:
            self._connection.count_session(-1)
            receiver.connection_lost(exc)


def _note(reasons: set[str], reason: str, *, hold: bool) -> None:
    if hold:
        reasons.add(reason)
    else:
        reasons.discard(reason)
