"""What tests of deliveries share: a stream, a session that takes what it is sent, and rights."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

from lxml import etree

from agent.link import Peer
from agent.session import Session
from agent.streams import Delivery, Event, Span, Streams
from agent.streams.filters import every
from agent.tree import Node
from tests.agent.server_bench import run, until

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

    from agent.model.load import Model
    from agent.model.schema import SchemaNode

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PEER = Peer("ada", "ietf-netconf-monitoring:netconf-ssh")
ALL = Span(0)


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


def play(scenario: Callable[[], Coroutine[Any, Any, None]]) -> None:
    run(scenario())
