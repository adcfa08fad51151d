"""``when``: what a change makes impossible is removed (RFC 7950 8.3.2), what never was possible is refused (8.3.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from agent import errors
from agent.tree import Children, Node, instance_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from agent.model.load import Model
    from agent.model.schema import SchemaNode
    from agent.tree import Key

    _Place: TypeAlias = tuple[tuple[SchemaNode, Key], ...]  # the nodes from the top level down to one, with their keys
    _Gone: TypeAlias = dict[SchemaNode, dict[Key, "_Gone | None"]]  # what goes of a node; None for all of a child


def settle(model: Model, before: Node, after: Node, part: Callable[[Node], Node]) -> Node:
    """Return a tree after an edit without the nodes whose ``when`` the edit has made false.

    ``part`` gives the part of a tree that has to be looked at. Raises unknown-element for a node that the edit itself
    has made, and that can't be there.
    """
    if not after.schema.has_conditional or after is before:
        return after
    left = after
    while gone := _impossible(model, part(left)):
        for path, place in gone.items():
            if _at(before, place) is not _at(after, place):
                name = place[-1][0].name
                message = f"{name} can't be there as things are: its when condition is false"
                raise errors.unknown_element(name, type="application", path=path, message=message)
        left = _without(left, gone.values())  # which can make others impossible
    return left


def _impossible(model: Model, root: Node) -> dict[str, _Place]:
    """Return the instance paths and places of the nodes with a false ``when``."""
    found = dict(_conditional(root, "", ()))
    impossible = model.validator.impossible(root.xml(), list(found)) if found else ()
    return {path: place for path, place in found.items() if path in impossible}


def _conditional(node: Node, path: str, place: _Place) -> Iterator[tuple[str, _Place]]:
    """Yield the instance path and place of everything below a node that a ``when`` decides about, parents first."""
    for schema, child in node.children.items():
        if not (schema.conditional or schema.has_conditional):
            continue
        for key, one in [((), child)] if isinstance(child, Node) else child.items():
            path_below, place_below = instance_path(path, schema, key), (*place, (schema, key))
            if schema.conditional:
                yield path_below, place_below
            if schema.has_conditional:
                yield from _conditional(one, path_below, place_below)


def _at(root: Node, place: _Place) -> Node | None:
    node: Node | None = root
    for schema, key in place:
        if node is None:
            return None
        node = node.entries(schema).get(key) if schema.is_entry else node.one(schema)
    return node


def _without(root: Node, places: Iterable[_Place]) -> Node:
    gone: _Gone = {}
    for *above, (schema, key) in places:
        within: _Gone | None = gone
        for step, step_key in above:
            within = None if within is None else within.setdefault(step, {}).setdefault(step_key, {})
        if within is not None:
            within.setdefault(schema, {})[key] = None
    return _pruned(root, gone)


def _pruned(node: Node, gone: _Gone) -> Node:
    children: Children = dict(node.children)
    for schema, keys in gone.items():
        child = children.pop(schema)
        entries = {(): child} if isinstance(child, Node) else child
        left = {
            key: _pruned(entry, below) if (below := keys.get(key, {})) else entry
            for key, entry in entries.items()
            if keys.get(key, {}) is not None
        }
        if left:
            children[schema] = left[()] if isinstance(child, Node) else left
    return node.with_children(children)
