"""Events on their way to one session: filters, and what the user may not get."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from lxml import etree

from agent import errors
from agent.streams import Event, Span
from tests.agent.delivery_bench import Bench, play
from tests.agent.server_bench import until

if TYPE_CHECKING:
    from pathlib import Path

    from agent.model.load import Model

NESTED = {"n:house": {"room": [{"floor": 1, "name": "den", "alarm": {"cause": "fire", "secret": "x"}}]}}


@pytest.fixture
def bench(eventful: Model, tmp_path: Path) -> Bench:
    return Bench(eventful, tmp_path)


def test_a_filter_that_takes_its_time_keeps_the_order(bench: Bench) -> None:
    async def scenario() -> None:
        async def even(event: Event) -> bool:
            await asyncio.sleep(0)
            return event.number % 2 == 0

        bench.publish(*range(1, 8))
        bench.deliver(passes=even)
        await bench.hears(2, 4, 6)

    play(scenario)


@pytest.mark.parametrize("expected", [True, False])
def test_a_filter_that_fails_ends_it(bench: Bench, caplog: pytest.LogCaptureFixture, expected: bool) -> None:
    def fail(_event: Event) -> bool:
        raise errors.operation_failed("it took too long") if expected else ZeroDivisionError

    async def scenario() -> None:
        bench.publish("x")
        bench.deliver(passes=fail)
        await until(lambda: bench.marks or bench.ends)
        assert (bench.marks, bench.ends) == ((["filter"], []) if expected else ([], ["other"]))
        assert ("it took too long" if expected else "ZeroDivisionError") in caplog.text

    play(scenario)


def test_what_the_user_may_not_get_is_counted_and_rules_are_asked_anew(bench: Bench) -> None:
    async def scenario() -> None:
        bench.rights.denied = {"ev"}
        bench.publish("a", "b")
        bench.deliver(Span(0, replay_to=2))
        await bench.hears("<replayed/>")
        assert bench.rights.noted == 2
        bench.rights.denied = set()
        bench.publish("c")
        await bench.hears("<replayed/>", "c")

    play(scenario)


@pytest.mark.parametrize(
    ("denied", "content"),
    [
        ("", "<cause>fire</cause><secret>x</secret>"),
        ("/n:house/room/alarm/secret", "<cause>fire</cause>"),
        ("/n:house/room/name", None),
        ("/n:house", None),
        ("alarm", None),
        ("/n:house/room/alarm", "<cause>fire</cause><secret>x</secret>"),
    ],
)
def test_a_notification_in_data_has_its_ancestors_which_must_be_readable(
    bench: Bench, denied: str, content: str | None
) -> None:
    async def scenario() -> None:
        bench.rights.denied = {denied} - {""}
        bench.streams.publish(NESTED)
        delivery = bench.deliver()
        await until(lambda: delivery.position == 1)
        if content is None:
            assert (bench.sent, bench.rights.noted) == ([], 1)
            return
        assert bench.sent == [
            b'<notification xmlns="urn:ietf:params:xml:ns:netconf:notification:1.0">'
            b"<eventTime>2026-01-01T00:00:00.000000Z</eventTime>"
            b'<house xmlns="urn:example:n"><room><floor>1</floor><name>den</name>'
            b"<alarm>" + content.encode() + b"</alarm></room></house></notification>"
        ]

    play(scenario)


@pytest.mark.parametrize(
    ("denied", "targets"),
    [
        ({"/t:top/name"}, ["/t:top/mtu"]),
        ({"/t:top/name", "/t:top/mtu"}, None),
        ({"/t:top"}, None),
        ({"/t:other"}, ["/t:top/name", "/t:top/mtu"]),
    ],
)
def test_edits_of_what_the_user_may_not_read_are_left_out(
    bench: Bench, denied: set[str], targets: list[str] | None
) -> None:
    async def scenario() -> None:
        bench.rights.denied = denied
        edits = [{"target": path, "operation": "merge"} for path in ("/t:top/name", "/t:top/mtu")]
        change = {"changed-by": {"server": [None]}, "datastore": "running", "edit": edits}
        bench.streams.publish({"ietf-netconf-notifications:netconf-config-change": change})
        delivery = bench.deliver()
        await until(lambda: delivery.position == 1)
        found = [str(element.text) for message in bench.sent for element in etree.fromstring(message).iter("{*}target")]
        assert (found or None) == (None if targets is None else [f"/t:top/t:{path[7:]}" for path in targets])
        assert bench.rights.noted == (targets is None)

    play(scenario)


def test_a_filter_is_put_to_what_the_user_may_see(bench: Bench) -> None:
    async def scenario() -> None:
        found: list[bytes] = []

        def passes(event: Event) -> bool:
            found.append(event.content.xml())
            return True

        bench.rights.denied = {"/n:house/room/alarm/secret"}
        bench.streams.publish(NESTED)
        delivery = bench.deliver(passes=passes)
        await until(lambda: delivery.position == 1)
        assert b"fire" in found[0]
        assert b"secret" not in found[0]

    play(scenario)
