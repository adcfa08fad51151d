"""``when``: what a change makes impossible is removed (RFC 7950 8.3.2), what never was possible is refused (8.3.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent import errors
from agent.tree import Children, Node, instance_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent.model.load import Model


def settle(model: Model, before: Node, after: Node) -> Node:
    """Return a tree after an edit without the nodes whose ``when`` the edit has made false.

    Raises unknown-element for a node that the edit itself has made, and that can't be there.
    """
    if not after.schema.has_conditional or after is before:
        return after
    found = list(_conditional(after, ""))
    if not found:
        return after
    possible = model.validator.possible(after.xml(), [path for path, _node in found])
    impossible = {id(node): path for path, node in found if path not in possible}
    if not impossible:
        return after
    kept = {id(node) for _path, node in _conditional(before, "")}
    for path, node in found:
        if id(node) in impossible and id(node) not in kept:
            message = f"{node.schema.name} can't be there as things are: its when condition is false"
            raise errors.unknown_element(node.schema.name, type="application", path=path, message=message)
    return _without(after, impossible)


def _conditional(node: Node, path: str) -> Iterator[tuple[str, Node]]:
    """Yield the instance path and node of everything below a node that a ``when`` decides about."""
    for schema, child in node.children.items():
        if not (schema.conditional or schema.has_conditional):
            continue
        for one in (child,) if isinstance(child, Node) else child.values():
            below = instance_path(path, schema, one.key() if schema.is_entry else ())
            if schema.conditional:
                yield below, one
            if schema.has_conditional:
                yield from _conditional(one, below)


def _without(node: Node, impossible: dict[int, str]) -> Node:
    children: Children = {}
    for schema, child in node.children.items():
        if isinstance(child, Node):
            if id(child) not in impossible:
                children[schema] = _without(child, impossible) if schema.has_conditional else child
        elif entries := {key: entry for key, entry in child.items() if id(entry) not in impossible}:
            children[schema] = {
                key: _without(entry, impossible) if schema.has_conditional else entry for key, entry in entries.items()
            }
    return node.with_children(children)
