"""Updates on change: one for each change, no oftener than is wanted, and nothing lost."""

from __future__ import annotations

from asyncio import sleep
from typing import TYPE_CHECKING, Any

import pytest

from agent.nacm import Access
from agent.subscriptions.reasons import Refused
from tests.agent.subscription_bench import STATE, TOP, Bench, edits, run
from translators.base import Fault

if TYPE_CHECKING:
    from collections.abc import Hashable
    from pathlib import Path

    from agent.model.load import Model
    from agent.tree import Node

FLOWS = (
    '<acceleration xmlns="urn:accel-agent:hardware-acceleration"><qat><device><flows/></device></qat></acceleration>'
)
TIME = '<acceleration xmlns="urn:accel-agent:hardware-acceleration"><cpu><time/></cpu></acceleration>'
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


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [(FLOWS, "on-change-unsupported"), (TIME, "on-change-unsupported"), (LIBRARY, "unchanging-selection")],
    ids=["counters", "times", "what is fixed"],
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


def test_time_that_passes_on_the_cpus_is_no_change(model: Model, tmp_path: Path) -> None:
    cpu: dict[str, Any] = {"aes-ni": True, "time": {"busy": "5", "total": "90"}}
    wanted = TIME.replace("<cpu><time/></cpu>", "<cpu/>")

    async def scenario(bench: Bench) -> None:
        path = "/hardware-acceleration:acceleration/cpu"
        bench.operational.provide(path, lambda _wanted: {"hardware-acceleration:acceleration": {"cpu": cpu}})
        listener = bench.listener()
        await bench.on_change(listener, wanted, "operational")
        await sleep(1)
        assert "<busy>5</busy>" in listener.messages[0][1]
        cpu["time"] = {"busy": "6", "total": "190"}
        bench.subscriptions.looked()
        await sleep(1)
        assert listener.got == ["push-update 1"]

    run(model, tmp_path, scenario)
