"""A NETCONF session on a transport in memory, with a machine that does what the test says."""

from __future__ import annotations

import asyncio
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

from lxml import etree

from agent import filter as subtree
from agent.capabilities import capabilities
from agent.confirmed import ConfirmedCommits
from agent.datastore import Datastores
from agent.errors import NETCONF
from agent.link import Peer
from agent.messages import BASE_1_1
from agent.nacm import Access, Nacm
from agent.operations import Services
from agent.server import NetconfSession
from agent.session import Session, Sessions
from agent.settings import Limits
from agent.tree import Node, from_json
from agent.xpath import XPath

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from agent.filter import Filter
    from agent.model.load import Model
    from agent.streams import Streams
    from translators.base import Tree

N = f"{{{NETCONF}}}"
MONITORING = "urn:ietf:params:xml:ns:yang:ietf-netconf-monitoring"
DEADLINE = 20.0
GET = "<get-config><source><running/></source></get-config>"


class Engine:
    """A machine that takes everything; ``gate`` holds its answers back, ``fault`` is what it raises."""

    def __init__(self, stores: Datastores) -> None:
        self.stores = stores
        self.gate = asyncio.Event()
        self.gate.set()
        self.fault: Exception | None = None
        self.asked = 0
        self.committing: Session | None = None

    async def check(self, root: Node, *, complete: bool = True) -> None:
        self.asked += 1
        await self.gate.wait()
        if self.fault is not None:
            raise self.fault
        self.stores.effective(root)

    async def commit(self, root: Node, session: Session | None = None, *, restores_for: Session | None = None) -> None:
        await self.check(root)
        self.stores.moved(root)


class State:
    """Operational state of which there is none."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    async def get(self, running: Node, filters: list[Filter] | None, access: Access) -> Node:
        await self.engine.gate.wait()
        running = access.readable(running)
        return running if filters is None else subtree.apply(running, filters)


class Wire:
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        self.written = bytearray()
        self.writes = 0
        self.flow: list[str] = []
        self.full = False
        self.ends: list[str] = []
        self.receiver: NetconfSession | None = None

    def write(self, data: bytes) -> None:
        assert self.ends == [], "written after the end"
        self.written += data
        self.writes += 1
        if self.full and self.receiver is not None:
            self.receiver.pause_writing()

    def close(self) -> None:
        self._end("close")

    def abort(self) -> None:
        self._end("abort")

    def pause_reading(self) -> None:
        self.flow.append("pause")

    def resume_reading(self) -> None:
        self.flow.append("resume")

    def _end(self, how: str) -> None:
        self.ends.append(how)
        if len(self.ends) == 1 and self.receiver is not None:
            asyncio.get_running_loop().call_soon(self.receiver.connection_lost, None)


class Events:
    """A stream that keeps what is published, and nobody follows."""

    def __init__(self) -> None:
        self.published: list[Tree] = []

    def publish(self, notification: Tree) -> None:
        self.published.append(notification)


class Server:
    """The parts of an agent that sessions share."""

    def __init__(self, model: Model, limits: Limits | None = None, streams: Streams | None = None) -> None:
        self.limits = limits or Limits()
        self.stores = Datastores(model, from_json(model.root, {"t:top": {"name": "gate"}}))
        self.engine = Engine(self.stores)
        self.sessions = Sessions(
            limit=self.limits.sessions, limit_per_user=self.limits.sessions_per_user, started=datetime.now(UTC)
        )
        self.services = Services(
            model=model,
            datastores=self.stores,
            engine=cast("Any", self.engine),
            operational=cast("Any", State(self.engine)),
            confirmed=ConfirmedCommits(self.stores, cast("Any", self.engine), cast("Any", None)),
            xpath=XPath(seconds=5),
            nacm=Nacm(model, self.stores),
            streams=streams or cast("Any", Events()),
            subscriptions=cast("Any", None),
            sessions=self.sessions,
            capabilities=capabilities([*model.modules.values()], "id", "2019-01-04"),
            now=lambda: datetime.now(UTC),
            writable_running=False,
        )

    def connect(self, user: str = "ada") -> Client:
        """Return a client that has said nothing yet."""
        wire = Wire()
        peer = Peer(user, "ietf-netconf-monitoring:netconf-ssh", "192.0.2.7", recovery=True)
        wire.receiver = NetconfSession(self.services, self.limits, peer, wire)
        return Client(wire, wire.receiver)

    def client(self, base: str = BASE_1_1) -> Client:
        """Return a client that has said hello."""
        client = self.connect()
        client.hello(base)
        return client


class Client:
    """The other end of the wire."""

    def __init__(self, wire: Wire, session: NetconfSession) -> None:
        self.wire = wire
        self.session = session
        self.id = session._session.id
        self.chunked = False
        self.read = len(wire.written)
        self.greeting = bytes(wire.written)
        self.sent = 0

    def hello(self, base: str = BASE_1_1) -> None:
        self.session.data_received(hello(base) + b"]]>]]>")
        self.chunked = base == BASE_1_1

    def send(self, *operations: str) -> None:
        """Send requests in one piece."""
        self.session.data_received(b"".join(self.framed(self.request(one)) for one in operations))

    def request(self, operation: str) -> bytes:
        self.sent += 1
        return f'<rpc xmlns="{NETCONF}" message-id="{self.sent}">{operation}</rpc>'.encode()

    def framed(self, message: bytes) -> bytes:
        return b"\n#%d\n%b\n##\n" % (len(message), message) if self.chunked else message + b"]]>]]>"

    def replies(self) -> list[etree._Element]:
        """Return what came since the last time, framing checked to the byte."""
        data, self.read = bytes(self.wire.written[self.read :]), len(self.wire.written)
        if not self.chunked:
            *messages, rest = data.split(b"]]>]]>")
            assert rest == b""
            return [etree.fromstring(message) for message in messages]
        found = []
        while data:
            message, size = b"", re.match(rb"\n#([1-9][0-9]*)\n", data)
            while size:
                message += data[size.end() : size.end() + int(size[1])]
                data = data[size.end() + int(size[1]) :]
                size = re.match(rb"\n#([1-9][0-9]*)\n", data)
            assert data.startswith(b"\n##\n")
            data = data.removeprefix(b"\n##\n")
            found.append(etree.fromstring(message))
        return found

    async def idle(self) -> None:
        """Wait until no operation is under way."""
        await until(lambda: self.session._busy is None)

    async def ask(self, operation: str) -> etree._Element:
        """Return what is in the reply to a request."""
        self.send(operation)
        await until(lambda: len(self.wire.written) > self.read)
        (reply,) = self.replies()
        assert (reply.tag, reply.get("message-id")) == (f"{N}rpc-reply", str(self.sent))
        (content,) = reply
        return content

    async def refused(self, operation: str) -> tuple[str, str, dict[str, str]]:
        """Return type, tag and info of the error that a request meets."""
        error = await self.ask(operation)
        assert error.tag == f"{N}rpc-error"
        info = {str(child.tag).rpartition("}")[2]: child.text or "" for child in error.iterfind(f"{N}error-info/*")}
        return error.findtext(f"{N}error-type") or "", error.findtext(f"{N}error-tag") or "", info

    async def ok(self, operation: str) -> None:
        content = await self.ask(operation)
        assert (content.tag, len(content), content.text) == (f"{N}ok", 0, None)

    async def config(self, name: str = "candidate") -> str:
        content = await self.ask(f"<get-config><source><{name}/></source></get-config>")
        return "".join(child.text or "" for child in content.iter("{urn:example:t}name"))


def hello(*bases: str) -> bytes:
    listed = "".join(f"<capability>{base}</capability>" for base in bases)
    return f'<hello xmlns="{NETCONF}"><capabilities>{listed}</capabilities></hello>'.encode()


def edit(name: str, options: str = "") -> str:
    config = f'<config><top xmlns="urn:example:t"><name>{name}</name></top></config>'
    return f"<edit-config><target><candidate/></target>{options}{config}</edit-config>"


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(DEADLINE):
        while not condition():  # noqa: ASYNC110 - of what is no event
            await asyncio.sleep(0)


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(scenario)
