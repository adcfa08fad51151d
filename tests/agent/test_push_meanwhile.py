"""Updates on change to those who read late, or not at all, and what changes meanwhile."""

from __future__ import annotations

from asyncio import sleep
from typing import TYPE_CHECKING, Any

import pytest

from agent.subscriptions.reader import read
from agent.subscriptions.terms import OnChange
from agent.tree import Node
from tests.agent.subscription_bench import STATE, Bench, edits, run

if TYPE_CHECKING:
    from pathlib import Path

    from agent.model.load import Model


def test_a_session_that_never_reads_keeps_no_queue_and_no_tree_of_the_past(model: Model, tmp_path: Path) -> None:
    async def scenario(bench: Bench) -> None:
        stuck, other = bench.listener(), bench.listener()
        subscription: Any = await bench.on_change(stuck)
        await bench.on_change(other)
        await sleep(1)
        stuck.block()
        for number in range(100):
            bench.commit(name=f"n{number}")
            await sleep(1)
        assert len(other.got) == 101
        assert subscription.told.children == {}
        assert stuck.got == ["push-update 1", "subscription-suspended 1 insufficient-resources"]
        stuck.drain()
        await sleep(1)
        assert stuck.got[2:] == ["subscription-resumed 1", "push-update 1"]
        assert "<name>n99</name>" in stuck.messages[-1][1]

    run(model, tmp_path, scenario)


def test_who_misses_nothing_is_not_suspended(model: Model, tmp_path: Path) -> None:
    async def scenario(bench: Bench) -> None:
        listener = bench.listener()
        await bench.on_change(listener, STATE, "operational")
        await sleep(1)
        listener.block()
        for _ in range(30):
            bench.subscriptions.looked()
            await sleep(1)
        listener.drain()
        await sleep(1)
        assert listener.got == ["push-update 1"]

    run(model, tmp_path, scenario)


def test_after_a_suspension_only_changes_are_sent_to_who_wants_only_those(model: Model, tmp_path: Path) -> None:
    async def scenario(bench: Bench) -> None:
        listener = bench.listener()
        await bench.on_change(listener, sync=False)
        await sleep(1)
        listener.block()
        bench.commit(name="b")
        await sleep(30)
        bench.commit(name="c")
        await sleep(1)
        listener.drain()
        await sleep(1)
        assert listener.got == [
            "subscription-suspended 1 insufficient-resources",
            "subscription-resumed 1",
            "push-change-update 1",
        ]
        assert edits(listener.messages[-1][1]) == ["replace /t:top/name c"]

    run(model, tmp_path, scenario)


def test_a_short_pause_makes_one_update_of_many(model: Model, tmp_path: Path) -> None:
    async def scenario(bench: Bench) -> None:
        listener = bench.listener()
        await bench.on_change(listener)
        await sleep(1)
        listener.block()
        bench.commit(name="b")
        await sleep(1)
        bench.commit(name="c")
        await sleep(1)
        listener.drain()
        await sleep(1)
        assert edits(listener.messages[-1][1]) == ["replace /t:top/name c"]
        assert len(listener.messages) == 2

    run(model, tmp_path, scenario)


@pytest.mark.parametrize("sync", [True, False])
def test_what_changes_before_the_first_update_is_not_lost(model: Model, tmp_path: Path, sync: bool) -> None:
    async def scenario(bench: Bench) -> None:
        listener = bench.listener()
        await bench.on_change(listener, sync=sync)
        bench.commit(name="b")  # it was read, and has not begun
        await sleep(1)
        assert len(listener.messages) == 1
        assert "<name>b</name>" in listener.messages[0][1] if sync else edits(listener.messages[0][1])
        bench.commit(name="c")
        await sleep(1)
        assert edits(listener.messages[1][1]) == ["replace /t:top/name c"]

    run(model, tmp_path, scenario)


def test_what_changes_before_other_terms_hold_is_not_lost(model: Model, tmp_path: Path) -> None:
    async def scenario(bench: Bench) -> None:
        listener = bench.listener()
        subscription = await bench.on_change(listener)
        await sleep(1)
        terms = bench.terms(OnChange(), '<top xmlns="urn:example:t"><name/></top>')
        assert await bench.subscriptions.modify(subscription, lambda _terms: terms)
        bench.commit(name="b")
        await sleep(1)
        assert listener.got == ["push-update 1"] * 2
        assert "<name>b</name>" in listener.messages[-1][1]

    run(model, tmp_path, scenario)


def test_between_two_looks_the_others_have_their_turn(model: Model, tmp_path: Path) -> None:
    async def scenario(bench: Bench) -> None:
        listeners = [bench.listener() for _ in range(30)]
        for number, listener in enumerate(listeners):
            await bench.on_change(listener, f'<top xmlns="urn:example:t"><item><id>{number}</id></item><name/></top>')
        await sleep(1)
        rounds = told = 0
        bench.commit(name="b")
        while told < 30:
            await sleep(0)
            rounds += 1
            told = sum(len(listener.messages) == 2 for listener in listeners)
            assert told <= rounds

    run(model, tmp_path, scenario)


@pytest.mark.parametrize(("wanted", "reads"), [("<np/>", 0), ("<name/>", 1), ("<np/><name/>", 1), ("", 1)])
def test_a_change_is_looked_at_by_those_whom_it_may_concern(
    model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wanted: str, reads: int
) -> None:
    found = []

    async def counted(*arguments: Any) -> Any:
        found.append(arguments)
        return await read(*arguments)

    async def scenario(bench: Bench) -> None:
        bench.commit(name="a", np={"d": "x"})
        await bench.on_change(bench.listener(), f'<top xmlns="urn:example:t">{wanted}</top>')
        await sleep(1)
        bench.datastores.moved(with_name(bench.datastores.running, "b"))
        await sleep(1)
        assert len(found) == reads

    monkeypatch.setattr("agent.subscriptions.watches.read", counted)
    run(model, tmp_path, scenario)


def with_name(running: Node, name: str) -> Node:
    """Return a configuration that shares all but a name with another."""
    top, other = running.find("t:top"), running.find("t:top", "name")
    assert top is not None
    assert other is not None
    changed = Node(other.schema, name)
    return running.with_children({top.schema: top.with_children({**top.children, other.schema: changed})})
