"""What the agent costs while nobody asks anything: memory, CPU time; and how soon it is there."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from statistics import median
from typing import TYPE_CHECKING, Final

from connection import client_options, open_session
from measure import Goal, Row, compare
from servers import agent, cpu_seconds, floor, gateway, resident

if TYPE_CHECKING:
    from measure import Counts
    from servers import Place, Server

_AT_ONCE: Final = 8


def start(place: Place, counts: Counts) -> list[Row]:
    """Measure from the start of the process to its ready line, on a machine and with keys that are there already."""
    with gateway(place, "start-machine") as machine:

        def ours() -> list[float]:
            with agent(place, machine=machine, state=place.folder / "start") as server:
                return [server.seconds]

        def theirs() -> list[float]:
            with floor(place) as server:
                return [server.seconds]

        ours()
        own, canned = compare(ours, theirs, rounds=counts.starts)
    return [Row("start to ready, p50", "s", median(own), median(canned), counts.starts, Goal(1))]


def idle(place: Place, counts: Counts) -> list[Row]:
    """Measure memory with one session and with many, and CPU time while all of them are idle."""
    with (
        gateway(place, "idle-machine") as machine,
        agent(place, machine=machine, state=place.folder / "idle") as ours,
        floor(place) as theirs,
    ):
        one, many, cpu = asyncio.run(_idle(place, counts, (ours, theirs)))
    name = f"{counts.sessions} idle sessions"
    return [
        Row("resident memory, 1 idle session", "MB", *one, 1, Goal(75)),
        Row(f"resident memory, {name}", "MB", *many, 1, Goal(85)),
        Row(f"CPU, {name}", "% of a core", *cpu, 1, Goal(0)),
    ]


async def _idle(
    place: Place, counts: Counts, servers: tuple[Server, Server]
) -> tuple[tuple[float, float], tuple[float, float], tuple[float, float]]:
    async with AsyncExitStack() as stack:
        options = await client_options(place)
        for server in servers:
            await open_session(stack, server, options)
        one = (resident(servers[0]), resident(servers[1]))
        left = counts.sessions - 1
        while left > 0:
            batch = min(left, _AT_ONCE)
            for server in servers:
                await asyncio.gather(*(open_session(stack, server, options) for _ in range(batch)))
            left -= batch
        many = (resident(servers[0]), resident(servers[1]))
        before = [cpu_seconds(server) for server in servers]
        await asyncio.sleep(counts.seconds)
        used = [cpu_seconds(server) - first for server, first in zip(servers, before, strict=True)]
        return one, many, (used[0] / counts.seconds * 100, used[1] / counts.seconds * 100)
