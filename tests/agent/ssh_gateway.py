"""An SSH listener with echoing sessions, and asyncssh as its client."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

import asyncssh

from agent.settings import Address, Limits, Ssh
from agent.ssh import SshListener, listen
from tests.agent.echo import DEADLINE, HELLO, Echo, until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine
    from pathlib import Path

    from agent.link import Peer, Receiver, Transport

PASSWORD = "Grüße-an-9-Tunnel"


def run(folder: Path, scenario: Callable[[Gateway], Coroutine[None, None, None]], limits: Limits | None = None) -> None:
    """Run a scenario against a listener that is closed afterwards."""

    async def main() -> None:
        gateway = Gateway(folder)
        await gateway.start(limits)
        try:
            async with asyncio.timeout(DEADLINE * 2):
                await scenario(gateway)
        finally:
            await gateway.listener.close()
        await until(lambda: all(session.events[-1:] == ["lost"] for session in gateway.sessions))

    asyncio.run(main())


@contextlib.asynccontextmanager
async def netconf(
    connection: asyncssh.SSHClientConnection, **options: object
) -> AsyncIterator[tuple[asyncssh.SSHWriter[bytes], asyncssh.SSHReader[bytes]]]:
    """Open a NETCONF channel and take its hello."""
    writer, reader, _ = await connection.open_session(subsystem="netconf", encoding=None, **options)
    assert await reader.readexactly(len(HELLO)) == HELLO
    yield writer, reader


def socket_of(connection: asyncssh.SSHClientConnection) -> asyncio.Transport:
    """Return the client's side of the TCP connection."""
    transport = connection._transport
    assert transport is not None
    return transport


class Gateway:
    """An SSH listener with echoing sessions, and the files it uses."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.sessions: list[Echo] = []
        self.hello = HELLO
        self.refusal: Exception | None = None
        self.key = asyncssh.generate_private_key("ssh-ed25519")
        (folder / "keys").mkdir()
        self.authorize("anna", self.key)
        self.listener: SshListener

    def authorize(self, user: str, key: asyncssh.SSHKey, *, options: str = "") -> Path:
        path = self.folder / "keys" / user
        path.write_text(options + key.export_public_key().decode())
        path.chmod(0o644)
        return path

    def connect(self, peer: Peer, transport: Transport) -> Receiver:
        if self.refusal is not None:
            raise self.refusal
        self.sessions.append(Echo(peer, transport, self.hello))
        return self.sessions[-1]

    async def start(self, limits: Limits | None = None, *, host: str = "127.0.0.1") -> None:
        self.listener = await listen(
            self.connect,
            address=Address(host, 0),
            ssh=Ssh(
                host_keys=(self.folder / "ssh_host_ed25519_key",),
                authorized_keys=f"{self.folder}/keys/%u",
            ),
            limits=limits or Limits(),
            passwords={"berta": PASSWORD},
        )

    def client(self, **options: object) -> contextlib.AbstractAsyncContextManager[asyncssh.SSHClientConnection]:
        defaults: dict[str, object] = {
            "username": "anna",
            "client_keys": [self.key],
            "known_hosts": None,
            "config": None,
            "agent_path": None,
        }
        return asyncssh.connect("127.0.0.1", self.listener.port, **(defaults | options))
