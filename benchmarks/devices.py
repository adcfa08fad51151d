"""How long a controller waits for what the devices of a big machine have counted."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import payload
from measure import Goal, compare, milliseconds, take_turns
from openssh import Session
from servers import BenchmarkError, agent, floor, gateway

import simulator

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from measure import Counts, Row, Side
    from servers import Place

# The kernel's own driver has them up from the start, each with 65 interrupts: what ``simulate --host big`` has.
_FAMILY: Final = "4xxx"


def counters(place: Place, counts: Counts) -> list[Row]:
    """Measure ``<get>`` of one device's flows, of its interrupts, and of all devices' interrupts; every device is up.

    The floor answers with the same bytes. For one device, it has one reading of the file behind them in it, and
    nothing that would parse it. For all, it has one reading and parsing of /proc/interrupts in it (``_parsed``), which
    alone is the floor of the last row: there, the agent's figure has the transfer in it and the floor's has not.
    """
    devices = [f"{_FAMILY}@0000:{bus:02x}:00.0" for bus in range(0x10, 0x10 + counts.devices)]
    with (
        gateway(place, "big-machine", devices, cpus=counts.cpus) as machine,
        agent(place, machine=machine, state=place.folder / "big") as server,
        Session(place, server) as session,
    ):
        # The counters stand still from here on: what moves them takes CPU time, too.
        simulator.stop(machine)
        address = devices[len(devices) // 2].partition("@")[2]
        folder = machine / "sys/kernel/debug" / f"qat_{_FAMILY}_{address}"
        asking = _Asking(place, counts, session)
        return [
            _one(asking, address, "flows", folder / "fw_counters", Goal(3)),
            _one(asking, address, "interrupt", machine / "proc/interrupts", None),
            *_all_interrupts(asking, machine / "proc/interrupts"),
        ]


@dataclass(frozen=True, slots=True)
class _Asking:
    """A session with the agent, and how much is asked."""

    place: Place
    counts: Counts
    session: Session

    @property
    def on(self) -> str:
        """The machine, for a row's name."""
        return f"{self.counts.devices} devices, {self.counts.cpus} CPUs"

    def reply(self, request: bytes, container: str) -> bytes:
        """Return what the agent answers, which must have the container."""
        reply = self.session.ask(request)
        if f"<{container}>".encode() not in reply:
            raise BenchmarkError(f"there is no <{container}>: {reply.decode(errors='replace')[:500]}")
        return reply

    def timed(self, request: bytes) -> Side:
        """Return the side of the agent."""
        return lambda: [self.session.timed(request) for _ in range(self.counts.commits)]

    def canned(self, canned: Session, request: bytes, work: Callable[[], object]) -> Side:
        """Return the side of a floor that does some work before it answers."""
        return lambda: [_seconds(work) + canned.timed(request) for _ in range(self.counts.commits)]


def _one(asking: _Asking, address: str, container: str, file: Path, goal: Goal | None) -> Row:
    """Measure one container of one device."""
    request = payload.get_device(address, container)
    reply = asking.reply(request, container)
    with floor(asking.place, reply) as theirs, Session(asking.place, theirs) as canned:
        pair = compare(
            asking.timed(request), asking.canned(canned, request, file.read_bytes), rounds=asking.counts.turns
        )
    name = f"get of one device's {container.removesuffix('s')}s, {asking.on} ({_nodes(reply):,} nodes), p50"
    return milliseconds(name, pair, goal)


def _all_interrupts(asking: _Asking, file: Path) -> list[Row]:
    """Measure all interrupts of all devices, against two floors."""
    request = payload.get_devices("interrupt")
    reply = asking.reply(request, "interrupt")

    def parsed() -> object:
        return _parsed(file.read_bytes())

    with floor(asking.place, reply) as theirs, Session(asking.place, theirs) as canned:
        ours, carried, alone = take_turns(
            [
                asking.timed(request),
                asking.canned(canned, request, parsed),
                lambda: [_seconds(parsed) for _ in range(asking.counts.commits)],
            ],
            rounds=asking.counts.slow_turns,
        )
    name = f"get of all interrupts, {asking.on} ({_nodes(reply):,} nodes), p50"
    goal = Goal(1.5, times_floor=True)
    return [milliseconds(name, (ours, carried), goal), milliseconds(f"{name}, by parsing alone", (ours, alone), goal)]


def _parsed(data: bytes) -> dict[bytes, list[int]]:
    """Return the count for each CPU of each interrupt of a QAT device, by the interrupt's number.

    It is the least that gives a number for each: split a row where there are blanks, and make integers of as many
    words as there are CPUs. It looks at no name, address or number of words, and nothing is made of the integers.
    """
    head, _, rest = data.partition(b"\n")
    cpus = len(head.split())
    rows = (row.partition(b":") for row in rest.split(b"\n") if b"qat" in row)
    return {label: list(map(int, text.split(None, cpus)[:cpus])) for label, _colon, text in rows}


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _nodes(reply: bytes) -> int:
    return reply.count(b"</") - reply.count(b"</data>")
