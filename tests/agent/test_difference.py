"""Edits between two trees: carried out on the first, they make the second."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent import origin
from agent.difference import Change, changes
from agent.tree import Node, from_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent.model.load import Model

IDS = st.lists(st.sampled_from("abcdefgh"), unique=True)


def tree(model: Model, data: dict[str, Any]) -> Node:
    return from_json(model.root, {"t:top": data})


def shown(model: Model, before: dict[str, Any], after: dict[str, Any]) -> list[tuple[str, str]]:
    return [(one.operation, one.target) for one in changes(tree(model, before), tree(model, after))]


@pytest.mark.parametrize(
    ("before", "after", "edits"),
    [
        ({"name": "n"}, {"name": "n"}, []),
        ({"name": "n"}, {"name": "m"}, [("replace", "/t:top/name")]),
        ({"name": "n", "np": {"d": "x"}}, {"name": "n"}, [("delete", "/t:top/np/d")]),
        ({"name": "n", "np": {}}, {"name": "n"}, []),
        (
            {"np": {"d": "x"}},
            {"np": {"d": "y", "deep": {"e": 1}}},
            [("replace", "/t:top/np/d"), ("create", "/t:top/np/deep/e")],
        ),
        (
            {"pair": [{"a": "1", "b": "/,="}]},
            {"pair": [{"a": "é ", "b": "2"}]},
            [("delete", "/t:top/pair=1,%2F%2C%3D"), ("create", "/t:top/pair=%C3%A9%20,2")],
        ),
        (
            {"item": [{"id": "a", "v": 1}]},
            {"item": [{"id": "a", "w": "x"}]},
            [("delete", "/t:top/item=a/v"), ("create", "/t:top/item=a/w")],
        ),
    ],
)
def test_each_difference_is_an_edit(
    model: Model, before: dict[str, Any], after: dict[str, Any], edits: list[tuple[str, str]]
) -> None:
    assert shown(model, before, after) == edits


def test_a_container_that_only_holds_is_neither_created_nor_deleted(model: Model) -> None:
    something, nothing = tree(model, {"name": "n"}), Node(model.root)
    for before, after, operation in ((nothing, something, "create"), (something, nothing, "delete")):
        (one,) = changes(before, after)
        assert (one.operation, one.target) == (operation, "/t:top/name")
        node = one.after or one.before
        assert node is not None
        assert node.xml() == b"<name>n</name>"


@given(before=IDS, after=IDS)
def test_entries_come_into_their_users_order(model: Model, before: list[str], after: list[str]) -> None:
    def rules(ids: list[str]) -> Node:
        return tree(model, {"name": "n", "rule": [{"id": each, "act": "x"} for each in ids]})

    edits = list(changes(rules(before), rules(after)))
    assert carried_out(before, edits) == after
    stay = [each for each in after if each in before]
    kept = len(stay) - sum(one.operation == "move" for one in edits)
    in_order = (n for n in range(len(stay), -1, -1) if any(is_part(some, before) for some in combinations(stay, n)))
    assert kept == next(in_order)


def test_entries_without_keys_are_replaced_with_what_holds_them(model: Model) -> None:
    before, after = ({"name": "n", "state": {"up": True, "log": [{"n": n}]}} for n in (1, 2))
    assert shown(model, before, after) == [("replace", "/t:top/state")]
    assert shown(model, before, before) == []


@given(before=IDS, after=IDS)
def test_those_in_the_systems_order_are_not_moved(model: Model, before: list[str], after: list[str]) -> None:
    def items(ids: list[str]) -> dict[str, Any]:
        return {"name": "n", "item": [{"id": each} for each in sorted(ids)]}

    gone = [("delete", f"/t:top/item={each}") for each in sorted(set(before) - set(after))]
    new = [("create", f"/t:top/item={each}") for each in sorted(set(after) - set(before))]
    assert shown(model, items(before), items(after)) == gone + new


def test_a_node_has_the_origin_that_it_inherits(model: Model) -> None:
    root = tree(model, {"np": {"d": "x"}})
    top = root.find("t:top")
    assert top is not None
    marked = root.with_children({top.schema: Node(top.schema, None, top.children, origin="system")})
    (one,) = changes(marked, tree(model, {"np": {"d": "y"}}))
    assert one.target == "/t:top/np/d"
    assert origin.inherited(marked, one.path, "intended") == "system"
    assert origin.inherited(root, one.path, "intended") == "intended"
    assert origin.inherited(Node(model.root), one.path, None) is None


def is_part(some: Sequence[str], order: Sequence[str]) -> bool:
    """Return whether entries stand in an order, with others between them."""
    rest = iter(order)
    return all(each in rest for each in some)


def carried_out(order: list[str], edits: list[Change]) -> list[str]:
    """Return the ids of rules after edits of a list in its user's order (RFC 8072 2.5)."""
    result = list(order)
    for one in edits:
        name = one.target.rpartition("=")[2]
        if one.operation == "delete":
            result.remove(name)
            continue
        assert one.operation in {"insert", "move"}
        assert (name in result) == (one.operation == "move")
        if name in result:
            result.remove(name)
        place = 0 if one.point is None else result.index(one.point[0]) + 1
        result.insert(place, name)
    return result
