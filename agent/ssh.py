"""NETCONF over SSH (RFC 6242): listening, and who may log in."""

from __future__ import annotations

import asyncio
import errno
import logging
from typing import TYPE_CHECKING, Final, cast

import asyncssh

from agent.groups import groups_of
from agent.keys import AuthorizedKeys, load_host_keys
from agent.passwords import Passwords
from agent.settings import LISTEN, Address, StartError
from agent.ssh_connection import Channel, Connection

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agent.link import Connect
    from agent.settings import Limits, Ssh

# The client's order decides, this list only says what it may choose. Most clients put ChaCha20 first: it is
# left out as it costs 40 % of the requests a second, for CPUs have instructions for AES, and none for it.
ENCRYPTION: Final = (
    "aes256-gcm@openssh.com",
    "aes128-gcm@openssh.com",
    "aes256-ctr",
    "aes192-ctr",
    "aes128-ctr",
)
MAC: Final = (
    "hmac-sha2-256-etm@openssh.com",
    "hmac-sha2-512-etm@openssh.com",
    "hmac-sha2-256",
    "hmac-sha2-512",
)
# The NIST curves and group 14 are there for older clients; nothing rests on SHA-1.
KEY_EXCHANGE: Final = (
    "curve25519-sha256",
    "curve25519-sha256@libssh.org",
    "ecdh-sha2-nistp256",
    "ecdh-sha2-nistp384",
    "ecdh-sha2-nistp521",
    "diffie-hellman-group16-sha512",
    "diffie-hellman-group14-sha256",
)
WINDOW: Final = 2 * 1024 * 1024
PACKET: Final = 32 * 1024
MOST_FAILURES: Final = 10
# Seconds from an attempt to its refusal: more than any check takes, so as not to show whether a user exists.
KEY_REFUSAL: Final = 0.02
PASSWORD_REFUSAL: Final = 1.0

log = logging.getLogger(__name__)


async def listen(
    connect: Connect,
    *,
    address: Address,
    ssh: Ssh,
    limits: Limits,
    passwords: Mapping[str, str] | None = None,
) -> SshListener:
    """Serve NETCONF sessions over SSH on one address.

    ``passwords`` are those of users who may log in with one. No user need be a user of this machine.
    Raises StartError.
    """
    listener = SshListener(limits)
    keys = load_host_keys(ssh.host_keys)
    authorized_keys = AuthorizedKeys(ssh.authorized_keys)
    known_passwords = Passwords(passwords or {})
    asyncssh_log = logging.getLogger("asyncssh")
    if asyncssh_log.level == logging.NOTSET:
        # Each connection and channel is told of there, and names come unquoted.
        asyncssh_log.setLevel(logging.WARNING)
    options = await asyncssh.SSHServerConnectionOptions.construct(
        server_factory=lambda: _Server(listener, connect, authorized_keys, known_passwords, limits),
        server_host_keys=keys,
        server_version="accel-agent",
        encryption_algs=ENCRYPTION,
        mac_algs=MAC,
        kex_algs=KEY_EXCHANGE,
        compression_algs=None,
        x509_trusted_certs=None,
        gss_host=None,
        host_based_auth=False,
        kbdint_auth=False,
        agent_forwarding=False,
        allow_pty=False,
        line_editor=False,
        encoding=None,
        window=WINDOW,
        max_pktsize=PACKET,
        login_timeout=0,  # the listener's own, which also covers those who logged in and open no session
        keepalive_interval=ssh.keepalive,
    )
    await listener.start(address, options)
    return listener


class SshListener:
    """Takes SSH connections on one address until it is closed."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._server: asyncio.Server | None = None
        self._connections: set[Connection] = set()
        # Connections without a session, the one that has waited longest first, and the end of their time.
        self._pending: dict[Connection, asyncio.TimerHandle] = {}

    @property
    def addresses(self) -> tuple[Address, ...]:
        """Where it listens; a host name may stand for several addresses."""
        sockets = self._server.sockets if self._server is not None else ()
        return tuple(Address(*sock.getsockname()[:2]) for sock in sockets)

    @property
    def port(self) -> int:
        """The port, also where a free one was asked for."""
        return self.addresses[0].port

    async def start(self, address: Address, options: asyncssh.SSHServerConnectionOptions) -> None:
        """Listen. Raises StartError."""
        loop = asyncio.get_running_loop()
        try:
            self._server = await loop.create_server(
                lambda: Connection(loop, options, on_sessions=self.sessions_changed),
                address.host,
                address.port,
            )
        except OSError as exc:
            raise _refusal(address, exc.errno, str(exc)) from None
        if not self._server.sockets:
            # Until Python 3.12 asyncio takes an address family that the kernel lacks for no address at all.
            raise _refusal(address, errno.EAFNOSUPPORT, "")

    async def close(self) -> None:
        """Stop listening and end all connections."""
        if self._server is None:
            return
        self._server.close()
        for connection in tuple(self._connections):
            connection.close()
        await asyncio.gather(*(connection.wait_closed() for connection in tuple(self._connections)))
        await self._server.wait_closed()

    def opened(self, connection: Connection) -> None:
        """Take note of a new connection."""
        self._connections.add(connection)
        self.sessions_changed(connection)

    def closed(self, connection: Connection) -> None:
        """Take note of a connection's end."""
        self._connections.discard(connection)
        self._remove_pending(connection)

    def sessions_changed(self, connection: Connection) -> None:
        """Bound the number of connections without a session, and their time.

        Beyond the number the oldest has to go: it has had more time than a login takes, while the newest may
        be a client that must get in, whoever else holds connections open.
        """
        self._remove_pending(connection)
        if connection.sessions or connection not in self._connections:
            return
        timer = asyncio.get_running_loop().call_later(
            self._limits.login_timeout, self._drop, connection, "no session was started in time"
        )
        self._pending[connection] = timer
        if len(self._pending) > self._limits.pending_connections:
            self._drop(next(iter(self._pending)), "too many connections without a session")

    def _remove_pending(self, connection: Connection) -> None:
        timer = self._pending.pop(connection, None)
        if timer is not None:
            timer.cancel()

    def _drop(self, connection: Connection, reason: str) -> None:
        self._remove_pending(connection)
        log.info("disconnected %s: %s", connection.source_host, reason)
        connection.disconnect(asyncssh.DISC_BY_APPLICATION, reason)


class _Server(asyncssh.SSHServer):
    """Who may log in on one connection, and how many channels they get."""

    def __init__(
        self,
        listener: SshListener,
        connect: Connect,
        authorized_keys: AuthorizedKeys,
        passwords: Passwords,
        limits: Limits,
    ) -> None:
        self._listener = listener
        self._connect = connect
        self._authorized_keys = authorized_keys
        self._passwords = passwords
        self._limits = limits
        self._failures = 0
        self._next_try = 0.0

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._connection = cast("Connection", conn)
        self._listener.opened(self._connection)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self._listener.closed(self._connection)

    def begin_auth(self, username: str) -> bool:  # noqa: ARG002
        """Ask for authentication: False would let anybody in."""
        return True

    def public_key_auth_supported(self) -> bool:
        """Say so for any user, whether there is one or not."""
        return True

    async def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        """Return whether the key is the user's; asyncssh then checks that the client has its private part."""

        def check() -> bool:
            return self._authorized_keys.allow(username, key, address=self._connection.source_host)

        return await self._try(check, KEY_REFUSAL, what="public key", username=username)

    def password_auth_supported(self) -> bool:
        """Say so for any user, where some user has a password."""
        return bool(self._passwords)

    async def validate_password(self, username: str, password: str) -> bool:
        """Return whether it is the user's password."""

        def check() -> bool:
            return self._passwords.match(username, password)

        return await self._try(check, PASSWORD_REFUSAL, what="password", username=username)

    def auth_completed(self) -> None:
        self._connection.logging_in = False
        username = self._connection.get_extra_info("username")
        log.info("%s logged in from %s", username, self._connection.source_host)

    def session_requested(self) -> Channel:
        """Open a channel. The other kinds of channels, and forwarding, are refused by asyncssh's defaults."""
        if len(self._connection.channels) >= self._limits.sessions_per_connection:
            raise asyncssh.ChannelOpenError(
                asyncssh.OPEN_RESOURCE_SHORTAGE,
                f"a connection may have {self._limits.sessions_per_connection} channels",
            )
        return Channel(self._connection, self._connect)

    async def _try(self, check: Callable[[], bool], refusal: float, *, what: str, username: str) -> bool:
        """Make a check, unless there were too many; a refusal takes its time, also when it isn't waited for.

        A client may send its next attempt at once, for which asyncssh cancels this one.
        """
        await self._pause()
        if self._failures < MOST_FAILURES:
            self._next_try = asyncio.get_running_loop().time() + refusal
            if check():
                self._next_try = 0.0
                return await self._know_groups(username)
            self._failures += 1
            log.info("login refused: %s of %r from %s", what, username[:80], self._connection.source_host)
            await self._pause()
        if self._failures >= MOST_FAILURES:
            self._connection.disconnect(
                asyncssh.DISC_NO_MORE_AUTH_METHODS_AVAILABLE, "too many failed logins on this connection"
            )
        return False

    async def _know_groups(self, username: str) -> bool:
        """Return whether the machine says which groups a user is in."""
        try:
            self._connection.groups = await groups_of(username)
        except TimeoutError:
            log.warning("login refused: the machine does not say the groups of %s", username)
            return False
        return True

    async def _pause(self) -> None:
        """Wait for the next attempt's time; what the client sends meanwhile stays in the socket."""
        seconds = self._next_try - asyncio.get_running_loop().time()
        if seconds > 0:
            self._connection.hold_reading("login refused", hold=True)
            try:
                await asyncio.sleep(seconds)
            finally:
                self._connection.hold_reading("login refused", hold=False)


def _refusal(address: Address, number: int | None, text: str) -> StartError:
    """Return what to say of an address that can't be listened on, and what to do about it."""
    if number == errno.EADDRINUSE:
        said = "the port is taken: stop what uses it (ss -ltnp shows it), or change"
    elif number == errno.EACCES:
        said = "not permitted: ports below 1024 need root or CAP_NET_BIND_SERVICE; become root, or change"
    elif number in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT, None):
        # Without a number: asyncio's, since Python 3.12, when no address at all could be bound.
        said = "this machine has no such address: correct"
    else:
        said = f"{text}: correct"
    return StartError(f"cannot listen on {address}: {said}", setting=LISTEN)
