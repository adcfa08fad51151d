"""The commit engine without a client: at the start, after a crash, and when it looks at the machine."""

from __future__ import annotations

import asyncio
import errno
import logging
from typing import TYPE_CHECKING, Any

import pytest

from agent.health import Health
from tests.agent.commit_bench import NP, TOP, Bench, Note, Owner
from translators.base import Attention, Change, Disturbance, Event, Plan, StepError, TranslatorError

if TYPE_CHECKING:
    from agent.commit import CommitEngine
    from agent.tree import Node
    from translators.base import Tree


# The successor of an agent that was killed, and the start of any.


def test_boot_undoes_what_was_broken_off_in_reverse_and_brings_the_machine_to_running(bench: Bench) -> None:
    bench.commit(bench.tree(pres={"z": "1"}))
    bench.machine.done.clear()
    bench.store.begin(Plan((Note("a"), Note("b"))), bench.tree(pres={"z": "2"}))
    bench.run(lambda engine: engine.boot())
    assert bench.machine.done == ["!b", "!a", "z=1", "d=x", "deep={'e': 0}"]
    assert bench.first.changes[-1] == Change(None, {"z": "1"})
    assert not bench.journal.exists()


def test_boot_undoes_nothing_where_running_is_what_the_commit_led_to(bench: Bench) -> None:
    new = bench.tree(pres={"z": "1"})
    bench.commit(new)
    bench.machine.done.clear()
    bench.store.begin(Plan((Note("a"),)), new)
    bench.run(lambda engine: engine.boot())
    assert "!a" not in bench.machine.done
    assert not bench.journal.exists()


@pytest.mark.parametrize("cause", ["step", "translator", "disk"])
def test_boot_goes_on_where_the_machine_can_not_be_brought_to_running(
    bench: Bench, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, cause: str
) -> None:
    bench.commit(bench.tree(pres={"z": "1"}))
    bench.machine.done.clear()
    if cause == "step":
        bench.machine.failing["d=x"] = StepError("it would not")
    elif cause == "translator":
        bench.first.refusal = TranslatorError("it would not", path=TOP)
    else:

        def full(_plan: Plan, _root: Node | None) -> None:
            raise OSError(errno.ENOSPC, "it would not")

        monkeypatch.setattr(bench.store, "begin", full)
    bench.run(lambda engine: engine.boot())
    assert bench.machine.done == (["z=1", "!d=x", "!z=1"] if cause == "step" else [])
    (record,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert "it would not" in record.getMessage()
    assert not bench.journal.exists()


# Looks.


class Looking(Owner):
    """A translator that looks, and wants its service refreshed."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.looks: list[Tree] = []
        self.answers: list[bool] = []
        self.every = 1000.0
        self.attention = Attention((Event("warning", "it went down"),), Disturbance("ipsec", "restart", enabling=False))

    def interval(self, running: Tree) -> float:
        return self.every

    def look(self, host: Any, running: Tree) -> Attention:
        self.looks.append(running)
        return self.attention

    def asked(self, *, done: bool) -> None:
        self.answers.append(done)


def test_a_look_tells_what_it_finds_and_refreshes_the_service(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    bench.second = looking = Looking(NP)
    bench.run(lambda engine: engine.look())
    assert looking.looks == [{"d": "x", "deep": {"e": 0}}]
    assert bench.machine.done == ["quiesce", "resume"]
    assert [record.getMessage() for record in caplog.records][:1] == ["it went down"]
    assert not bench.journal.exists()


@pytest.mark.parametrize("cause", ["step", "disk"])
def test_a_refresh_that_fails_is_told_and_the_next_look_is_made(
    bench: Bench, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, cause: str
) -> None:
    bench.second = looking = Looking(NP)
    looking.every = 0.01
    if cause == "step":
        bench.machine.failing["resume"] = StepError("it would not")
    else:

        def full(_plan: Plan, _root: Node | None) -> None:
            raise OSError(errno.ENOSPC, "it would not")

        monkeypatch.setattr(bench.store, "begin", full)

    async def watch(engine: CommitEngine) -> None:
        health = asyncio.ensure_future(Health(bench.datastores, engine, lambda: None).run())
        async with asyncio.timeout(10):
            while len(looking.looks) < 3 and not health.done():  # noqa: ASYNC110 - a deadline is on it
                await asyncio.sleep(0.005)
        health.cancel()
        await asyncio.gather(health, return_exceptions=True)

    bench.run(watch)
    assert len(looking.looks) >= 3
    assert "it would not" in caplog.text
    assert bench.machine.done[:2] == (["quiesce", "!resume"] if cause == "step" else [])


def test_who_asked_for_a_refresh_learns_whether_it_was_made(bench: Bench) -> None:
    bench.second = looking = Looking(NP)
    bench.run(lambda engine: engine.look())
    bench.machine.failing["resume"] = StepError("it would not")
    bench.run(lambda engine: engine.look())
    bench.machine.failing.clear()
    bench.run(lambda engine: engine.look())
    looking.attention = Attention()
    bench.run(lambda engine: engine.look())
    assert looking.answers == [True, False, True]


def test_nothing_is_refreshed_while_something_is_owed(bench: Bench) -> None:
    bench.second = looking = Looking(NP)

    async def twice(engine: CommitEngine) -> None:
        bench.machine.failing |= {"resume": StepError("it would not"), "!quiesce": StepError("nor that")}
        await engine.look()
        bench.machine.done.clear()
        await engine.look()

    bench.run(twice)
    assert looking.answers == [False, False]
    assert "quiesce" not in bench.machine.done


def test_a_running_that_is_not_valid_does_not_end_the_looks(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    bench.second = looking = Looking(NP)
    looking.every = 0.01
    valid = bench.datastores.running
    bench.datastores.running = bench.tree(low="9", high="9")  # as after an upgrade of the model

    async def watch(engine: CommitEngine) -> None:
        health = asyncio.ensure_future(Health(bench.datastores, engine, lambda: None).run())
        async with asyncio.timeout(10):
            while "running is not valid" not in caplog.text:  # noqa: ASYNC110 - a deadline is on it
                await asyncio.sleep(0.005)
            bench.datastores.moved(valid)
            while not looking.looks and not health.done():  # noqa: ASYNC110 - same
                await asyncio.sleep(0.005)
        health.cancel()
        await asyncio.gather(health, return_exceptions=True)

    bench.run(watch)
    assert looking.looks
