"""What the machine tells by itself reaches the event loop, and nothing of it can stall the agent."""

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from agent import listening
from agent.listening import Listening
from translators.base import Event, ListeningError, Tree
from translators.record import RecordedHost

Source = Callable[[int], Iterator[Event | None]]


def event(number: int) -> Event:
    return Event("info", f"event {number}", {"n": number})


class Listener:
    """Has a source for each time that it is listened to: ``calls`` counts them."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.calls = 0

    def events(self, host: Any) -> Iterator[Event | None]:
        self.calls += 1
        return self._source(self.calls)


async def heard(
    source: Source,
    count: int,
    *,
    first: Callable[[], object] = lambda: None,
    changing: Callable[[], bool] = lambda: False,
) -> list[Tree]:
    """Return what is published until there is so much of it."""
    found: list[Tree] = []
    enough = asyncio.Event()

    def publish(notification: Tree) -> None:
        found.append(notification)
        if len(found) >= count:
            enough.set()

    made = Listening(Listener(source), RecordedHost(), changing, publish)
    first()
    try:
        async with asyncio.timeout(20):
            await enough.wait()
    finally:
        await made.close()
    return found


def quiet() -> Iterator[None]:
    """Tell nothing, for ever."""
    pause = threading.Event()
    while True:
        pause.wait(0.01)
        yield None


@pytest.mark.parametrize("failure", [ListeningError("it is gone"), ZeroDivisionError()])
def test_a_source_that_ends_is_listened_to_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, failure: Exception
) -> None:
    monkeypatch.setattr(listening, "_FIRST_PAUSE", 0.01)

    def source(call: int) -> Iterator[Event | None]:
        if call % 2:
            raise failure
        yield event(call)
        if call == 4:
            yield from quiet()

    assert asyncio.run(heard(source, 2)) == [{"n": 2}, {"n": 4}]
    assert ("can't be understood" in caplog.text) is isinstance(failure, ZeroDivisionError)


def test_a_source_that_goes_with_a_change_is_looked_for_all_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "_FIRST_PAUSE", 600.0)

    def source(call: int) -> Iterator[Event | None]:
        if call < 5:
            raise ListeningError("it is gone")
        yield event(call)
        yield from quiet()

    assert asyncio.run(heard(source, 1, changing=lambda: True)) == [{"n": 5}]


def test_what_comes_too_fast_is_left_out_and_counted(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    monkeypatch.setattr(listening, "MOST_WAITING", 100)
    told = threading.Event()

    def source(_call: int) -> Iterator[Event | None]:
        yield from map(event, range(130))
        told.set()
        yield from quiet()

    # Meanwhile the loop is busy.
    found = asyncio.run(heard(source, 100, first=lambda: told.wait(10)))
    assert [notification["n"] for notification in found] == list(range(100))
    assert "30 events of the machine came too fast" in caplog.text


def test_closing_does_not_wait_for_news() -> None:
    async def scenario() -> None:
        made = Listening(Listener(lambda _call: quiet()), RecordedHost(), lambda: False, lambda _notification: None)
        async with asyncio.timeout(10):
            await made.close()

    asyncio.run(scenario())
