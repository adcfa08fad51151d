"""What other sessions do while an operation is under way: the locks that they take, the sessions that they kill."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

import pytest

from agent.confirmed import ConfirmedCommits
from agent.errors import NetconfError
from agent.link import Peer
from agent.session import Session
from tests.agent.server_bench import DEADLINE, N, Server, edit, run, until

if TYPE_CHECKING:
    from agent.commit import CommitEngine
    from agent.model.load import Model
    from tests.agent.commit_bench import Bench
    from tests.agent.server_bench import Client
    from translators.base import Change, Plan

CONFIRMED = "<commit><confirmed/></commit>"
VALIDATE = "<validate><source><candidate/></source></validate>"


def lock(name: str) -> str:
    return f"<lock><target><{name}/></target></lock>"


def kill(victim: Client) -> str:
    return f"<kill-session><session-id>{victim.id}</session-id></kill-session>"


# Locks that are taken while the machine is asked.


def test_a_lock_that_is_taken_while_the_machine_is_asked_holds_against_the_edit(model: Model) -> None:
    """C140: though the edit began before the lock was there."""

    async def scenario() -> None:
        server = Server(model)
        slow, other = server.client(), server.client()
        server.engine.gate.clear()
        slow.send(edit("slow"))
        await until(lambda: server.engine.asked == 1)
        await other.ok(lock("candidate"))
        server.engine.gate.set()
        await slow.idle()
        (reply,) = slow.replies()
        assert reply.findtext(f"{N}rpc-error/{N}error-tag") == "in-use"
        assert server.stores.locks["candidate"].session.id == other.id
        assert await other.config() == "gate"
        await other.ok(edit("other"))

    run(scenario())


def test_validating_neither_needs_nor_ends_a_lock(model: Model) -> None:
    async def scenario() -> None:
        server = Server(model)
        slow, other = server.client(), server.client()
        server.engine.gate.clear()
        slow.send(VALIDATE)
        await until(lambda: server.engine.asked == 1)
        await other.ok(lock("candidate"))
        server.engine.gate.set()
        await slow.idle()
        assert [[child.tag for child in reply] for reply in slow.replies()] == [[f"{N}ok"]]
        assert server.stores.locks["candidate"].session.id == other.id

    run(scenario())


class Slow:
    """Holds up the first commit's preparing, in its thread, until ``go``."""

    def __init__(self, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun, self.go = threading.Event(), threading.Event()
        self._prepare = bench.first.prepare
        monkeypatch.setattr(bench.first, "prepare", self.prepare)

    def prepare(self, change: Change, host: Any) -> Plan:
        self.begun.set()
        assert self.go.wait(DEADLINE)
        return self._prepare(change, host)


def session(number: int) -> Session:
    peer = Peer("ada", "ietf-netconf-monitoring:netconf-ssh")
    return Session(number, peer, datetime.now(UTC), end=lambda _reason: None)


@pytest.mark.parametrize("name", ["running", "candidate"])
def test_a_lock_that_is_taken_while_a_commit_waits_for_its_turn_holds_against_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    slow = Slow(bench, monkeypatch)
    one, other = bench.tree(pres={"z": "1"}), bench.tree(pres={"z": "2"})
    third = session(3)

    async def main(engine: CommitEngine) -> None:
        first = asyncio.ensure_future(engine.commit(one, session(1)))
        await until(slow.begun.is_set)
        assert engine.committing is not None
        assert engine.committing.id == 1
        second = asyncio.ensure_future(engine.commit(other, session(2)))
        await asyncio.sleep(0)
        bench.datastores.lock(name, third, datetime.now(UTC))
        slow.go.set()
        await first
        with pytest.raises(NetconfError, match=f"{name} is locked by session 3") as caught:
            await second
        assert caught.value.tag == "in-use"
        assert engine.committing is None

    bench.run(main)
    assert bench.datastores.running is one
    assert bench.datastores.locks[name].session is third
    assert bench.machine.done == ["z=1"]


def test_a_lock_of_its_own_does_not_hold_against_a_commit(bench: Bench) -> None:
    owner, new = session(1), bench.tree(pres={"z": "1"})
    bench.datastores.lock("running", owner, datetime.now(UTC))
    bench.run(lambda engine: engine.commit(new, owner))
    assert bench.datastores.running is new


def test_running_is_not_locked_while_another_session_commits(model: Model) -> None:
    async def scenario() -> None:
        server = Server(model)
        committing, other = server.client(), server.client()
        server.engine.committing = committing.session._session
        assert await other.refused(lock("running")) == (
            "protocol",
            "lock-denied",
            {"session-id": str(committing.id)},
        )
        await committing.ok(lock("running"))

    run(scenario())


# Sessions that are killed while they are at work.


@pytest.mark.parametrize("locks", [("running",), ("running", "candidate")])
@pytest.mark.parametrize("operation", [edit("killed's"), VALIDATE, "<get/>"])
def test_what_a_killed_session_had_under_way_changes_nothing(
    model: Model, operation: str, locks: tuple[str, ...]
) -> None:
    """C149: its locks go with it, and what it sent after that is not begun."""

    async def scenario() -> None:
        server = Server(model)
        victim, other = server.client(), server.client()
        for name in locks:
            await victim.ok(lock(name))
        server.engine.gate.clear()
        asked = server.engine.asked
        victim.send(operation, edit("next", "<test-option>set</test-option>"), "<commit/>")
        await until(lambda: server.engine.asked == asked + (operation != "<get/>"))
        await other.ok(kill(victim))
        assert victim.wire.ends == ["abort"]
        server.engine.gate.set()
        await until(lambda: len(server.sessions) == 1)
        assert server.stores.locks == {}
        assert server.stores.candidate is server.stores.running
        assert await other.config() == await other.config("running") == "gate"
        await other.ok(lock("candidate"))

    run(scenario())


def test_a_commit_that_a_killed_session_had_begun_is_done_and_its_locks_go(model: Model) -> None:
    async def scenario() -> None:
        server = Server(model)
        victim, other = server.client(), server.client()
        await victim.ok(lock("running"))
        await victim.ok(edit("new"))
        server.engine.gate.clear()
        asked = server.engine.asked
        victim.send("<commit/>", edit("next"))
        await until(lambda: server.engine.asked == asked + 1)
        await other.ok(kill(victim))
        await until(lambda: victim.session._lost)
        assert (await other.refused(lock("running")))[:2] == ("protocol", "lock-denied")
        server.engine.gate.set()
        await until(lambda: len(server.sessions) == 1)
        assert server.stores.locks == {}
        assert await other.config() == await other.config("running") == "new"

    run(scenario())


def test_a_confirmed_commit_that_a_killed_session_had_begun_is_undone(bench: Bench, model: Model) -> None:
    """RFC 6241 8.4.1: nobody is left to confirm it."""

    async def scenario() -> None:
        server = Server(model)
        confirmed = ConfirmedCommits(server.stores, cast("Any", server.engine), bench.store)
        server.services = replace(server.services, confirmed=confirmed)
        victim, other = server.client(), server.client()
        await victim.ok(edit("new"))
        server.engine.gate.clear()
        asked = server.engine.asked
        victim.send(CONFIRMED)
        await until(lambda: server.engine.asked == asked + 1)
        await other.ok(kill(victim))
        server.engine.gate.set()
        await until(lambda: len(server.sessions) == 1)
        await confirmed.close()
        assert confirmed.owner is None
        assert await other.config("running") == "gate"

    run(scenario())
