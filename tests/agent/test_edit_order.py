"""edit-config: where entries go in the order of the user (RFC 7950 7.7.9, 7.8.6)."""

import contextlib
import gc
import sys

import pytest
from lxml import etree

import agent.edit.order
from agent import edit
from agent.errors import NetconfError
from agent.model.load import Model
from agent.tree import Node
from tests.agent.edit_bench import SPACES, bad, data, element, refused, run, tree

RULES = [{"id": key, "act": "x"} for key in ("r1", "r2", "r3")]


def order(root: Node) -> list[str]:
    return [rule["id"] for rule in data(root)["rule"]]


@pytest.mark.parametrize(
    ("key", "insert", "anchor", "expected"),
    [
        ("r0", "", "", "r1 r2 r3 r0"),  # C126
        ("r0", "first", "", "r0 r1 r2 r3"),
        ("r0", "last", "", "r1 r2 r3 r0"),
        ("r0", "before", "r2", "r1 r0 r2 r3"),
        ("r0", "before", "r1", "r0 r1 r2 r3"),
        ("r0", "after", "r2", "r1 r2 r0 r3"),
        ("r0", "after", "r3", "r1 r2 r3 r0"),
        ("r1", "", "", "r1 r2 r3"),
        ("r3", "first", "", "r3 r1 r2"),
        ("r1", "last", "", "r2 r3 r1"),
        ("r3", "before", "r1", "r3 r1 r2"),
        ("r1", "after", "r3", "r2 r3 r1"),
        ("r1", "before", "r2", "r1 r2 r3"),
        ("r1", "before", "r1", "r1 r2 r3"),  # F53
        ("r2", "after", "r2", "r1 r2 r3"),
    ],
)
@pytest.mark.parametrize("operation", ["merge", "replace"])
def test_where_entries_go(model: Model, operation: str, key: str, insert: str, anchor: str, expected: str) -> None:
    place = f'y:insert="{insert}"' if insert else ""
    by_key = f"y:key=\"[id='{anchor}']\"" if anchor else ""
    by_value = f'y:value="{anchor}"' if anchor else ""
    root = tree(model, rule=RULES, ord=["r1", "r2", "r3"])
    rule = f'<rule nc:operation="{operation}" {place} {by_key}><id>{key}</id><act>x</act></rule>'
    assert order(run(model, root, rule)) == expected.split()
    value = f'<ord nc:operation="{operation}" {place} {by_value}>{key}</ord>'
    assert data(run(model, root, value))["ord"] == expected.split()


def test_where_created_entries_go(model: Model) -> None:
    root = tree(model, ord=["r1", "r2"])
    for place, expected in (
        ("", "r1 r2 r0"),
        ('y:insert="first"', "r0 r1 r2"),
        ('y:insert="before" y:value="r2"', "r1 r0 r2"),
        ('y:insert="after" y:value="r1"', "r1 r0 r2"),
    ):
        after = run(model, root, f'<ord nc:operation="create" {place}>r0</ord>')
        assert data(after)["ord"] == expected.split()


@pytest.mark.parametrize("anchor", ["[q:id='r3']", '[q:id="r3"]', "[ q:id = 'r3' ]", "[id='r3']"])
def test_the_prefixes_of_an_anchor_are_the_elements(model: Model, anchor: str) -> None:
    """F57, C128."""
    quote = "'" if '"' in anchor else '"'
    config = f"<rule y:insert='after' y:key={quote}{anchor}{quote}><id>r1</id></rule>"
    assert order(run(model, tree(model, rule=RULES), config)) == ["r2", "r3", "r1"]


def test_anchors_may_come_in_the_same_edit(model: Model) -> None:
    config = "".join(
        f'<ord y:insert="{insert}" y:value="{anchor}">{value}</ord>'
        for value, insert, anchor in (
            ("c", "first", ""),
            ("b", "before", "c"),
            ("d", "after", "c"),
            ("a", "before", "b"),
        )
    )
    assert data(run(model, tree(model), config.replace(' y:value=""', "")))["ord"] == ["a", "b", "c", "d"]


def test_an_entry_that_leaves_and_comes_back_is_last(model: Model) -> None:
    config = '<ord nc:operation="delete">a</ord><ord y:insert="first">c</ord><ord>a</ord>'
    assert data(run(model, tree(model, ord=["a", "b", "c"]), config))["ord"] == ["c", "b", "a"]
    config = '<ord y:insert="first">c</ord><ord nc:operation="delete">a</ord><ord>a</ord>'
    assert data(run(model, tree(model, ord=["a", "b", "c"]), config))["ord"] == ["c", "b", "a"]


def test_replacing_a_list_as_a_whole_keeps_the_order_of_the_request(model: Model) -> None:
    """C129."""
    config = "".join(f"<ord>{value}</ord>" for value in "cab")
    top = f'<top xmlns="urn:example:t" nc:operation="replace">{config}</top>'
    after = edit.apply(tree(model, ord=["a", "b", "c"]), edit.parse(model, element(top), "merge"))
    assert data(after)["ord"] == ["c", "a", "b"]


def test_default_operation_none_moves_nothing(model: Model) -> None:
    root = tree(model, ord=["a", "b"])
    assert run(model, root, '<ord y:insert="first">b</ord>', "none") is root


@pytest.mark.parametrize(
    ("config", "tag", "app_tag", "attribute"),
    [
        ('<rule y:insert="after" y:key="[q:id=\'zz\']"><id>r0</id></rule>', "bad-attribute", "missing-instance", "key"),
        ('<rule y:insert="before" y:key="[id=\'r0\']"><id>r0</id></rule>', "bad-attribute", "missing-instance", "key"),
        ('<ord y:insert="after" y:value="zz">a</ord>', "bad-attribute", "missing-instance", "value"),  # C124, F55
        ('<rule y:insert="after"><id>r0</id></rule>', "bad-attribute", None, "key"),  # C127
        ('<ord y:insert="before">a</ord>', "bad-attribute", None, "value"),
        ('<ord y:insert="before" y:key="[id=\'a\']">a</ord>', "unknown-attribute", None, "key"),
        ('<rule y:insert="before" y:value="r1"><id>r0</id></rule>', "unknown-attribute", None, "value"),
        ('<rule y:insert="middle"><id>r0</id></rule>', "bad-attribute", None, "insert"),
        ("<rule y:key=\"[id='r1']\"><id>r0</id></rule>", "bad-attribute", None, "key"),
        ('<rule y:insert="after" y:key="r1"><id>r0</id></rule>', "bad-attribute", None, "key"),
        ('<rule y:insert="after" y:key="[act=\'x\']"><id>r0</id></rule>', "bad-attribute", None, "key"),
        ('<rule y:insert="after" y:key="[no:id=\'r1\']"><id>r0</id></rule>', "bad-attribute", None, "key"),
        ('<rule y:insert="after" y:key=""><id>r0</id></rule>', "bad-attribute", None, "key"),
        ('<tag y:insert="first">a</tag>', "unknown-attribute", None, "insert"),
        ('<item y:insert="first"><id>a</id></item>', "unknown-attribute", None, "insert"),
        ("<item y:key=\"[id='b']\"><id>a</id></item>", "unknown-attribute", None, "key"),
        ('<name y:insert="first">n</name>', "unknown-attribute", None, "insert"),
        ('<np y:value="x"/>', "unknown-attribute", None, "value"),
    ],
)
def test_errors_of_order(model: Model, config: str, tag: str, app_tag: str | None, attribute: str) -> None:
    error = refused(model, tree(model, rule=RULES), config)
    assert (error.type, error.tag, error.app_tag) == ("application", tag, app_tag)
    assert error.info == bad(
        attribute=attribute, element=etree.fromstring(f"<x {SPACES}>{config}</x>")[0].tag.split("}")[1]
    )


def test_refused_insertions_leave_nothing_behind(model: Model) -> None:
    """F55."""
    root = tree(model, rule=RULES)
    config = '<rule y:insert="after" y:key="[q:id=\'zz\']"><id>r0</id></rule>'
    refused(model, root, config)
    gc.collect()
    before = sys.getallocatedblocks()
    for _ in range(10_000):
        with contextlib.suppress(NetconfError):
            run(model, root, config)
    gc.collect()
    assert sys.getallocatedblocks() - before < 5000, "less than one block for each two of them"


def test_a_key_of_two_leafs_is_named_in_any_order(wide: Model) -> None:
    """No list of two keys is ordered by the user in t: the anchor's key is read by itself."""
    schema = wide.node("/t:top/pair")
    entry = edit.Edit(schema, "merge", None, ("1", "2"))
    anchored = etree.fromstring(f"<pair {SPACES} y:insert='after' y:key=\"[q:b='4'][a='3']\"/>")
    try:
        schema.user_ordered = True
        assert agent.edit.order.read_place(anchored, entry) == ("after", ("3", "4"))
    finally:
        schema.user_ordered = False
