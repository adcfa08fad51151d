"""How long one session waits: to read, to change one leaf, to fill a long list."""

from __future__ import annotations

import os
import time
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

import payload
from measure import Goal, compare, milliseconds, take_turns
from openssh import Session
from servers import agent, floor, gateway

if TYPE_CHECKING:
    from collections.abc import Iterator

    from measure import Counts, Row, Side
    from servers import Place

MEMORY: Final = Path("/dev/shm")  # noqa: S108 - a file system where durable costs nothing
_CHANGED: Final = 7


def read(place: Place, counts: Counts) -> list[Row]:
    """Measure get-config of one container; the floor answers with the same bytes."""
    with (
        gateway(place, "read-machine") as machine,
        agent(place, machine=machine, state=place.folder / "read") as ours,
        Session(place, ours) as session,
    ):
        session.timed(payload.health(20), payload.commit())
        request = payload.get_health()
        with floor(place, session.ask(request)) as theirs, Session(place, theirs) as canned:
            pair = compare(
                _repeat(session, counts.requests, request),
                _repeat(canned, counts.requests, request),
                rounds=counts.turns,
            )
    return [
        milliseconds("get-config, subtree filter, p50", pair, Goal(0.4)),
        milliseconds("get-config, subtree filter, p99", pair, percent=99),
    ]


def change(place: Place, counts: Counts) -> list[Row]:
    """Measure commits: of one leaf, with state in memory and on disk, in a short and in a long list; of the list."""
    rows = []
    with ExitStack() as stack:
        machine = stack.enter_context(gateway(place, "change-machine"))
        states = {"durable": place.folder / "durable"}
        if MEMORY.is_dir():
            in_memory = stack.enter_context(TemporaryDirectory(prefix="accel-agent-bench-", dir=MEMORY))
            states["in memory"] = Path(in_memory) / "memory"
        opened = {}
        for name, state in states.items():
            server = stack.enter_context(agent(place, machine=machine, state=state))
            opened[name] = stack.enter_context(Session(place, server))
        canned = stack.enter_context(Session(place, stack.enter_context(floor(place))))
        writes = place.folder / "writes"
        writes.mkdir()
        for session in opened.values():
            session.timed(payload.health(20), payload.fill(range(_CHANGED + 1)), payload.commit())
        rows += _one_leaf(opened, canned, states, writes, rounds=counts.turns * counts.commits)
        rows.append(_acceleration_leaf(next(reversed(opened.values())), canned, counts))
        rows.append(_fill(opened["durable"], canned, counts))
        for session in opened.values():
            session.timed(payload.fill(range(counts.entries)), payload.commit())
        suffix = f" in {counts.entries:,} entries"
        rows += _one_leaf(opened, canned, states, writes, rounds=counts.slow_turns, suffix=suffix)
        rows.append(_get_all(place, opened["durable"], counts))
    return rows


def _one_leaf(
    opened: dict[str, Session],
    canned: Session,
    states: dict[str, Path],
    writes: Path,
    *,
    rounds: int,
    suffix: str = "",
) -> list[Row]:
    """Change a leaf to ever new values. What is durable has a floor of two replies and one durable write."""
    values = iter(range(1000, 1_000_000_000))
    document = (states["durable"] / "running.xml").read_bytes()

    def edits(session: Session) -> Side:
        return lambda: [session.timed(payload.change(_CHANGED, next(values)), payload.commit())]

    def durable_floor() -> list[float]:
        return [sum((*edits(canned)(), _durable_write(writes, document)))]

    goals = {"durable": None, "in memory": Goal(40 if suffix else 2)}
    sides = [*map(edits, opened.values()), edits(canned), durable_floor]
    *measured, replies, written = take_turns(sides, rounds=rounds)
    floors = {"durable": written, "in memory": replies}
    return [
        milliseconds(f"edit-config + commit of one leaf{suffix}, {name}, p50", (times, floors[name]), goals[name])
        for name, times in zip(opened, measured, strict=True)
    ]


def _acceleration_leaf(session: Session, canned: Session, counts: Counts) -> Row:
    """Change a leaf that the translators look after, and which changes nothing on the machine."""
    intervals: Iterator[int] = iter(range(100, 1_000_000))

    def edits(which: Session) -> Side:
        return lambda: [
            which.timed(payload.health(100 + next(intervals) % 3000), payload.commit()) for _ in range(counts.commits)
        ]

    pair = compare(edits(session), edits(canned), rounds=counts.turns)
    return milliseconds("edit-config + commit of one leaf of acceleration, in memory, p50", pair)


def _fill(session: Session, canned: Session, counts: Counts) -> Row:
    """Fill the list, and empty it again untimed."""

    def filling(which: Session) -> Side:
        def once() -> list[float]:
            seconds = which.timed(payload.fill(range(counts.entries)), payload.commit())
            which.timed(payload.empty(), payload.commit())
            return [seconds]

        return once

    pair = compare(filling(session), filling(canned), rounds=counts.fills)
    return milliseconds(f"edit-config of {counts.entries:,} entries + commit, durable", pair, Goal(900))


def _get_all(place: Place, session: Session, counts: Counts) -> Row:
    request = payload.get_items()
    with floor(place, session.ask(request)) as theirs, Session(place, theirs) as canned:
        pair = compare(_repeat(session, 1, request), _repeat(canned, 1, request), rounds=counts.slow_turns)
    return milliseconds(f"get of {counts.entries:,} entries, p50", pair, Goal(200))


def _repeat(session: Session, times: int, request: bytes) -> Side:
    return lambda: [session.timed(request) for _ in range(times)]


def _durable_write(folder: Path, document: bytes) -> float:
    """Return the seconds that it takes to write a file that survives a power failure, whole or not at all."""
    started = time.perf_counter()
    new = folder / "new"
    with new.open("wb") as file:
        file.write(document)
        file.flush()
        os.fsync(file.fileno())
    new.replace(folder / "file")
    directory = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
    return time.perf_counter() - started
