"""Section J: slow readers, many of them, and the field cases of event notifications."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path

import pytest
from lxml import etree

from agent.model.load import load
from agent.streams import Streams
from tests.agent.server_bench import Server
from tests.agent.server_bench import until as asynchronously
from tests.conformance.agents import Agent, serving
from tests.conformance.memory import memory
from tests.conformance.notifications import CHANGES, ENDS, before, by, change, create, end, hear, heard, name_of, quiet
from tests.conformance.session import N, Session, chunked, edit, rpc, top

pytestmark = pytest.mark.usefixtures("agent")
# What becomes of slow readers, of others, and of many.


def big(number: int) -> str:
    """Return what makes an event of some 20 kB."""
    return "".join(f"<tag>{'n' * 60}{number}.{n}</tag>" for n in range(80))


def test_c221_who_does_not_read_holds_up_nobody_and_takes_no_memory(agent: Agent, session: Session) -> None:
    stuck, reader = agent.session(), agent.session()
    for listener in (stuck, reader):
        listener.ok(create(CHANGES))
    sizes = []
    expected = []
    for number in range(100):
        session.ok(edit(top(big(number), 'nc:operation="replace"')), "<commit/>")
        expected.append(heard(reader.reply())[0])
        sizes.append(memory(agent.gateway.pid))
    assert len(expected) == 100
    # The log holds each event once: some 3 MB in all.
    assert sizes[-1] - sizes[20] < 16 * 2**20, sizes
    assert [heard(stuck.reply())[0] for _ in range(100)] == expected


def test_c221_who_reads_slower_than_the_log_forgets_is_ended(tmp_path: Path) -> None:
    with serving(tmp_path / "slow", settings='[notifications]\nlog-size = "256 KiB"\n') as agent:
        stuck, reader, writer = agent.session(), agent.session(), agent.session()
        stuck.ok(create(CHANGES))
        reader.ok(create(ENDS))
        for number in range(60):
            writer.ok(edit(top(big(number), 'nc:operation="replace"')), "<commit/>")
        assert hear(reader) == end(stuck, "other")
        assert "reads its notifications too slowly" in agent.gateway.log.read_text()
        quiet(reader)


def test_c208_many_replays_while_commits_go_on_lose_and_repeat_nothing(agent: Agent) -> None:
    writer, reference = agent.session(), agent.session()
    # That they have started is told before the replay begins.
    quiet(writer)
    quiet(reference)
    since = datetime.now(UTC).isoformat()
    reference.ok(create())
    commits = [[edit(top(f"<name>{number}</name>")), "<commit/>"] for number in range(100)]
    writer.ok(*(content for pair in commits[:20] for content in pair))
    listeners = [agent.session() for _ in range(50)]
    writer.send(b"".join(chunked(rpc(content)) for pair in commits[20:] for content in pair))
    for listener in listeners:
        listener.ok(create(f"<startTime>{since}</startTime>"))
    for _ in range(160):
        assert writer.reply()[0].tag == f"{N}ok"
    writer.ok("<discard-changes/>", edit(top("", 'nc:operation="delete"')), "<commit/>")
    everything = until_deleted(reference)
    assert len(everything) == 50 + 100 + 1
    for listener in listeners:
        found = until_deleted(listener)
        complete = [n for n, (_time, name) in enumerate(found) if name == "replayComplete"]
        assert len(complete) == 1
        del found[complete[0]]
        assert found == everything


def until_deleted(session: Session) -> list[tuple[str, str]]:
    """Return time and name of all notifications up to that of the deletion of top."""
    found = []
    while True:
        time, content = heard(session.reply())
        found.append((time, str(etree.QName(content).localname)))
        if content.findtext("{*}edit/{*}operation") == "delete":
            return found


# Field cases.


def test_f89_without_a_start_time_no_history_comes(agent: Agent, session: Session) -> None:
    agent.session().fill("<name>x</name>")
    session.ok(create(CHANGES))
    quiet(session)


def test_f91_replay_complete_comes_once_behind_the_last_stored_event(agent: Agent, session: Session) -> None:
    since = datetime.now(UTC).isoformat()
    for number in range(5):
        session.fill(f"<name>{number}</name>")
    session.ok(create(f"<startTime>{since}</startTime>{CHANGES}"))
    names = [name_of(hear(session)) for _ in range(6)]
    assert names == [*["netconf-config-change"] * 5, "replayComplete"]
    quiet(session)


def test_f93_one_session_s_replay_takes_nothing_from_another(agent: Agent) -> None:
    first, second, writer = agent.session(), agent.session(), agent.session()
    first.ok(create(CHANGES))
    writer.fill("<name>x</name>")
    assert name_of(hear(first)) == "netconf-config-change"
    second.ok(create(f"<startTime>{before(60)}</startTime>{CHANGES}"))
    while hear(second) != "<replayComplete/>":
        pass
    for name in "yz":
        writer.fill(f"<name>{name}</name>")
        assert hear(first) == hear(second) == change(by(writer), ("/t:top/t:name", "replace"))


NESTED = (
    '<house xmlns="urn:example:n"><room><floor>1</floor><name>den</name>'
    "<alarm><cause>fire</cause></alarm></room></house>"
)


ROOMS = {
    "C220 no filter": "",
    "F95 a filter": '<filter><house xmlns="urn:example:n"><room><name>den</name></room></house></filter>',
}


@pytest.mark.parametrize("row", ROOMS)
def test_a_notification_in_data_comes_with_its_ancestors_and_their_keys(tmp_path: Path, row: str) -> None:
    async def scenario() -> None:
        model = load([Path(__file__).parents[1] / "agent/modules" / name for name in ("t.yang", "n.yang")])
        streams = Streams(model, tmp_path, now=lambda: datetime.now(UTC))
        client = Server(model, streams=streams).client()
        await client.ok(create(ROOMS[row]))
        for name in ("attic", "den") if ROOMS[row] else ("den",):
            room = {"floor": 1, "name": name, "alarm": {"cause": "fire"}}
            streams.publish({"n:house": {"room": [room]}})
        await asynchronously(lambda: len(client.wire.written) > client.read)
        (message,) = client.replies()
        content = heard(message)[1]
        etree.cleanup_namespaces(content)
        assert etree.tostring(content).decode() == NESTED
        streams.close()

    asyncio.run(scenario())


def test_f119_who_listens_is_not_idle(tmp_path: Path) -> None:
    with serving(tmp_path / "idle", settings="[limits]\nidle-timeout = 1\n") as agent:
        listener = agent.session()
        listener.ok(create(ENDS))
        for _ in range(2):
            idle = agent.session()
            assert idle.ends() == b""
            assert hear(listener) == end(idle, "timeout")
        quiet(listener)
