"""What is wrong with a tree, and trees that share what they have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent.errors import NetconfError
from agent.tree import Node

if TYPE_CHECKING:
    from agent.model.load import Model


def sharing(before: Node, after: Node) -> Node:
    """Return the second tree, with the first one's nodes wherever both are alike, as an edit makes it."""
    if before.xml() == after.xml():
        return before
    children: dict[Any, Any] = {}
    for schema, child in after.children.items():
        known = before.children.get(schema)
        if isinstance(child, Node):
            children[schema] = sharing(known, child) if isinstance(known, Node) else child
        elif isinstance(known, dict):
            children[schema] = {key: sharing(known[key], one) if key in known else one for key, one in child.items()}
        else:
            children[schema] = child
    return after if after.schema.is_leaf else after.with_children(children)


def verdict(model: Model, root: Node) -> set[tuple[str | None, ...]]:
    """Return what is said to be wrong with a tree, each error as ``said`` returns it; nothing where it is valid."""
    try:
        model.validator.validate(root.xml())
    except NetconfError as error:
        return {said(one) for one in (error, *error.others)}
    return set()


def said(error: NetconfError) -> tuple[str | None, ...]:
    """Return what an error says; which of several entries it names that are alike is chance."""
    clash = error.app_tag == "data-not-unique"
    return (error.tag, error.app_tag) if clash else (error.tag, error.app_tag, error.path, error.message)
