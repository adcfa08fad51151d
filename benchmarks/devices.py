"""How long a controller waits for one device's counters on a big machine."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import payload
from measure import Goal, compare, milliseconds
from openssh import Session
from servers import BenchmarkError, agent, floor, gateway

import simulator

if TYPE_CHECKING:
    from pathlib import Path

    from measure import Counts, Row
    from servers import Place

_FAMILY: Final = "dh895xcc"  # has the most interrupt vectors


def counters(place: Place, counts: Counts) -> list[Row]:
    """Measure ``<get>`` of one device's flows and of its interrupts, every device up."""
    devices = [f"{_FAMILY}@0000:{bus:02x}:00.0" for bus in range(0x10, 0x10 + counts.devices)]
    with (
        gateway(place, "big-machine", devices, cpus=counts.cpus) as machine,
        agent(place, machine=machine, state=place.folder / "big") as server,
        Session(place, server) as session,
    ):
        session.timed(payload.enable(), payload.commit())
        # The counters stand still from here on: what moves them takes CPU time, too.
        simulator.stop(machine)
        address = devices[len(devices) // 2].partition("@")[2]
        on = f"{counts.devices} devices, {counts.cpus} CPUs"
        folder = machine / "sys/kernel/debug" / f"qat_{_FAMILY}_{address}"
        return [
            _row(place, counts, session, address, "flows", on, folder / "fw_counters", Goal(3)),
            _row(place, counts, session, address, "interrupt", on, machine / "proc/interrupts", None),
        ]


def _row(  # noqa: PLR0913, PLR0917 - private, and called twice
    place: Place,
    counts: Counts,
    session: Session,
    address: str,
    container: str,
    on: str,
    file: Path,
    goal: Goal | None,
) -> Row:
    """Measure one container. The floor: the same bytes as a canned reply, and one reading of the file behind them."""
    request = payload.get_device(address, container)
    reply = session.ask(request)
    if f"<{container}>".encode() not in reply:
        raise BenchmarkError(f"{address} reports no <{container}>: {reply.decode(errors='replace')[:500]}")

    def canned_and_read() -> list[float]:
        times = []
        for _ in range(counts.commits):
            started = time.perf_counter()
            file.read_bytes()
            times.append(time.perf_counter() - started + canned.timed(request))
        return times

    with floor(place, reply) as theirs, Session(place, theirs) as canned:
        pair = compare(
            lambda: [session.timed(request) for _ in range(counts.commits)], canned_and_read, rounds=counts.turns
        )
    values = reply.count(b"</") - reply.count(b"</data>")
    name = f"get of one device's {container.removesuffix('s')}s, {on} ({values:,} nodes), p50"
    return milliseconds(name, pair, goal)
