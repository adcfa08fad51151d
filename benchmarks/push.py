"""What many subscribers to the same counters cost (RFC 8641): CPU time, and how often the device is read for them."""

from __future__ import annotations

import asyncio
import ctypes
import os
import time
from contextlib import AsyncExitStack, contextmanager
from typing import TYPE_CHECKING, Final

import payload
from connection import client_options, open_session
from measure import Goal, Row
from openssh import Session
from servers import BenchmarkError, agent, cpu_seconds, floor, gateway

import simulator

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from pathlib import Path

    import asyncssh
    from measure import Counts
    from servers import Place, Server

    Client = tuple[asyncssh.SSHWriter[bytes], asyncssh.SSHReader[bytes]]

_DEVICE: Final = "0000:3d:00.0"
_PERIOD: Final = 1.0
_LATE: Final = 30.0
_AT_ONCE: Final = 8
_IN_OPEN: Final = 0x20
_EVENT: Final = 16  # bytes of one of inotify's events of a file


def subscribers(place: Place, counts: Counts) -> list[Row]:
    """Measure while every session gets one device's flows each second."""
    with (
        gateway(place, "push-machine", [f"c6xx@{_DEVICE}"]) as machine,
        agent(place, machine=machine, state=place.folder / "push") as ours,
        Session(place, ours) as session,
    ):
        session.timed(payload.enable(), payload.commit())
        simulator.stop(machine)  # what moves the counters takes CPU time, too
        file = machine / "sys/kernel/debug" / f"qat_c6xx_{_DEVICE}" / "fw_counters"
        cpu, reads, update = asyncio.run(_pushed(place, counts, ours, file))
        with floor(place, update) as theirs:
            canned = asyncio.run(_canned(place, counts, theirs))
    name = f"{counts.sessions} subscribers to"
    return [
        Row(f"CPU, {name} one device's flows, each second", "% of a core", cpu, canned, 1),
        Row(f"reads of the device, {name} its flows, each second", "reads/s", reads, 1 / _PERIOD, 1, Goal(1.5)),
    ]


async def _pushed(place: Place, counts: Counts, server: Server, file: Path) -> tuple[float, float, bytes]:
    """Return the CPU time in percent, the reads of a file each second, and an update."""
    async with AsyncExitStack() as stack:
        clients = await _clients(stack, place, counts, server)
        request = payload.push_device(_DEVICE, "flows", round(_PERIOD * 100))
        for writer, _reader in clients:
            writer.write(request)
        replies = await asyncio.gather(*(_next(reader) for _writer, reader in clients))
        if any(b"<id" not in reply for reply in replies):
            raise BenchmarkError(f"a subscription is refused: {replies[0].decode(errors='replace')[:500]}")
        await asyncio.gather(*(_next(reader) for _writer, reader in clients))

        async def updates() -> list[bytes]:
            return await asyncio.gather(*(_next(reader) for _writer, reader in clients))

        update = (await updates())[0]  # the first one that all get together
        if b"<flows>" not in update:
            raise BenchmarkError(f"an update has no <flows>: {update.decode(errors='replace')[:500]}")
        with _opened(file) as reads:
            cpu, seconds = await _cpu(server, counts, updates)
            return cpu, len(reads) / seconds, update


async def _canned(place: Place, counts: Counts, server: Server) -> float:
    """Return the CPU time of a server that is asked by everybody each second."""
    request = payload.commit()
    async with AsyncExitStack() as stack:
        clients = await _clients(stack, place, counts, server)

        async def answers() -> None:
            due = asyncio.get_running_loop().time() + _PERIOD
            for writer, _reader in clients:
                writer.write(request)
            await asyncio.gather(*(_next(reader) for _writer, reader in clients))
            await asyncio.sleep(due - asyncio.get_running_loop().time())

        await answers()
        return (await _cpu(server, counts, answers))[0]


async def _clients(stack: AsyncExitStack, place: Place, counts: Counts, server: Server) -> list[Client]:
    options = await client_options(place)
    clients: list[Client] = []
    while len(clients) < counts.sessions:
        batch = min(counts.sessions - len(clients), _AT_ONCE)
        clients += await asyncio.gather(*(open_session(stack, server, options) for _ in range(batch)))
    return clients


async def _next(reader: asyncssh.SSHReader[bytes]) -> bytes:
    async with asyncio.timeout(_LATE):
        return await reader.readuntil(payload.END_OF_MESSAGE)


async def _cpu(server: Server, counts: Counts, once: Callable[[], Awaitable[object]]) -> tuple[float, float]:
    """Return the CPU time in percent of a core while something is done each second, and how long that takes."""
    before, began = cpu_seconds(server), time.perf_counter()
    for _ in range(max(1, round(counts.seconds / _PERIOD))):
        await once()
    seconds = time.perf_counter() - began
    return (cpu_seconds(server) - before) / seconds * 100, seconds


@contextmanager
def _opened(file: Path) -> Iterator[list[None]]:
    """Give a list that grows by one each time that anybody opens a file (inotify)."""
    libc = ctypes.CDLL(None, use_errno=True)
    watch = libc.inotify_init1(os.O_NONBLOCK)
    if watch < 0 or libc.inotify_add_watch(watch, os.fsencode(file), _IN_OPEN) < 0:
        raise BenchmarkError(f"{file} can't be watched: {os.strerror(ctypes.get_errno())}")
    opened: list[None] = []
    loop = asyncio.get_running_loop()
    loop.add_reader(watch, lambda: opened.extend([None] * (len(os.read(watch, 4096)) // _EVENT)))
    try:
        yield opened
    finally:
        loop.remove_reader(watch)
        os.close(watch)
