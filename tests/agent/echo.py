"""A session that is simple enough to see through, for the tests of the transports."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent.link import Peer, Transport

HELLO = b"<hello/>]]>]]>"
DEADLINE = 20.0


async def until(condition: Callable[[], object]) -> None:
    """Wait for a condition."""
    async with asyncio.timeout(DEADLINE):
        while not condition():  # noqa: ASYNC110 - anything may be waited for
            await asyncio.sleep(0.005)


class Echo:
    """A session that sends back what it gets, and notes what happens to it."""

    def __init__(self, peer: Peer, transport: Transport, hello: bytes) -> None:
        self.peer = peer
        self.transport = transport
        self.received = bytearray()
        self.events: list[str] = []
        self.echo = True
        # A polite session takes no requests while its replies aren't read.
        self.polite = False
        transport.write(hello)

    def data_received(self, data: bytes) -> None:
        self.received += data
        if self.echo:
            self.transport.write(data)

    def eof_received(self) -> None:
        self.events.append("eof")
        # As when the last request takes some time.
        asyncio.get_running_loop().call_later(0.02, self.finish)

    def finish(self) -> None:
        self.transport.write(b"bye")
        self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self.events.append("lost")

    def pause_writing(self) -> None:
        self.events.append("pause")
        if self.polite:
            self.transport.pause_reading()

    def resume_writing(self) -> None:
        self.events.append("resume")
        if self.polite:
            self.transport.resume_reading()
