"""Subscriptions on a clock that goes on when everybody waits: an hour takes a moment."""

from __future__ import annotations

import asyncio
import selectors
from concurrent.futures import Executor, Future
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from lxml import etree

from agent.datastore import Datastores
from agent.errors import NETCONF
from agent.link import Peer
from agent.nacm import Access, Nacm
from agent.operational import Operational
from agent.session import Session
from agent.streams import Streams
from agent.subscriptions import Parts, Subscriptions
from agent.subscriptions.criteria import by_subtree
from agent.subscriptions.terms import DatastoreTerms, OnChange, Periodic
from agent.tree import from_json
from agent.xpath import XPath
from translators.base import ALL, Reading

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

    from agent.model.load import Model
    from agent.subscriptions.subscription import Subscription
    from translators.base import Change, Fault, Plan, Selection, Tree

HOST: Any = object()
START: Final = datetime(2026, 1, 1, tzinfo=UTC)
TOP: Final = '<top xmlns="urn:example:t"/>'
STATE: Final = '<top xmlns="urn:example:t"><state/></top>'


class Source:
    """A translator that notes when it is asked; ``fault`` is one of its sources."""

    path = "/t:top/state"

    def __init__(self, clock: Clock) -> None:
        self.tree: Tree = {"up": True}
        self.faults: tuple[Fault, ...] = ()
        self.asked: list[float] = []
        self._clock = clock

    def prepare(self, change: Change, host: Any) -> Plan:
        raise AssertionError("a subscription prepared a change")

    def operational(self, host: Any, wanted: Selection, running: Tree) -> Reading:
        self.asked.append(round(self._clock.time(), 3))
        return Reading(self.tree, self.faults)


class Rules(Nacm):
    """Access control by hand: what a user sees is in ``of``, everything where it isn't."""

    of: dict[str, Access]

    def access(self, peer: Peer) -> Access:
        return self.of.get(peer.username, Access())


class Listener:
    """A session, and what it was sent, as ``what id``."""

    def __init__(self, number: int, user: str, clock: Clock) -> None:
        peer = Peer(user, "ietf-netconf-monitoring:netconf-ssh", recovery=True)
        self.messages: list[tuple[float, str]] = []
        self.session = Session(number, peer, START, lambda _reason: None, notify=self._take)
        self._clock = clock

    def _take(self, notification: bytes) -> None:
        self.messages.append((round(self._clock.time(), 3), notification.decode()))

    @property
    def got(self) -> list[str]:
        """The kinds of what was sent, and its reasons."""
        return [kind(text) for _time, text in self.messages]

    @property
    def times(self) -> list[float]:
        return [time for time, _text in self.messages]

    def block(self) -> None:
        """Read nothing for now."""
        self.session.writable = False

    def drain(self) -> None:
        """Read again."""
        self.session.writable = True
        self._tell()

    def hang_up(self) -> None:
        self.session.ended = True
        self._tell()

    def _tell(self) -> None:
        for tell in tuple(self.session.drained):
            tell()


class Bench:
    """The parts that subscriptions work on, with one source of state and any number of listeners."""

    def __init__(self, model: Model, folder: Path, clock: Clock) -> None:
        self.model = model
        self.clock = clock
        self.rate = 1.0  # of the time of day, in the loop's seconds
        self.source = Source(clock)
        running = from_json(model.root, {"t:top": {"name": "a"}})
        self.datastores = Datastores(model, running, startup=running)
        sources: Any = [self.source]
        self.operational = Operational(model, self.datastores, sources, HOST, AtOnce(), deadline=10)
        self.nacm = Rules(model, self.datastores)
        self.nacm.of = {}
        self.streams = Streams(model, folder, now=self.now)
        xpath = XPath(seconds=9)
        self.parts = Parts(model, self.datastores, self.operational, self.nacm, self.streams, xpath, self.now)
        self.subscriptions = Subscriptions(self.parts)
        self.datastores.on_moved.append(self.subscriptions.configured)
        self._sessions = 0

    def now(self) -> datetime:
        return START + timedelta(seconds=self.clock.time() * self.rate)

    def listener(self, user: str = "ada") -> Listener:
        self._sessions += 1
        return Listener(self._sessions, user, self.clock)

    def receivers(self) -> list[dict[str, str]]:
        """Return the receivers that the state tells of."""
        listed: Any = self.subscriptions.state(ALL, Access()).get("ietf-subscribed-notifications:subscriptions", {})
        return [entry["receivers"]["receiver"][0] for entry in listed.get("subscription", [])]

    def commit(self, **top: Any) -> None:
        """Make a configuration running."""
        self.datastores.moved(from_json(self.model.root, {"t:top": top} if top else {}))

    def terms(
        self, trigger: Periodic | OnChange, wanted: str = TOP, datastore: str = "running", **more: Any
    ) -> DatastoreTerms:
        element = etree.fromstring(f'<filter xmlns="{NETCONF}">{wanted}</filter>')
        return DatastoreTerms(datastore, by_subtree(self.model, element), trigger, **more)

    async def periodic(self, listener: Listener, period: int = 100, **more: Any) -> Subscription:
        """Subscribe to the state, once in so many centiseconds."""
        terms = self.terms(Periodic(period, more.pop("anchor", None)), STATE, "operational", **more)
        return await self.subscriptions.establish(listener.session, terms)

    async def on_change(
        self, listener: Listener, wanted: str = TOP, datastore: str = "running", **more: Any
    ) -> Subscription:
        """Subscribe to changes."""
        return await self.subscriptions.establish(listener.session, self.terms(OnChange(**more), wanted, datastore))


def run(model: Model, folder: Path, scenario: Callable[[Bench], Coroutine[Any, Any, None]]) -> None:
    """Play a scenario on a clock of its own."""
    with asyncio.Runner(loop_factory=Clock) as runner:
        clock = runner.get_loop()
        assert isinstance(clock, Clock)
        runner.run(scenario(Bench(model, folder, clock)))


def kind(text: str) -> str:
    """Return what a notification is, its number, and the reason that it gives."""
    event = etree.fromstring(text)[1]
    reason = event.findtext("{*}reason")
    words = [etree.QName(event).localname, event.findtext("{*}id"), reason and reason.rpartition(":")[2]]
    return " ".join(word for word in words if word)


def edits(text: str) -> list[str]:
    """Return a push-change-update's edits as ``operation target value``."""
    found = []
    for edit in etree.fromstring(text).iter("{*}edit"):
        value = edit.find("{*}value")
        shown = "" if value is None else " " + "".join(str(part) for part in value.itertext())
        found.append(f"{edit.findtext('{*}operation')} {edit.findtext('{*}target')}{shown}")
    return found


class AtOnce(Executor):
    """Does what it is given at once."""

    def submit(self, function: Any, /, *arguments: Any, **keywords: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(function(*arguments, **keywords))
        return future


class Clock(asyncio.SelectorEventLoop):
    """A loop that never waits: when there is nothing to do, it is the time of the next timer."""

    def __init__(self) -> None:
        self.elapsed = 0.0
        super().__init__(_Selector(self))

    def time(self) -> float:
        return self.elapsed


class _Selector(selectors.SelectSelector):
    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready:
            assert timeout is not None, "everybody waits for something that never comes"
            self._clock.elapsed += timeout
        return ready
