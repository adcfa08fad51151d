"""One session: order, waiting and ending, with peers that do not wait, read or stay."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from agent.session import SessionLimitError
from agent.settings import Limits
from tests.agent.server_bench import GET, N, Server, edit, run, until

if TYPE_CHECKING:
    from agent.model.load import Model


def test_requests_are_answered_in_order_one_at_a_time(model: Model) -> None:
    """C041: what is quick waits for what is slow."""

    async def scenario() -> None:
        server = Server(model)
        client = server.client()
        server.engine.gate.clear()
        client.send(edit("new"), GET, "<commit/>", "<get/>", GET)
        for _ in range(10):
            await asyncio.sleep(0)
        assert client.replies() == []
        assert server.engine.asked == 1
        server.engine.gate.set()
        await client.idle()
        replies = client.replies()
        assert [reply.get("message-id") for reply in replies] == ["1", "2", "3", "4", "5"]
        assert [[child.tag for child in reply] for reply in replies] == [
            [f"{N}{name}"] for name in ("ok", "data", "ok", "data", "data")
        ]

    run(scenario())


def test_other_sessions_are_served_while_one_waits(model: Model) -> None:
    async def scenario() -> None:
        server = Server(model)
        slow, other = server.client(), server.client()
        server.engine.gate.clear()
        slow.send(edit("new"))
        assert (await other.ask(GET)).tag == f"{N}data"
        server.engine.gate.set()
        await slow.idle()
        assert len(slow.replies()) == 1

    run(scenario())


def test_an_edit_is_made_again_on_what_another_session_made_meanwhile(model: Model) -> None:
    async def scenario() -> None:
        server = Server(model)
        slow, other = server.client(), server.client()
        server.engine.gate.clear()
        slow.send(edit("slow"))
        await until(lambda: server.engine.asked == 1)
        options = "<test-option>set</test-option>"
        await other.ok(edit("other", options).replace("</name>", "</name><mtu>70</mtu>"))
        server.engine.gate.set()
        await slow.idle()
        assert server.stores.candidate.xml() == b'<top xmlns="urn:example:t"><name>slow</name><mtu>70</mtu></top>'

    run(scenario())


@pytest.mark.parametrize(("operation", "most"), [(GET, 64), ("<get/>", 1)])
def test_a_peer_that_does_not_read_is_not_answered_on(model: Model, operation: str, most: int) -> None:
    """Few replies pile up, whether they are made at once or later."""

    async def scenario() -> None:
        client = Server(model).client()
        client.wire.full = True
        client.send(*[operation] * 300)
        for _ in range(1000):
            await asyncio.sleep(0)
        assert len(client.replies()) == most
        client.wire.full = False
        client.session.resume_writing()
        await until(lambda: client.wire.written.count(b"\n##\n") == 300)

    run(scenario())


def test_a_peer_that_does_not_wait_is_not_read_on(model: Model) -> None:
    async def scenario() -> None:
        server = Server(model)
        client = server.client()
        server.engine.gate.clear()
        client.send("<get/>")
        request = client.framed(client.request(GET + " " * 99_000))
        for _ in range(10):
            client.session.data_received(request)
        assert client.wire.flow == []
        client.session.data_received(request)
        assert client.wire.flow == ["pause"]
        server.engine.gate.set()
        await until(lambda: client.wire.written.count(b"\n##\n") == 12)
        assert client.wire.flow == ["pause", "resume"]

    run(scenario())


@pytest.mark.parametrize(("count", "operation"), [(500, GET), (20, "<get/>")])
def test_a_client_that_sends_no_more_gets_all_its_answers(model: Model, count: int, operation: str) -> None:
    """C026: the end of input is the end of the session, after the last reply."""

    async def scenario() -> None:
        server = Server(model)
        client = server.client()
        client.send(*[operation] * count)
        client.session.eof_received()
        await until(lambda: len(server.sessions) == 0)
        assert len(client.replies()) == count
        assert client.wire.ends == ["close"]
        assert server.sessions.dropped_sessions == 1

    run(scenario())


def test_many_requests_at_once_leave_a_turn_to_others(model: Model) -> None:
    async def scenario() -> None:
        server = Server(model)
        busy, other = server.client(), server.client()
        busy.send(*[GET] * 500)
        assert len(busy.replies()) < 500
        other.send(GET)
        assert len(other.replies()) == 1
        await until(lambda: busy.wire.written.count(b"\n##\n") == 500)
        assert busy.wire.writes < 100

    run(scenario())


def test_close_session(model: Model) -> None:
    """C145, F111: ok is sent before the end; what comes after it is ignored."""

    async def scenario() -> None:
        server = Server(model)
        client, other = server.client(), server.client()
        await client.ok("<lock><target><running/></target></lock>")
        client.send("<close-session/>", "<lock><target><candidate/></target></lock>")
        (reply,) = client.replies()
        assert [child.tag for child in reply] == [f"{N}ok"]
        assert (client.wire.ends, server.stores.locks) == (["close"], {})
        await other.ok("<lock><target><running/></target></lock>")
        await until(lambda: len(server.sessions) == 1)
        client.session.data_received(b"more")
        assert server.sessions.dropped_sessions == 0

    run(scenario())


def test_kill_session(model: Model) -> None:
    """C149, F85: at once, with its locks and the edits under them."""

    async def scenario() -> None:
        server = Server(model)
        client, victim = server.client(), server.client()
        await victim.ok("<lock><target><candidate/></target></lock>")
        await victim.ok(edit("new"))
        assert (await client.refused(edit("mine")))[:2] == ("protocol", "in-use")  # C140, F87
        assert await client.refused("<lock><target><candidate/></target></lock>") == (
            "protocol",
            "lock-denied",
            {"session-id": str(victim.id)},
        )
        await client.ok(f"<kill-session><session-id>{victim.id}</session-id></kill-session>")
        assert victim.wire.ends == ["abort"]
        assert await client.config() == "gate"
        await client.ok("<lock><target><candidate/></target></lock>")
        assert server.sessions.dropped_sessions == 0

    run(scenario())


@pytest.mark.parametrize("fault", [None, ConnectionResetError("reset by peer")])
def test_a_connection_that_is_lost_frees_what_the_session_held(model: Model, fault: Exception | None) -> None:
    """C143, C144, F85, F113."""

    async def scenario() -> None:
        server = Server(model)
        client, other = server.client(), server.client()
        await client.ok("<lock><target><candidate/></target></lock>")
        await client.ok(edit("new"))
        client.session.connection_lost(fault)
        assert (server.stores.locks, len(server.sessions)) == ({}, 1)
        assert await other.config() == "gate"
        assert server.sessions.dropped_sessions == 1

    run(scenario())


def test_an_operation_that_is_under_way_is_finished_when_its_client_is_gone(model: Model) -> None:
    async def scenario() -> None:
        server = Server(model)
        client = server.client()
        await client.ok("<lock><target><running/></target></lock>")
        await client.ok(edit("new"))
        server.engine.gate.clear()
        client.send("<commit/>", "<discard-changes/>")
        await until(lambda: server.engine.asked == 2)
        written = len(client.wire.written)
        client.session.connection_lost(None)
        assert len(server.sessions) == 1
        assert server.stores.locks.keys() == {"running"}
        server.engine.gate.set()
        await until(lambda: len(server.sessions) == 0)
        assert server.stores.locks == {}
        assert b"<name>new</name>" in server.stores.running.xml()
        assert len(client.wire.written) == written

    run(scenario())


def test_200_connections_that_are_cut_leave_nothing_behind(model: Model) -> None:
    """F113."""

    async def scenario() -> None:
        server = Server(model, Limits(sessions=3, sessions_per_user=3))
        for number in range(200):
            client = server.connect() if number % 2 else server.client()
            client.session.connection_lost(None)
        assert len(server.sessions) == 0
        assert server.sessions.in_sessions == server.sessions.dropped_sessions == 200
        clients = [server.client() for _ in range(3)]
        with pytest.raises(SessionLimitError):
            server.connect()
        assert len({client.id for client in clients}) == 3

    run(scenario())


def test_an_idle_session_ends(model: Model) -> None:
    """F119: but none that is at work."""

    async def scenario() -> None:
        server = Server(model, Limits(idle_timeout=1))
        for client in (busy := server.client(), idle := server.client()):
            client.session._idle_timeout = 0.001  # type: ignore[assignment]
        server.engine.gate.clear()
        busy.send("<get/>")
        idle.send(GET)
        await until(lambda: idle.wire.ends)
        assert len(idle.replies()) == 1
        timer = busy.session._timer
        await until(lambda: busy.session._timer is not timer)
        assert busy.wire.ends == []
        server.engine.gate.set()
        await until(lambda: len(server.sessions) == 0)
        assert len(busy.replies()) == 1
        assert server.sessions.dropped_sessions == 2

    run(scenario())


def test_a_transport_that_does_not_close_is_cut(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        client = Server(model).client()
        client.wire.receiver = None
        client.send("<close-session/>")
        await until(lambda: client.wire.ends == ["close", "abort"])

    monkeypatch.setattr("agent.server._CLOSE_TIMEOUT", 0)
    run(scenario())
