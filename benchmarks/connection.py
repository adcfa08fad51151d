"""How long it takes to connect, with two clients: OpenSSH's, and asyncssh's as a second opinion."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Final

import asyncssh
from measure import Goal, compare, milliseconds
from openssh import Session
from payload import END_OF_HELLO, HELLO
from servers import USER, agent, floor, gateway

if TYPE_CHECKING:
    from measure import Counts, Row
    from servers import Place, Server

_ANSWER: Final = 30.0


def connect(place: Place, counts: Counts) -> list[Row]:
    """Measure from the start of a client to the server's whole hello; OpenSSH's client is a process of its own."""

    def by_openssh(server: Server) -> list[float]:
        with Session(place, server) as session:
            return [session.seconds]

    def by_asyncssh(server: Server) -> list[float]:
        return [asyncio.run(_timed(place, server))]

    with (
        gateway(place, "connect-machine") as machine,
        agent(place, machine=machine, state=place.folder / "connect") as ours,
        floor(place) as theirs,
    ):
        first = compare(lambda: by_openssh(ours), lambda: by_openssh(theirs), rounds=counts.connects)
        second = compare(lambda: by_asyncssh(ours), lambda: by_asyncssh(theirs), rounds=counts.connects)
    goal = Goal(1.2, times_floor=True)
    return [
        milliseconds("connect + hello, OpenSSH's client, p50", first, goal),
        milliseconds("connect + hello, asyncssh's client, p50", second, goal),
    ]


async def client_options(place: Place) -> asyncssh.SSHClientConnectionOptions:
    """Return how asyncssh's client logs in; its order of ciphers is OpenSSH's without ChaCha20."""
    options: asyncssh.SSHClientConnectionOptions = await asyncssh.SSHClientConnectionOptions.construct(
        username=USER,
        client_keys=[str(place.key)],
        known_hosts=None,
        agent_path=None,
        config=None,
        encryption_algs=["aes128-gcm@openssh.com"],
        kex_algs=["curve25519-sha256"],
    )
    return options


async def open_session(
    stack: AsyncExitStack, server: Server, options: asyncssh.SSHClientConnectionOptions
) -> tuple[asyncssh.SSHWriter[bytes], asyncssh.SSHReader[bytes]]:
    """Open an SSH connection with one session, for as long as the stack lasts, and exchange hellos."""
    async with asyncio.timeout(_ANSWER):
        connection = await stack.enter_async_context(asyncssh.connect("127.0.0.1", server.port, options=options))
        writer, reader, _errors = await connection.open_session(subsystem="netconf", encoding=None)
        await reader.readuntil(END_OF_HELLO)
        writer.write(HELLO)
        return writer, reader


async def _timed(place: Place, server: Server) -> float:
    options = await client_options(place)
    async with AsyncExitStack() as stack:
        started = time.perf_counter()
        await open_session(stack, server, options)
        return time.perf_counter() - started
