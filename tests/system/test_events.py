"""Events of an agent that is killed: what a client was sent is in the log, once, and the next agent goes on there."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from lxml import etree

from tests.conformance.session import Session, chunked, edit, rpc
from tests.system.client import OPEN, qat

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

    from tests.system.gateway import Gateway

SERVER = "urn:ietf:params:xml:ns:yang:ietf-netconf-notifications"
CHANGES = f'<filter><netconf-config-change xmlns="{SERVER}"/></filter>'


def create(content: str) -> str:
    space = "urn:ietf:params:xml:ns:netconf:notification:1.0"
    return f'<create-subscription xmlns="{space}">{content}</create-subscription>'


def told(message: Element) -> str:
    time, content = message
    return f"{time.text} {etree.QName(content).localname}"


@pytest.mark.parametrize("seen", [1, 40, 150])
def test_what_was_sent_outlives_a_kill(gateway: Gateway, seen: int) -> None:
    since = datetime.now(UTC).isoformat()
    gateway.build("c6xx@3d:00.0").start()
    writer, listener = Session(gateway.socket), Session(gateway.socket)
    writer.ok(edit(OPEN), "<commit/>")
    listener.ok(create(f"<startTime>{since}</startTime>{CHANGES}"))
    commits = [(edit(qat(f"<health><interval>{number}</interval></health>")), "<commit/>") for number in range(20, 220)]
    writer.send(b"".join(chunked(rpc(content)) for pair in commits for content in pair))
    sent: list[str] = []
    while len(sent) < seen:
        sent.append(told(listener.reply()))
    gateway.kill()
    gateway.start()
    again = Session(gateway.socket)
    again.ok(create(f"<startTime>{since}</startTime>{CHANGES}"))
    found: list[str] = []
    while not found or not found[-1].endswith(" replayComplete"):
        found.append(told(again.reply()))
    assert {event for event in sent if not event.endswith(" replayComplete")} <= set(found)
    assert len(set(found)) == len(found)
    assert found == sorted(found)
    again.ok(edit(qat("<health><interval>300</interval></health>")), "<commit/>")
    for session in (writer, listener, again):
        session.close()
