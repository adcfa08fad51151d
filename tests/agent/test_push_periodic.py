"""Periodic updates: who gets what when, how often the machine is read, and what a session that does not read costs."""

from __future__ import annotations

from asyncio import sleep
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from agent.nacm import Access
from agent.subscriptions.reasons import Refused
from agent.subscriptions.terms import OnChange, Periodic
from agent.tree import from_json
from tests.agent.subscription_bench import START, STATE, Bench, run
from translators.base import Fault

if TYPE_CHECKING:
    from collections.abc import Hashable
    from pathlib import Path

    from agent.model.load import Model
    from agent.tree import Node


class Blind(Access):
    """Sees nothing."""

    key: Hashable = "blind"
    unrestricted = False

    def readable(self, tree: Node) -> Node:
        return tree.with_children({})


def test_two_hundred_subscribers_cost_one_read_a_second(model: Model, tmp_path: Path) -> None:
    async def scenario(bench: Bench) -> None:
        await sleep(0.3)
        listeners = [bench.listener() for _ in range(200)]
        for listener in listeners:
            await bench.periodic(listener)
        await sleep(0.1)
        bench.source.asked.clear()
        await sleep(5)
        assert bench.source.asked == [1, 2, 3, 4, 5]
        for number, listener in enumerate(listeners, 1):
            assert listener.got == [f"push-update {number}"] * 6
            assert listener.times == [0.3, 1, 2, 3, 4, 5]

    run(model, tmp_path, scenario)


def test_users_who_see_different_things_share_the_read(model: Model, tmp_path: Path) -> None:
    async def scenario(bench: Bench) -> None:
        bench.nacm.of = {"bob": Blind()}
        ada, bob = bench.listener(), bench.listener("bob")
        await bench.periodic(ada)
        await bench.periodic(bob)
        bench.source.asked.clear()
        await sleep(1.5)
        assert bench.source.asked == [1]
        assert "<up>true</up>" in ada.messages[-1][1]
        assert "<datastore-contents/>" in bob.messages[-1][1].replace("></datastore-contents>", "/>")
        bench.nacm.of = {}
        await sleep(1)
        assert "<up>true</up>" in bob.messages[-1][1]

    run(model, tmp_path, scenario)


def test_periods_come_due_together(model: Model, tmp_path: Path) -> None:
    async def scenario(bench: Bench) -> None:
        await sleep(0.7)
        fast, slow = bench.listener(), bench.listener()
        await bench.periodic(fast, 100)
        await bench.periodic(slow, 200)
        await sleep(0.1)
        bench.source.asked.clear()
        await sleep(4)
        assert bench.source.asked == [1, 2, 3, 4]
        assert slow.times == [0.7, 2, 4]

    run(model, tmp_path, scenario)


def test_an_anchor_says_when_updates_are_due(model: Model, tmp_path: Path) -> None:
    async def scenario(bench: Bench) -> None:
        await sleep(2)
        listener = bench.listener()
        await bench.periodic(listener, 6000, anchor=START + timedelta(hours=5, seconds=17))
        await sleep(150)
        assert listener.times == [2, 17, 77, 137]

    run(model, tmp_path, scenario)


def test_a_clock_that_is_a_little_slow_makes_no_update_twice(model: Model, tmp_path: Path) -> None:
    async def scenario(bench: Bench) -> None:
        bench.rate = 0.999
        listener = bench.listener()
        await bench.periodic(listener, 100, anchor=START)
        await sleep(10.5)
        assert len(listener.got) == 11

    run(model, tmp_path, scenario)


def test_only_what_misses_something_is_suspended(model: Model, tmp_path: Path) -> None:
    async def scenario(bench: Bench) -> None:
        listener = bench.listener()
        await bench.on_change(listener)
        await bench.periodic(listener)
        await sleep(0.5)
        listener.block()
        bench.commit(name="b")
        await sleep(2)
        listener.drain()
        await sleep(1)
        listener.block()
        listener.messages.clear()
        await sleep(20)
        assert listener.got == ["subscription-suspended 2 insufficient-resources"]

    run(model, tmp_path, scenario)


def test_a_session_that_never_reads_is_suspended_and_ended_while_others_are_on_time(
    model: Model, tmp_path: Path
) -> None:
    async def scenario(bench: Bench) -> None:
        stuck, other = bench.listener(), bench.listener()
        await bench.periodic(stuck)
        await bench.periodic(other)
        await sleep(0.5)
        stuck.block()
        await sleep(700)
        assert stuck.got == [
            "push-update 1",
            "subscription-suspended 1 insufficient-resources",
            "subscription-terminated 1 suspension-timeout",
        ]
        assert stuck.session.subscriptions == 0
        assert stuck.session.drained == []
        assert other.times == [0, *range(1, 701)]

    run(model, tmp_path, scenario)


def test_a_session_that_reads_again_gets_what_is_selected_now(model: Model, tmp_path: Path) -> None:
    async def scenario(bench: Bench) -> None:
        listener = bench.listener()
        await bench.periodic(listener, 360000)
        await sleep(3599)
        listener.block()
        await sleep(60)
        bench.source.tree = {"up": False}
        assert [receiver["state"] for receiver in bench.receivers()] == ["suspended"]
        listener.drain()
        await sleep(1)
        assert listener.got[1:] == [
            "subscription-suspended 1 insufficient-resources",
            "subscription-resumed 1",
            "push-update 1",
        ]
        assert "<up>false</up>" in listener.messages[-1][1]

    run(model, tmp_path, scenario)


def test_a_short_pause_costs_the_updates_that_fall_into_it_only(model: Model, tmp_path: Path) -> None:
    async def scenario(bench: Bench) -> None:
        listener = bench.listener()
        await bench.periodic(listener)
        await sleep(0.5)
        listener.block()
        await sleep(2)
        listener.drain()
        await sleep(60)
        assert listener.times == [0, *range(3, 63)]

    run(model, tmp_path, scenario)


def test_what_can_not_be_read_makes_an_update_incomplete(model: Model, tmp_path: Path) -> None:
    async def scenario(bench: Bench) -> None:
        listener = bench.listener()
        await bench.periodic(listener)
        await sleep(0.5)
        bench.source.faults = (Fault("/t:top/state/log", "no such file"),)
        await sleep(1)
        assert "<up>true</up>" in listener.messages[-1][1]
        assert "<incomplete-update/>" in listener.messages[-1][1]
        bench.source.tree = {}
        await sleep(1)
        assert "<up>" not in listener.messages[-1][1]
        assert "<incomplete-update/>" in listener.messages[-1][1]

    run(model, tmp_path, scenario)


def test_a_stop_time_completes_a_subscription(model: Model, tmp_path: Path) -> None:
    async def scenario(bench: Bench) -> None:
        listener = bench.listener()
        await bench.periodic(listener, stop=bench.now() + timedelta(seconds=2.5))
        await sleep(10)
        assert listener.got == ["push-update 1"] * 3 + ["subscription-completed 1"]
        assert listener.session.subscriptions == 0

    run(model, tmp_path, scenario)


def test_subscriptions_end_with_their_session_without_a_word(model: Model, tmp_path: Path) -> None:
    async def scenario(bench: Bench) -> None:
        listener = bench.listener()
        for _ in range(3):
            await bench.periodic(listener)
            await bench.on_change(listener)
        await sleep(0.5)
        listener.messages.clear()
        listener.session.ended = True  # which is told once the operation in hand is through
        await sleep(30)
        listener.hang_up()
        bench.source.asked.clear()
        await sleep(5)
        assert listener.got == []
        assert bench.source.asked == []
        assert bench.receivers() == []

    run(model, tmp_path, scenario)


def test_rules_that_change_before_the_first_update_hold_for_it(model: Model, tmp_path: Path) -> None:
    async def scenario(bench: Bench) -> None:
        listener = bench.listener()
        await bench.subscriptions.establish(listener.session, bench.terms(Periodic(1000)))
        bench.nacm.of = {"ada": Blind()}  # it was read, and has not begun
        nacm = {"ietf-netconf-acm:nacm": {"read-default": "deny"}}
        bench.datastores.moved(from_json(model.root, {"t:top": {"name": "a"}, **nacm}))
        await sleep(1)
        assert listener.got == ["push-update 1"]
        assert "<datastore-contents></datastore-contents>" in listener.messages[0][1]

    run(model, tmp_path, scenario)


def test_modified_terms_take_the_place_of_the_old_ones(model: Model, tmp_path: Path) -> None:
    async def scenario(bench: Bench) -> None:
        listener = bench.listener()
        subscription = await bench.periodic(listener)
        await sleep(1.5)
        terms = bench.terms(Periodic(300), STATE, "operational")
        assert await bench.subscriptions.modify(subscription, lambda _terms: terms)
        await sleep(6)
        assert listener.times == [0, 1, 1.5, 3, 6]
        assert set(listener.got) == {"push-update 1"}

    run(model, tmp_path, scenario)


def test_there_is_a_limit_to_a_sessions_subscriptions(model: Model, tmp_path: Path) -> None:
    async def scenario(bench: Bench) -> None:
        listener = bench.listener()
        for _ in range(100):
            await bench.periodic(listener)
        with pytest.raises(Refused, match="100 subscriptions, which is the limit") as refused:
            await bench.periodic(listener)
        assert refused.value.reason == "ietf-subscribed-notifications:insufficient-resources"
        await bench.periodic(bench.listener())

    run(model, tmp_path, scenario)


@pytest.mark.parametrize(
    ("trigger", "reason"),
    [(Periodic(100), "update-too-big"), (OnChange(), "sync-too-big")],
    ids=["periodic", "on change"],
)
def test_what_selects_too_much_is_refused(
    model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trigger: Periodic | OnChange, reason: str
) -> None:
    monkeypatch.setattr("agent.subscriptions.reader.MOST_BYTES", 2000)

    async def scenario(bench: Bench) -> None:
        bench.commit(tag=["x" * 40 + str(number) for number in range(100)])
        listener = bench.listener()
        with pytest.raises(Refused) as refused:
            await bench.subscriptions.establish(listener.session, bench.terms(trigger))
        assert listener.session.drained == []
        assert refused.value.reason == f"ietf-yang-push:{reason}"
        assert refused.value.hints["kilobytes-estimate"] == "5"

    run(model, tmp_path, scenario)


@pytest.mark.parametrize("trigger", [Periodic(100), OnChange()], ids=["periodic", "on change"])
def test_what_grows_too_big_is_suspended_as_long_as_it_is(
    model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trigger: Periodic | OnChange
) -> None:
    monkeypatch.setattr("agent.subscriptions.reader.MOST_BYTES", 2000)

    async def scenario(bench: Bench) -> None:
        listener = bench.listener()
        await bench.subscriptions.establish(listener.session, bench.terms(trigger))
        await sleep(0.5)
        bench.commit(tag=["x" * 40 + str(number) for number in range(100)])
        await sleep(3)
        bench.commit(name="b")
        await sleep(1)
        assert listener.got[:4] == [
            "push-update 1",
            "subscription-suspended 1 update-too-big",
            "subscription-resumed 1",
            "push-update 1",
        ]
        assert "<name>b</name>" in listener.messages[3][1]

    run(model, tmp_path, scenario)


def test_a_filter_that_is_kept_has_a_limit(model: Model, tmp_path: Path) -> None:
    async def scenario(bench: Bench) -> None:
        with pytest.raises(Refused) as refused:
            bench.terms(Periodic(100), "<top xmlns='urn:example:t'/>" * 3000)
        assert refused.value.reason == "ietf-subscribed-notifications:filter-unsupported"

    run(model, tmp_path, scenario)


def test_the_least_period_is_said(model: Model, tmp_path: Path) -> None:
    async def scenario(bench: Bench) -> None:
        with pytest.raises(Refused) as refused:
            await bench.periodic(bench.listener(), 9)
        assert refused.value.hints == {"period-hint": "10"}
        await bench.periodic(bench.listener(), 10)

    run(model, tmp_path, scenario)


def test_excluding_every_change_is_refused(model: Model, tmp_path: Path) -> None:
    async def scenario(bench: Bench) -> None:
        everything = frozenset({"create", "delete", "insert", "move", "replace"})
        with pytest.raises(Refused) as refused:
            await bench.subscriptions.establish(bench.listener().session, bench.terms(OnChange(excluded=everything)))
        assert refused.value.reason == "ietf-yang-push:cant-exclude"

    run(model, tmp_path, scenario)
