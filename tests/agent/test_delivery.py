"""Events on their way to one session: in order, none twice, none lost, no more than it reads, none it may not get."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
from lxml import etree

from agent import errors
from agent.link import Peer
from agent.model.load import Model, load
from agent.session import Session
from agent.streams import Delivery, Event, Span, Streams
from agent.streams.filters import every
from agent.tree import Node
from tests.agent.server_bench import run, until

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from agent.model.schema import SchemaNode

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PEER = Peer("ada", "ietf-netconf-monitoring:netconf-ssh")
ALL = Span(0)
NESTED = {"n:house": {"room": [{"floor": 1, "name": "den", "alarm": {"cause": "fire", "secret": "x"}}]}}


class Rights:
    """Access control: kinds of notifications and schema paths that the user may not have."""

    def __init__(self, *denied: str) -> None:
        self.denied = set(denied)
        self.noted = 0
        self.asked = 0

    @property
    def unrestricted(self) -> bool:
        return not self.denied

    @property
    def key(self) -> frozenset[str]:
        return frozenset(self.denied)

    def access(self, _peer: Peer) -> Any:
        self.asked += 1
        return self

    def note_denied_notification(self) -> None:
        self.noted += 1

    def may_receive(self, notification: SchemaNode, chain: list[Node]) -> bool:
        hidden = {path for node in chain for path in (node.schema.path, *(key.path for key in node.schema.keys))}
        return notification.name not in self.denied and not hidden & self.denied

    def may_see(self, path: str) -> bool:
        return not any(path.startswith(denied) for denied in self.denied)

    def readable(self, tree: Node) -> Node:
        kept: dict[Any, Any] = {}
        same = True
        for schema, child in tree.children.items():
            if schema.path in self.denied:
                same = False
                continue
            if isinstance(child, Node):
                kept[schema] = child if schema.is_leaf else self.readable(child)
            else:
                kept[schema] = {key: self.readable(entry) for key, entry in child.items()}
                same = same and all(kept[schema][key] is entry for key, entry in child.items())
                continue
            same = same and kept[schema] is child
        return tree if same else tree.with_children(kept)


class Bench:
    """A stream, and a session that takes what it is sent."""

    def __init__(self, model: Model, folder: Path, *, entries: int = 10_000, rights: Rights | None = None) -> None:
        self.time = NOW
        self.rights = rights or Rights()
        self.streams = Streams(model, folder, now=lambda: self.time, entries=entries)
        self.sent: list[bytes] = []
        self.ends: list[str] = []
        self.session = Session(1, PEER, NOW, self.ends.append, notify=self.sent.append)
        self.marks: list[str] = []
        self.delivery: Delivery | None = None

    def publish(self, *texts: object) -> None:
        for text in texts:
            self.streams.publish({"t:ev": {"m": str(text)}})

    def deliver(self, span: Span = ALL, passes: Callable[[Event], Any] = every) -> Delivery:
        self.delivery = Delivery(
            self.streams,
            cast("Any", self.rights),
            self.session,
            span,
            passes=passes,
            replayed=lambda: self.sent.append(b"<replayed/>"),
            ended=self.marks.append,
        )
        return self.delivery

    @property
    def heard(self) -> list[str]:
        return [etree.fromstring(message).findtext("{*}ev/{*}m") or message.decode() for message in self.sent]

    async def hears(self, *texts: object) -> None:
        await until(lambda: len(self.sent) >= len(texts))
        await settled()
        assert self.heard == [str(text) for text in texts]


async def settled() -> None:
    """Let everything that is due be done."""
    for _ in range(20):
        await asyncio.sleep(0)


@pytest.fixture(scope="module")
def model() -> Model:
    return load([Path(__file__).parent / "modules" / f"{name}.yang" for name in "tn"])


@pytest.fixture
def bench(model: Model, tmp_path: Path) -> Bench:
    return Bench(model, tmp_path)


def play(scenario: Callable[[], Coroutine[Any, Any, None]]) -> None:
    run(scenario())


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


def test_one_who_reads_slower_than_the_log_forgets_is_ended(model: Model, tmp_path: Path) -> None:
    bench = Bench(model, tmp_path, entries=8)

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
