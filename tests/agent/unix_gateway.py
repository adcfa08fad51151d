"""A local socket with echoing sessions."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from agent.unix import UnixListener, listen
from tests.agent.echo import DEADLINE, Echo

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

    from agent.link import Peer, Receiver, Transport


def run(gateway: Gateway, scenario: Callable[[], Coroutine[None, None, None]]) -> None:
    """Run a scenario against a socket that is closed afterwards."""

    async def main() -> None:
        listener = await gateway.start()
        try:
            async with asyncio.timeout(DEADLINE * 2):
                await scenario()
        finally:
            await listener.close()
        assert not gateway.path.exists()
        assert all(session.events[-1:] == ["lost"] for session in gateway.sessions)

    asyncio.run(main())


class Gateway:
    """A local socket with echoing sessions."""

    def __init__(self, path: Path, hello: bytes = b"") -> None:
        self.path = path
        self.hello = hello
        self.sessions: list[Echo] = []
        self.refusal: Exception | None = None

    def connect(self, peer: Peer, transport: Transport) -> Receiver:
        if self.refusal is not None:
            raise self.refusal
        self.sessions.append(Echo(peer, transport, self.hello))
        self.sessions[-1].polite = True
        return self.sessions[-1]

    async def start(self) -> UnixListener:
        return await listen(self.connect, path=self.path)

    async def client(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_unix_connection(self.path)
