"""How many requests a second are answered while several are under way."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

import payload
from measure import Goal, Row, compare
from openssh import Session, rate, sessions
from servers import agent, floor, gateway

if TYPE_CHECKING:
    from measure import Counts, Side
    from servers import Place


def throughput(place: Place, counts: Counts) -> list[Row]:
    """Measure get-config by subtree filter in one session with 64 under way, in ten with 8 each."""
    request = payload.get_health()
    with (
        gateway(place, "throughput-machine") as machine,
        agent(place, machine=machine, state=place.folder / "throughput") as ours,
        Session(place, ours) as session,
    ):
        session.timed(payload.health(20), payload.commit())
        with floor(place, session.ask(request)) as theirs:
            rows = []
            for number, window in ((1, 64), (10, 8)):
                with sessions(place, ours, number) as own, sessions(place, theirs, number) as canned:
                    each = max(window, counts.rpcs // number)
                    pair = compare(
                        _rate(own, request, window, each), _rate(canned, request, window, each), rounds=counts.rounds
                    )
                name = f"{number} session{'s' if number > 1 else ''}, window {window}"
                agents, floors = (median(side) for side in pair)
                goal = Goal(5000, at_least=True)
                rows.append(Row(f"get-config, {name}", "RPC/s", agents, floors, counts.rounds, goal))
    return rows


def _rate(opened: list[Session], request: bytes, window: int, count: int) -> Side:
    return lambda: [rate(opened, request, window=window, count=count)]
