"""Updates on change: one for each change, no oftener than is wanted, and nothing lost."""

from __future__ import annotations

from asyncio import create_task, sleep
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from lxml import etree

from agent.errors import operation_failed
from agent.nacm import Access
from agent.subscriptions.criteria import by_name, by_subtree, by_xpath
from agent.subscriptions.reader import read
from agent.subscriptions.reasons import NO_SUCH_SUBSCRIPTION, Refused
from agent.subscriptions.terms import DatastoreTerms, OnChange
from agent.tree import Node, from_json
from tests.agent.subscription_bench import STATE, TOP, Bench, edits, run
from translators.base import Fault

if TYPE_CHECKING:
    from collections.abc import Hashable
    from pathlib import Path

    from agent.model.load import Model

FLOWS = (
    '<acceleration xmlns="urn:accel-agent:hardware-acceleration"><qat><device><flows/></device></qat></acceleration>'
)
LIBRARY = '<yang-library xmlns="urn:ietf:params:xml:ns:yang:ietf-yang-library"/>'


class Nameless(Access):
    """Sees all but the name."""

    key: Hashable = "nameless"
    unrestricted = False

    def readable(self, tree: Node) -> Node:
        top = tree.find("t:top")
        if top is None:
            return tree
        children = {schema: child for schema, child in top.children.items() if schema.name != "name"}
        return tree.with_children({top.schema: top.with_children(children)})


def test_fifty_edits_of_one_commit_are_one_update(model: Model, tmp_path: Path) -> None:
    async def scenario(bench: Bench) -> None:
        listener = bench.listener()
        await bench.on_change(listener)
        await sleep(1)
        items = [{"id": number, "v": "x", "need": "n"} for number in range(47)]
        bench.commit(mtu=1400, item=items, tag=["a"])
        await sleep(1)
        assert listener.got == ["push-update 1", "push-change-update 1"]
        wanted = ["delete /t:top/name", "create /t:top/mtu 1400", "create /t:top/tag=a a"]
        wanted += [f"create /t:top/item={number} {number}xn" for number in range(47)]
        found = edits(listener.messages[-1][1])
        assert sorted(found) == sorted(wanted)
        assert len(found) == 50

    run(model, tmp_path, scenario)


def test_patches_are_numbered_from_each_full_update_on(model: Model, tmp_path: Path) -> None:
    async def scenario(bench: Bench) -> None:
        listener = bench.listener()
        subscription: Any = await bench.on_change(listener)
        for name in ("b", "c"):
            await sleep(1)
            bench.commit(name=name)
        await sleep(1)
        subscription.synchronize()
        await sleep(1)
        bench.commit(name="d")
        await sleep(1)
        assert [text.partition("<patch-id>")[2][:1] for _time, text in listener.messages] == ["", "0", "1", "", "0"]

    run(model, tmp_path, scenario)


def test_without_sync_on_start_only_changes_are_sent(model: Model, tmp_path: Path) -> None:
    async def scenario(bench: Bench) -> None:
        listener = bench.listener()
        await bench.on_change(listener, sync=False)
        await sleep(1)
        assert listener.got == []
        bench.commit(name="b")
        await sleep(1)
        assert edits(listener.messages[0][1]) == ["replace /t:top/name b"]

    run(model, tmp_path, scenario)


def test_a_change_of_something_else_sends_nothing(model: Model, tmp_path: Path) -> None:
    async def scenario(bench: Bench) -> None:
        listener = bench.listener()
        await bench.on_change(listener, '<top xmlns="urn:example:t"><name/></top>')
        await sleep(1)
        bench.commit(name="a", mtu=1400)
        await sleep(1)
        assert listener.got == ["push-update 1"]

    run(model, tmp_path, scenario)


def test_startup_changes_by_itself(model: Model, tmp_path: Path) -> None:
    async def scenario(bench: Bench) -> None:
        listener = bench.listener()
        await bench.on_change(listener, datastore="startup")
        await sleep(1)
        bench.commit(name="b")
        await sleep(1)
        assert listener.got == ["push-update 1"]
        bench.datastores.stored(bench.datastores.running)
        await sleep(1)
        assert edits(listener.messages[-1][1]) == ["replace /t:top/name b"]

    run(model, tmp_path, scenario)


def test_notifications_that_a_user_may_not_get_are_counted(model: Model, tmp_path: Path) -> None:
    class Deaf(Access):
        def may_receive(self, notification: Any, chain: Any = ()) -> bool:
            return bool(notification.name != "push-change-update")

    async def scenario(bench: Bench) -> None:
        bench.nacm.of = {"bob": Deaf()}
        listener = bench.listener("bob")
        await bench.on_change(listener)
        await sleep(1)
        bench.commit(name="b")
        await sleep(1)
        assert listener.got == ["push-update 1"]
        (receiver,) = bench.receivers()
        assert (receiver["sent-event-records"], receiver["excluded-event-records"]) == ("1", "1")

    run(model, tmp_path, scenario)


def test_dampening_holds_back_and_loses_nothing(model: Model, tmp_path: Path) -> None:
    async def scenario(bench: Bench) -> None:
        listener = bench.listener()
        await bench.on_change(listener, dampening=1000)
        await sleep(12)
        for number in range(15):
            bench.commit(name=f"n{number}", mtu=1000 + number)
            await sleep(1)
        bench.commit(name="n14", mtu=1000)
        await sleep(60)
        assert listener.times == [0, 12, 22, 32]
        assert [edits(text) for _time, text in listener.messages[1:]] == [
            ["replace /t:top/name n0", "create /t:top/mtu 1000"],
            ["replace /t:top/name n9", "replace /t:top/mtu 1009"],
            ["replace /t:top/name n14", "replace /t:top/mtu 1000"],
        ]

    run(model, tmp_path, scenario)


def test_what_came_back_within_the_dampening_period_is_no_change(model: Model, tmp_path: Path) -> None:
    async def scenario(bench: Bench) -> None:
        listener = bench.listener()
        await bench.on_change(listener, dampening=1000)
        await sleep(1)
        bench.commit(name="b")
        await sleep(1)
        bench.commit(name="a")
        await sleep(60)
        assert listener.got == ["push-update 1"]

    run(model, tmp_path, scenario)


def test_excluded_changes_are_left_out(model: Model, tmp_path: Path) -> None:
    async def scenario(bench: Bench) -> None:
        listener = bench.listener()
        await bench.on_change(listener, excluded=frozenset({"replace", "move"}))
        await sleep(1)
        bench.commit(name="b")
        await sleep(1)
        assert listener.got == ["push-update 1"]
        bench.commit(name="c", mtu=1400)
        await sleep(1)
        assert edits(listener.messages[-1][1]) == ["create /t:top/mtu 1400"]

    run(model, tmp_path, scenario)


def test_state_is_looked_at_once_for_all(model: Model, tmp_path: Path) -> None:
    async def scenario(bench: Bench) -> None:
        listeners = [bench.listener() for _ in range(20)]
        for listener in listeners:
            await bench.on_change(listener, STATE, "operational")
        await sleep(1)
        bench.source.asked.clear()
        bench.source.tree = {"up": False, "log": [{"n": 1}]}
        bench.subscriptions.looked()
        await sleep(1)
        assert len(bench.source.asked) == 1
        for number, listener in enumerate(listeners, 1):
            assert listener.got == [f"push-update {number}", f"push-change-update {number}"]
        # Entries without keys can't be named: what holds them is replaced.
        assert edits(listeners[0].messages[-1][1]) == ["replace /t:top/state false1"]
        bench.subscriptions.looked()
        await sleep(1)
        assert len(listeners[0].got) == 2

    run(model, tmp_path, scenario)


def test_a_look_does_not_read_configuration_that_nobody_changed(model: Model, tmp_path: Path) -> None:
    async def scenario(bench: Bench) -> None:
        await bench.on_change(bench.listener())
        await sleep(1)
        bench.subscriptions.looked()
        await sleep(1)
        assert bench.source.asked == []

    run(model, tmp_path, scenario)


def test_what_is_broken_is_not_gone(model: Model, tmp_path: Path) -> None:
    async def scenario(bench: Bench) -> None:
        listener = bench.listener()
        await bench.on_change(listener, STATE, "operational")
        await sleep(1)
        bench.source.tree, bench.source.faults = {}, (Fault("/t:top/state/up", "no answer"),)
        bench.subscriptions.looked()
        await sleep(1)
        assert listener.got == ["push-update 1"]
        bench.source.tree = {"log": [{"n": 1}]}
        bench.subscriptions.looked()
        await sleep(1)
        assert edits(listener.messages[-1][1]) == ["replace /t:top/state true1"]
        assert "<incomplete-update/>" in listener.messages[-1][1]
        bench.source.tree, bench.source.faults = {"log": [{"n": 1}]}, ()
        bench.subscriptions.looked()
        await sleep(1)
        assert edits(listener.messages[-1][1]) == ["delete /t:top/state/up"]

    run(model, tmp_path, scenario)


def test_rules_that_change_take_away_and_give(model: Model, tmp_path: Path) -> None:
    async def scenario(bench: Bench) -> None:
        ada, bob = bench.listener(), bench.listener("bob")
        await bench.on_change(ada)
        await bench.on_change(bob)
        await sleep(1)
        bench.nacm.of = {"bob": Nameless()}
        bench.commit(name="a", mtu=1400)
        await sleep(1)
        assert edits(ada.messages[-1][1]) == ["create /t:top/mtu 1400"]
        assert edits(bob.messages[-1][1]) == ["delete /t:top/name", "create /t:top/mtu 1400"]
        bench.commit(name="secret", mtu=1400)
        await sleep(1)
        assert "secret" not in "".join(text for _time, text in bob.messages)
        bench.nacm.of = {}
        bench.commit(name="secret", mtu=1500)
        await sleep(1)
        assert edits(bob.messages[-1][1]) == ["create /t:top/name secret", "replace /t:top/mtu 1500"]

    run(model, tmp_path, scenario)


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


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [(FLOWS, "on-change-unsupported"), (LIBRARY, "unchanging-selection")],
    ids=["counters", "what is fixed"],
)
def test_what_has_no_changes_to_tell_is_refused(model: Model, tmp_path: Path, wanted: str, reason: str) -> None:
    async def scenario(bench: Bench) -> None:
        with pytest.raises(Refused) as refused:
            await bench.on_change(bench.listener(), wanted, "operational")
        assert refused.value.reason == f"ietf-yang-push:{reason}"
        # With something beside it that does change, all of it is taken.
        await bench.on_change(bench.listener(), wanted + TOP, "operational")

    run(model, tmp_path, scenario)


def test_counters_are_in_full_updates_and_start_no_other(model: Model, tmp_path: Path) -> None:
    counted = {"ietf-netconf-monitoring:netconf-state": {"statistics": {"in-sessions": 1}}}
    wanted = '<netconf-state xmlns="urn:ietf:params:xml:ns:yang:ietf-netconf-monitoring"/>'

    async def scenario(bench: Bench) -> None:
        bench.operational.provide("/ietf-netconf-monitoring:netconf-state", lambda _wanted: counted)
        listener = bench.listener()
        await bench.on_change(listener, wanted, "operational")
        await sleep(1)
        assert "<in-sessions>1</in-sessions>" in listener.messages[0][1]
        counted["ietf-netconf-monitoring:netconf-state"]["statistics"]["in-sessions"] = 2
        bench.subscriptions.looked()
        await sleep(1)
        assert listener.got == ["push-update 1"]

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


def test_a_filter_that_takes_too_long_twice_ends_its_subscription(
    model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = [False]

    async def select(_xpath: Any, root: Node, *_arguments: Any) -> Node:
        if slow[0]:
            raise operation_failed("select: the expression took longer than 2 s")
        return root

    async def scenario(bench: Bench) -> None:
        monkeypatch.setattr("agent.xpath.XPath.select", select)
        element = etree.fromstring('<filter xmlns:t="urn:example:t">//t:name[1]</filter>')
        terms = DatastoreTerms("running", by_xpath(model, element), OnChange())
        listener = bench.listener()
        await bench.subscriptions.establish(listener.session, terms)
        await sleep(1)
        for name, is_slow in (("b", True), ("c", False), ("d", True)):
            slow[0] = is_slow
            bench.commit(name=name)
            await sleep(1)
        assert listener.got == ["push-update 1", "push-change-update 1"]
        assert edits(listener.messages[-1][1]) == ["replace /t:top/name c"]
        bench.commit(name="e")
        await sleep(1)
        assert listener.got[2:] == ["subscription-terminated 1 filter-unavailable"]

    run(model, tmp_path, scenario)


def test_filters_are_the_same_by_what_they_select_and_not_by_their_text(model: Model) -> None:
    def same(space: str, prefix: str = "p") -> Any:
        kind = f'<top xmlns="urn:example:t" xmlns:{prefix}="{space}"><kind>{prefix}:k1</kind><name/></top>'
        expression = f'<f xmlns:{prefix}="{space}">//{prefix}:name</f>'
        filters = by_subtree(model, etree.fromstring(f"<f>{kind}</f>")).same
        return (filters, by_xpath(model, etree.fromstring(expression)).same)

    t = same("urn:example:t")
    assert same("urn:example:t", "q") == t
    assert all(one != other for one, other in zip(same("urn:ietf:params:xml:ns:yang:ietf-netconf-acm"), t, strict=True))


def test_who_ends_a_subscription_ends_its_modification(model: Model, tmp_path: Path) -> None:
    async def scenario(bench: Bench) -> None:
        listener = bench.listener()
        subscription = await bench.on_change(listener)
        await sleep(1)
        async with bench.parts.turns.turn(["other"]):
            modified = create_task(bench.subscriptions.modify(subscription, lambda _terms: bench.terms(OnChange(5))))
            await sleep(1)
            bench.subscriptions.end(subscription, NO_SUCH_SUBSCRIPTION)
        assert not await modified
        await sleep(1)
        assert listener.got == ["push-update 1", "subscription-terminated 1 no-such-subscription"]

    run(model, tmp_path, scenario)


FILTERS = "ietf-subscribed-notifications:filters"


def test_a_filter_that_is_named_is_followed(model: Model, tmp_path: Path) -> None:
    def configure(bench: Bench, selected: str | None) -> None:
        entry = {"filter-id": "f", "datastore-subtree-filter": f'<top xmlns="urn:example:t">{selected}</top>'}
        filters = {FILTERS: {"ietf-yang-push:selection-filter": [entry]}} if selected is not None else {}
        bench.datastores.moved(from_json(model.root, {"t:top": {"name": "a", "mtu": 1400}, **filters}))

    async def scenario(bench: Bench) -> None:

        configure(bench, "<name/>")
        criteria = by_name(model, bench.datastores.running, "datastore", "f")
        assert criteria is not None
        listener = bench.listener()
        terms = DatastoreTerms("running", criteria, OnChange())
        await bench.subscriptions.establish(listener.session, terms)
        await sleep(1)
        assert "<name>a</name>" in listener.messages[-1][1]
        assert "mtu" not in listener.messages[-1][1]
        configure(bench, "<mtu/>")
        await sleep(1)
        assert listener.got[1:] == ["subscription-modified 1", "push-update 1"]
        assert "<selection-filter-ref" in listener.messages[1][1]
        assert "<mtu>1400</mtu>" in listener.messages[-1][1]
        # Two changes at once: the last one is told.
        configure(bench, "<name/><mtu/>")
        configure(bench, "<name/>")
        await sleep(1)
        assert listener.got[3:] == ["subscription-modified 1", "push-update 1"]
        assert "<name>a</name>" in listener.messages[-1][1]
        assert "mtu" not in listener.messages[-1][1]
        listener.messages.clear()
        configure(bench, None)
        await sleep(1)
        assert listener.got == ["subscription-terminated 1 filter-unavailable"]
        assert listener.session.subscriptions == 0

    run(model, tmp_path, scenario)


def test_a_modification_and_a_change_of_the_named_filter_both_hold(model: Model, tmp_path: Path) -> None:
    def configure(bench: Bench, selected: str) -> None:
        entry = {"filter-id": "f", "datastore-subtree-filter": f'<top xmlns="urn:example:t">{selected}</top>'}
        filters = {FILTERS: {"ietf-yang-push:selection-filter": [entry]}}
        bench.datastores.moved(from_json(model.root, {"t:top": {"name": "a", "mtu": 1400}, **filters}))

    def dampened(terms: Any) -> Any:
        return replace(terms, trigger=OnChange(500))

    async def scenario(bench: Bench) -> None:
        configure(bench, "<name/>")
        criteria = by_name(model, bench.datastores.running, "datastore", "f")
        assert criteria is not None
        listener = bench.listener()
        terms = DatastoreTerms("running", criteria, OnChange())
        subscription = await bench.subscriptions.establish(listener.session, terms)
        await sleep(1)
        async with bench.parts.turns.turn(["other"]):
            configure(bench, "<mtu/>")
            modified = create_task(bench.subscriptions.modify(subscription, dampened))
            await sleep(1)
        assert await modified
        await sleep(1)
        found = bench.subscriptions.get(1)
        assert found is not None
        assert isinstance(found.terms, DatastoreTerms)
        assert found.terms.trigger == OnChange(500)
        assert listener.got == ["push-update 1", "subscription-modified 1", "push-update 1", "push-update 1"]
        assert "<mtu>1400</mtu>" in listener.messages[-1][1]
        assert "name" not in listener.messages[-1][1]

    run(model, tmp_path, scenario)
