"""Random edits of module t: the agent makes of them what the reference makes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from agent import edit
from agent.errors import NetconfError
from agent.tree import Node
from tests.agent.edit_random import EDITS, TREES, as_json, config, edits_of, tree
from tests.agent.edit_reference import TOP, VALUES, Asked, RefusedError, expected

if TYPE_CHECKING:
    from agent.model.load import Model


@settings(deadline=None, max_examples=400)
@given(TREES, EDITS, st.sampled_from(["merge", "merge", "none"]))
def test_an_edit_makes_what_the_reference_makes(
    model: Model, data: dict[str, Any], asked: tuple[Asked, ...], default: Literal["merge", "none"]
) -> None:
    before = tree(model, data)
    written, children = before.xml(), dict(before.children)
    try:
        wanted_data = expected(data, asked, default)
    except RefusedError as refused:
        tag, path = refused.args
        try:
            edit.apply(before, edit.parse(model, config(asked), default))
        except NetconfError as error:
            assert (error.tag, error.path if path else None) == (tag, path)  # noqa: PT017 - beside "accepted"
        else:
            raise AssertionError(f"accepted, though {tag} at {path}") from None
    else:
        after = edit.apply(before, edit.parse(model, config(asked), default))
        assert as_json(after) == wanted_data
        assert_shared(before, after, asked, default)
    assert (before.xml(), before.children) == (written, children)


@settings(deadline=None, max_examples=150)
@given(TREES, EDITS)
def test_default_operation_replace_makes_the_datastore_anew(
    model: Model, data: dict[str, Any], asked: tuple[Asked, ...]
) -> None:
    """C089: as if there had been nothing before; what is inside is merged (RFC 6241 7.2)."""
    try:
        wanted_data: Any = expected({}, asked, "merge")
    except RefusedError as refused:
        wanted_data = refused.args[0]
    try:
        found: Any = as_json(edit.apply(Node(model.root), edit.parse(model, config(asked), "merge")))
    except NetconfError as error:
        found = error.tag
    assert found == wanted_data


ORDERS = st.lists(st.sampled_from(VALUES["ord"]), unique=True).map(lambda found: {"ord": found} if found else {})


@settings(deadline=None, max_examples=300)
@given(ORDERS, st.lists(edits_of(TOP["ord"], "ord"), min_size=1, max_size=6).map(tuple))
def test_entries_in_the_users_order_go_where_the_reference_puts_them(
    model: Model, top: dict[str, Any], asked: tuple[Asked, ...]
) -> None:
    data = {"top": {"name": "x", **top}}
    asked = (Asked("top", None, children=asked),)
    try:
        wanted_data: Any = expected(data, asked, "merge")
    except RefusedError as refused:
        wanted_data = refused.args
    try:
        found: Any = as_json(edit.apply(tree(model, data), edit.parse(model, config(asked), "merge")))
    except NetconfError as error:
        found = (error.tag, error.path)
    assert found == wanted_data


@settings(deadline=None, max_examples=100)
@given(TREES)
def test_what_is_read_can_be_sent_again(model: Model, data: dict[str, Any]) -> None:
    """F41: it makes the same datastore of nothing, and changes nothing where it is."""
    root = tree(model, data)
    element = etree.fromstring(b"<config>" + root.xml() + b"</config>")
    edits_ = edit.parse(model, element, "merge")
    assert edit.apply(Node(model.root), edits_).xml() == root.xml()
    assert edit.apply(root, edits_) is root


def assert_shared(before: Node, after: Node, asked: tuple[Asked, ...], default: str) -> None:
    """Nodes that no edit names are the very same, and so is all where nothing is changed and nothing twice."""
    every = walk(asked)
    twice = len({(one.name, one.keys, one.value if one.name in {"ord", "tag"} else "") for one in every}) < len(every)
    gentle = not twice and all(one.operation in {None, "merge", "replace"} for one in every)
    if gentle and as_json(before) == as_json(after):
        assert after is before
    old, new = before.find("t:top"), after.find("t:top")
    if old is None or new is None or any(one.operation not in {None, "merge"} for one in asked):
        return
    named = {child.name for one in asked for child in one.children}
    for schema, child in new.children.items():
        if schema.name not in named:
            assert child is old.children[schema]


def walk(asked: tuple[Asked, ...]) -> list[Asked]:
    return [found for one in asked for found in (one, *walk(one.children))]
