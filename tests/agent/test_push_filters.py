"""Updates on change by filters: named, changed, too slow; and modified subscriptions."""

from __future__ import annotations

from asyncio import create_task, sleep
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lxml import etree

from agent.errors import operation_failed
from agent.subscriptions.criteria import by_name, by_subtree, by_xpath
from agent.subscriptions.reasons import NO_SUCH_SUBSCRIPTION
from agent.subscriptions.terms import DatastoreTerms, OnChange
from agent.tree import Node, from_json
from tests.agent.subscription_bench import Bench, edits, run

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from agent.model.load import Model


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


def configure(bench: Bench, selected: str | None) -> None:
    """Make running a top, and a filter that is named f where it selects something."""
    entry = {"filter-id": "f", "datastore-subtree-filter": f'<top xmlns="urn:example:t">{selected}</top>'}
    filters = {FILTERS: {"ietf-yang-push:selection-filter": [entry]}} if selected is not None else {}
    root = bench.datastores.running.schema
    bench.datastores.moved(from_json(root, {"t:top": {"name": "a", "mtu": 1400}, **filters}))


def test_a_filter_that_is_named_is_followed(model: Model, tmp_path: Path) -> None:
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
