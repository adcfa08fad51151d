"""Events on their way to one session: in order, none twice, none lost, no more than it reads."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from agent.streams import Span
from tests.agent.delivery_bench import NOW, Bench, play, settled
from tests.agent.server_bench import until

if TYPE_CHECKING:
    from pathlib import Path

    from agent.model.load import Model


@pytest.fixture
def bench(eventful: Model, tmp_path: Path) -> Bench:
    return Bench(eventful, tmp_path)


def test_nothing_is_sent_before_the_callback_that_began_it_is_through(bench: Bench) -> None:
    async def scenario() -> None:
        bench.publish("old")
        bench.deliver(Span(bench.streams.last))
        bench.publish("new")
        assert bench.sent == []
        await bench.hears("new")

    play(scenario)


def test_the_seam_between_the_past_and_the_present_loses_and_repeats_nothing(bench: Bench) -> None:
    async def scenario() -> None:
        bench.publish(*range(200))
        bench.deliver(Span(0, replay_to=200))
        for number in range(200, 300):
            bench.publish(number)
            await asyncio.sleep(0)
        await bench.hears(*range(200), "<replayed/>", *range(200, 300))

    play(scenario)


@pytest.mark.parametrize("old", [0, 63, 64, 65, 128])
def test_the_end_of_the_past_is_told_once_however_much_there_is(bench: Bench, old: int) -> None:
    async def scenario() -> None:
        bench.publish(*range(old))
        bench.deliver(Span(0, replay_to=old))
        await bench.hears(*range(old), "<replayed/>")
        bench.publish("new")
        await bench.hears(*range(old), "<replayed/>", "new")

    play(scenario)


def test_the_end_of_the_past_is_told_where_the_filter_lets_nothing_pass(bench: Bench) -> None:
    async def scenario() -> None:
        bench.publish("a", "b")
        bench.deliver(Span(0, replay_to=2), passes=lambda event: event.number > 2)
        bench.publish("c")
        await bench.hears("<replayed/>", "c")

    play(scenario)


def test_a_session_that_does_not_read_is_sent_nothing_and_then_all_of_it(bench: Bench) -> None:
    async def scenario() -> None:
        bench.session.writable = False
        bench.deliver()
        bench.publish(*range(500))
        await settled()
        assert bench.sent == []
        bench.session.writable = True
        for tell in bench.session.drained:
            tell()
        await bench.hears(*range(500))

    play(scenario)


def test_no_more_is_sent_once_the_session_is_full(bench: Bench) -> None:
    async def scenario() -> None:
        def take(message: bytes) -> None:
            bench.sent.append(message)
            bench.session.writable = len(bench.sent) < 10

        bench.session.notify = take
        bench.publish(*range(100))
        delivery = bench.deliver()
        await settled()
        assert len(bench.sent) == delivery.position == 10

    play(scenario)


def test_one_who_reads_slower_than_the_log_forgets_is_ended(eventful: Model, tmp_path: Path) -> None:
    bench = Bench(eventful, tmp_path, entries=8)

    async def scenario() -> None:
        bench.session.writable = False
        bench.deliver()
        bench.publish(*range(8))
        await settled()
        assert bench.marks == []
        bench.publish("one too many")
        await until(lambda: bench.marks)
        assert (bench.marks, bench.sent) == (["lost"], [])
        assert bench.session.drained == []

    play(scenario)


def test_others_have_a_turn_while_much_is_sent(bench: Bench) -> None:
    async def scenario() -> None:
        bench.publish(*range(1000))
        bench.deliver()
        turns = 0
        while len(bench.sent) < 1000:
            await asyncio.sleep(0)
            turns += 1
        assert turns > 10

    play(scenario)


@pytest.mark.parametrize("past", [False, True])
def test_it_ends_at_its_stop_time(bench: Bench, past: bool) -> None:
    async def scenario() -> None:
        stop = NOW + timedelta(seconds=10)
        bench.publish("a")
        if past:
            bench.time = stop + timedelta(seconds=1)
            bench.publish("too late")
        bench.deliver(Span(0, replay_to=bench.streams.last, stop=stop))
        await until(lambda: len(bench.sent) > 1)
        if not past:
            await settled()
            assert bench.marks == []
            bench.time = stop
            bench.publish("b")
            await until(lambda: bench.marks)
        await until(lambda: bench.marks)
        assert bench.heard == ["a", "<replayed/>", *([] if past else ["b"])]
        assert bench.marks == ["stopped"]
        bench.publish("c")
        await settled()
        assert len(bench.sent) == (2 if past else 3)

    play(scenario)


def test_it_ends_by_itself_when_nothing_happens_at_its_stop_time(bench: Bench) -> None:
    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        bench.streams._now = lambda: NOW + timedelta(seconds=loop.time() - began)
        bench.deliver(Span(0, stop=NOW + timedelta(milliseconds=50)))
        await until(lambda: bench.marks)
        assert bench.marks == ["stopped"]

    play(scenario)


def test_the_end_of_the_session_is_the_end(bench: Bench) -> None:
    async def scenario() -> None:
        bench.deliver()
        await settled()
        bench.session.ended = True
        for tell in tuple(bench.session.drained):
            tell()
        bench.publish("x")
        await until(lambda: bench.marks)
        assert (bench.marks, bench.sent, bench.session.drained) == (["session"], [], [])

    play(scenario)


def test_one_that_is_cancelled_says_nothing(bench: Bench) -> None:
    async def scenario() -> None:
        delivery = bench.deliver()
        bench.publish("x")
        delivery.cancel()
        await settled()
        assert (bench.sent, bench.marks, bench.session.drained) == ([], [], [])
        bench.publish("y")

    play(scenario)
