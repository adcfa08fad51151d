"""The edits of a YANG patch: carried out on what was, they make what is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from agent.difference import changes
from agent.model.load import load
from agent.subscriptions import patch
from agent.tree import from_json
from tests.agent.conftest import MODULES

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

    from agent.model.load import Model
    from agent.tree import Node


@pytest.fixture(scope="module")
def top() -> Any:
    """Return the function that makes a tree of module t's ``top``."""
    model = load([MODULES / "t.yang"])
    return lambda **content: from_json(model.root, {"t:top": content} if content else {})


def shown(old: Node, new: Node) -> list[str]:
    found = []
    for edit in changes(old, new):
        value = "" if edit.value is None else f" {edit.value.xml().decode()}"
        first = " first" if edit.operation in {"insert", "move"} else ""
        place = f" after {edit.point_target}" if edit.point_target else first
        found.append(f"{edit.operation} {edit.target}{place}{value}")
    return found


def test_equal_trees_need_no_edit(top: Any) -> None:
    assert shown(top(name="a", item=[{"id": 1}]), top(name="a", item=[{"id": 1}])) == []


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ({"name": "a"}, {"name": "b"}, ["replace /t:top/name <name>b</name>"]),
        ({"name": "a"}, {"name": "a", "mtu": 1400}, ["create /t:top/mtu <mtu>1400</mtu>"]),
        ({"name": "a", "mtu": 1400}, {"name": "a"}, ["delete /t:top/mtu"]),
        ({}, {"name": "a"}, ["create /t:top/name <name>a</name>"]),
        ({"name": "a"}, {}, ["delete /t:top/name"]),
        (
            {"pair": [{"a": "x,y", "b": "/"}], "name": "a"},
            {"pair": [{"a": "x,y", "b": "/", "c": "1"}], "name": "a"},
            ["create /t:top/pair=x%2Cy,%2F/c <c>1</c>"],
        ),
        ({"tag": ["a", "b"]}, {"tag": ["b", "c"]}, ["delete /t:top/tag=a", "create /t:top/tag=c <tag>c</tag>"]),
        ({"ord": ["a", "b", "c"]}, {"ord": ["b", "c", "a"]}, ["move /t:top/ord=a after /t:top/ord=c"]),
        ({"ord": ["a", "b"]}, {"ord": ["c", "a", "b"]}, ["insert /t:top/ord=c first <ord>c</ord>"]),
        ({"name": "a"}, {"name": "a", "np": {"d": "y"}}, ["create /t:top/np/d <d>y</d>"]),
        (
            {"state": {"up": True, "log": [{"n": 1}]}},
            {"state": {"up": True, "log": [{"n": 2}]}},
            ["replace /t:top/state <state><up>true</up><log><n>2</n></log></state>"],
        ),
    ],
)
def test_edits_say_what_differs(top: Any, old: Any, new: Any, wanted: list[str]) -> None:
    assert shown(top(**old), top(**new)) == wanted


def test_values_stand_alone_and_excluded_operations_are_left_out(top: Any) -> None:
    before, after = top(name="a", mtu=1400), top(name="<b>", tag=["x"])
    assert patch.xml(before, after, excluded={"delete"}).decode() == (
        "<edit><edit-id>edit1</edit-id><operation>replace</operation><target>/t:top/name</target>"
        '<value><name xmlns="urn:example:t">&lt;b&gt;</name></value></edit>'
        "<edit><edit-id>edit2</edit-id><operation>create</operation><target>/t:top/tag=x</target>"
        '<value><tag xmlns="urn:example:t">x</tag></value></edit>'
    )


@given(st.lists(st.sampled_from("abcdefgh"), unique=True), st.lists(st.sampled_from("abcdefgh"), unique=True))
def test_moves_and_inserts_make_the_new_order(wide: Model, old: list[str], new: list[str]) -> None:
    def tree(words: list[str]) -> Node:
        return from_json(wide.root, {"t:top": {"name": "a", "ord": words}})

    order = list(old)
    moves = 0
    for edit in changes(tree(old), tree(new)):
        word = unquote(edit.target.partition("=")[2])
        if edit.operation in {"move", "delete"}:
            order.remove(word)
            moves += edit.operation == "move"
        if edit.operation in {"move", "insert"}:
            at = 0 if edit.point is None else order.index(edit.point[0]) + 1
            order.insert(at, word)
    assert order == new
    assert moves <= max(0, len(set(old) & set(new)) - 1)


CONTAINERS = {"top", "np", "deep"}
KEYS = st.sampled_from("abcd")
WORDS = st.sampled_from(["", "x", "y/z", "1,2", "<&>"])
LEAFS = st.fixed_dictionaries({}, optional={"v": st.integers(0, 3), "need": WORDS})
CONTENT = st.fixed_dictionaries(
    {"name": WORDS},
    optional={
        "mtu": st.integers(68, 70),
        "np": st.fixed_dictionaries({}, optional={"d": WORDS, "deep": st.just({"e": "e"})}),
        "item": st.dictionaries(st.integers(1, 4), LEAFS).map(
            lambda found: [{"id": number, **leafs} for number, leafs in sorted(found.items())]
        ),
        "pair": st.dictionaries(st.tuples(WORDS, WORDS), WORDS).map(
            lambda found: [{"a": a, "b": b, "c": c} for (a, b), c in sorted(found.items())]
        ),
        "rule": st.lists(st.tuples(KEYS, WORDS), unique_by=lambda rule: rule[0]).map(
            lambda rules: [{"id": number, "act": act} for number, act in rules]
        ),
        "tag": st.lists(WORDS, unique=True).map(sorted),
        "ord": st.lists(WORDS, unique=True),
    },
)


@given(CONTENT, CONTENT)
def test_a_receiver_that_carries_out_the_edits_has_what_the_server_has(wide: Model, old: Any, new: Any) -> None:
    before, after = (from_json(wide.root, {"t:top": content}) for content in (old, new))
    received = etree.fromstring(f"<patch>{patch.xml(before, after).decode()}</patch>")
    copy = etree.fromstring(b"<data>" + before.xml() + b"</data>")
    for edit in received:
        carry_out(copy, edit)
    assert canonical(copy) == canonical(etree.fromstring(b"<data>" + after.xml() + b"</data>"))


def carry_out(copy: Element, edit: Element) -> None:
    """Do what an edit says to a copy of a datastore, which has no prefixes; containers without presence are there."""
    parent = copy
    *above, last = (edit.findtext("target") or "").removeprefix("/").split("/")
    for step in above:
        parent = (instances(parent, step) or [etree.SubElement(parent, step.rpartition(":")[2])])[0]
    there = instances(parent, last)
    operation = edit.findtext("operation")
    assert bool(there) == (operation in {"delete", "replace", "move"}), etree.tostring(edit)
    if operation == "delete":
        parent.remove(there[0])
        return
    value = edit.find("value")
    found = value[0] if value is not None else there[0]
    if operation == "replace":
        parent.replace(there[0], found)
    elif operation == "create":
        parent.append(found)
    else:
        point = edit.findtext("point")
        if point is None:
            parent.insert(0, found)
        else:
            (before,) = instances(parent, point.rpartition("/")[2])
            before.addnext(found)


def instances(parent: Element, step: str) -> list[Element]:
    """Return the children that a step of a RESTCONF path names."""
    name, given_keys, keys = step.rpartition(":")[2].partition("=")
    values = [unquote(value) for value in keys.split(",")]
    found = [child for child in parent if etree.QName(child).localname == name]
    if not given_keys:
        return found
    return [child for child in found if [leaf.text or "" for leaf in ([*child][: len(values)] or [child])] == values]


def canonical(element: Element) -> Any:
    """Return an element with its children in an order of their own, but for those in the user's order.

    Containers without presence are left out where nothing is in them.
    """
    children = [child for child in map(canonical, element) if child[0] not in CONTAINERS or child[2] or child[3]]
    name = etree.QName(element).localname
    ordered = [child for child in children if child[0] in {"ord", "rule"}]
    rest = sorted(child for child in children if child[0] not in {"ord", "rule"})
    return name, element.text or "", rest, sorted(ordered, key=lambda child: child[0])
