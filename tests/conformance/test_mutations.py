"""Real requests with something changed: whatever comes, each is answered or ends its session, and the agent serves on.

``ACCEL_AGENT_MUTATIONS`` is how many there are, ``ACCEL_AGENT_SEED`` which ones.
"""

from __future__ import annotations

import os
import random
import re
from typing import TYPE_CHECKING

from lxml import etree

from tests.conformance.cases import change
from tests.conformance.memory import memory
from tests.conformance.session import BASE, END, N, Session, T, chunked, edit, get_config, hello, rpc, top
from tests.system.client import HA, MONITORING, until

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.system.gateway import Gateway

COUNT = int(os.environ.get("ACCEL_AGENT_MUTATIONS", "3000"))
SEED = int(os.environ.get("ACCEL_AGENT_SEED", "1"))
BATCH = 50
MIB = 1024 * 1024
WITH_DEFAULTS = 'xmlns="urn:ietf:params:xml:ns:yang:ietf-netconf-with-defaults"'
REQUESTS = [
    get_config(),
    get_config(top("<item><id>a</id><v/></item><name/>")),
    get_config(top(""), more=f"<with-defaults {WITH_DEFAULTS}>report-all</with-defaults>"),
    f'<get><filter xmlns:t="{T}" type="xpath" select="//t:item[t:v=1]"/></get>',
    f'<get><filter type="subtree"><netconf-state xmlns="{MONITORING}"><capabilities/></netconf-state></filter></get>',
    change('<item><id>a</id><v>1</v></item><item nc:operation="replace"><id>b</id></item><mtu>1400</mtu>'),
    change('<pres nc:operation="remove"/><rule y:insert="first"><id>r1</id><act>x</act></rule>', "none"),
    change("<tag>a</tag><ord>b</ord><a1>c</a1><i1>d</i1><kind>k1</kind>"),
    edit(f'<acceleration xmlns="{HA}"><qat><enabled>false</enabled></qat></acceleration>'),
    "<copy-config><target><candidate/></target><source><config/></source></copy-config>",
    "<validate><source><candidate/></source></validate>",
    "<commit/>",
    "<commit><confirmed/><confirm-timeout>1</confirm-timeout></commit>",
    "<cancel-commit/>",
    "<discard-changes/>",
    "<lock><target><candidate/></target></lock>",
    "<unlock><target><candidate/></target></unlock>",
    "<kill-session><session-id>none</session-id></kill-session>",
    f'<get-schema xmlns="{MONITORING}"><identifier>t</identifier><format>yang</format></get-schema>',
    f'<ping xmlns="{T}"><host>h</host></ping>',
]
# What a mutation writes: the grammar's own signs, limits of types, and what some parser may choke on.
PIECES = [
    b"<", b">", b"&", b"'", b'"', b"/", b"]]>", b"<!--", b"<![CDATA[", b"<?x ", b"&#0;", b"&#xD800;", b"&lt;", b"&e;",
    b"\0",
    b"\xff", b"\xc3", "€".encode(), b"\r", b"\t", b" xmlns=''", b" xmlns:q='urn:no'", b" nc:operation='delete'", b"0",
    b"-1",
    b"4294967296", b"a" * 300, b"%s", b"{0}", b"../", b"<x/>", b"</rpc>", b"<!DOCTYPE a>", b"\n##\n", b"\n#3\n",
]  # fmt: skip
_TAG = re.compile(rb"<[^<>]*>")
_WORD = re.compile(rb"[\w.-]+")


def mutated(message: bytes, chance: random.Random) -> bytes:
    """Return a message with one to three changes."""
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        message = chance.choice(CHANGES)(message, chance)
    return message


def _flipped(message: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(message) or 1)
    return message[:at] + bytes([chance.randrange(256)]) + message[at + 1 :]


def _cut(message: bytes, chance: random.Random) -> bytes:
    first, last = sorted(chance.randrange(len(message) + 1) for _ in range(2))
    return message[:first] + message[min(last, first + 40) :]


def _inserted(message: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(message) + 1)
    return message[:at] + chance.choice(PIECES) + message[at:]


def _tag_changed(message: bytes, chance: random.Random) -> bytes:
    """Leave a tag out, say it twice, or put another one in its place."""
    tags = list(_TAG.finditer(message))
    if not tags:
        return message
    one, other = chance.choice(tags), chance.choice(tags)
    return message[: one.start()] + chance.choice((b"", one[0] * 2, other[0])) + message[one.end() :]


def _word_changed(message: bytes, chance: random.Random) -> bytes:
    words = list(_WORD.finditer(message))
    if not words:
        return message
    one, other = chance.choice(words), chance.choice(words)
    text = chance.choice((other[0], one[0].swapcase(), b"", chance.choice(PIECES)))
    return (
        message.replace(one[0], text) if chance.random() < 0.3 else message[: one.start()] + text + message[one.end() :]
    )


CHANGES = (_flipped, _cut, _inserted, _tag_changed, _word_changed, _word_changed)


def test_mutated_requests(served: Gateway, dial: Callable[..., Session]) -> None:
    chance = random.Random(SEED)  # noqa: S311 - no secret
    bystander = dial()
    sessions = [Session(served.socket), Session(served.socket)]
    replies = most = 0
    for done in range(0, COUNT, BATCH * len(sessions)):
        batches = []
        for session in sessions:
            ids = (f"{session.id}.{done}.{n}" for n in range(BATCH))
            batches.append([mutated(rpc(chance.choice(REQUESTS), one), chance) or b" " for one in ids])
            last = rpc(get_config("", source="running"), f"last of {session.id}")
            session.send(b"".join(chunked(message) for message in (*batches[-1], last)))
        for number, (session, batch) in enumerate(zip(tuple(sessions), batches, strict=True)):
            found, alive = _replies(session, batch)
            replies += found
            if not alive:
                session.close()
                sessions[number] = Session(served.socket)
        assert bystander.config("", source="running") == ""
        if done <= COUNT // 2:
            most = max(most, memory(served.pid))
    for session in sessions:
        session.close()
    assert replies > COUNT * 0.9
    assert memory(served.pid) - most < 8 * MIB
    until(lambda: bystander.outcome("<discard-changes/>") == "ok", "candidate is free")
    until(lambda: bystander.outcome("<commit/>") == "ok", "running is free")
    assert bystander.received == b""
    assert "Traceback" not in served.log.read_text()


def test_mutated_hellos(served: Gateway, dial: Callable[..., Session]) -> None:
    chance = random.Random(SEED)  # noqa: S311 - no secret
    for _ in range(COUNT // 20):
        session = Session(served.socket, base=None)
        whole = hello(f"{BASE}1.0", f"{BASE}1.1")
        session.send(mutated(whole.removesuffix(END), chance) + END + rpc("<close-session/>") + END)
        session.send(chunked(rpc("<close-session/>")))
        session.channel.shutdown(1)
        assert b"Traceback" not in session.ends()
        session.close()
    assert dial().config() == ""


def _replies(session: Session, batch: list[bytes]) -> tuple[int, bool]:
    """Read the replies to a batch: how many, and whether the session is alive."""
    expected = {_message_id(message) for message in batch} | {None}
    found = 0
    while True:
        try:
            text = session.reply_bytes()
        except (AssertionError, ConnectionResetError):
            assert session.received == b""  # it ended, and between two replies
            return found, False
        assert b"Traceback" not in text
        assert b'File "' not in text
        reply = etree.fromstring(text)
        assert reply.tag == f"{N}rpc-reply"
        assert len(reply) >= 1
        if reply.get("message-id") == f"last of {session.id}":
            return found, True
        assert reply.get("message-id") in expected
        found += 1


def _message_id(message: bytes) -> str | None:
    try:
        root = etree.fromstring(message.strip())
    except etree.XMLSyntaxError:
        return None
    return root.get("message-id", root.get(f"{N}message-id"))
