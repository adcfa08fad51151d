"""What of a tree has to be validated, when another one is known to be valid: a commit costs what it changes."""

from __future__ import annotations

from functools import cache
from itertools import islice
from typing import TYPE_CHECKING

from agent.model.reach import separable
from agent.tree import Children, Node

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from agent.model.schema import SchemaNode
    from agent.tree import Key

    _Values = tuple[str, ...] | None


class Recheck:
    """Knows of which lists the entries that did not change can be left out of what is validated."""

    def __init__(self, root: SchemaNode, whole: Collection[SchemaNode] = ()) -> None:
        """``whole`` are the subtrees of which nothing is left out."""
        found = separable(root, whole)
        self._referrers = {schema: [_down(referrer) for referrer in referrers] for schema, referrers in found.items()}
        self._holding = {above for schema in found for above in _down(schema)}  # such lists, and the nodes above them

    def part(self, valid: Node, root: Node) -> Node:
        """Return a tree that is valid just as ``root`` is, with the same errors: without entries that ``valid`` has."""

        @cache
        def separate(schema: SchemaNode) -> bool:
            referrers = self._referrers.get(schema)
            return referrers is not None and not any(_is_there(root, path) for path in referrers)

        return self._part(valid, root, separate)

    def _part(self, valid: Node | None, node: Node, separate: Callable[[SchemaNode], bool]) -> Node:
        holding = node.children.keys() & self._holding
        if valid is None or not holding:
            return node
        children: Children = dict(node.children)
        for schema in holding:
            child, known = node.children[schema], valid.children.get(schema)
            if isinstance(child, Node):
                children[schema] = self._part(known if isinstance(known, Node) else None, child, separate)
            elif isinstance(known, dict):
                taken = _changed(schema, known, child) if separate(schema) else child
                children[schema] = {key: self._part(known.get(key), entry, separate) for key, entry in taken.items()}
        return node.with_children(children)


def _changed(schema: SchemaNode, known: dict[Key, Node], entries: dict[Key, Node]) -> dict[Key, Node]:
    """Return the entries that are not the known ones, and those that may clash with them, in their order.

    There is always one at least, as whether there is any may matter to the nodes above.
    """
    changed = {} if known is entries else {key: e for key, e in entries.items() if known.get(key) is not e}
    clashing: set[Key] = set()
    for leafs in schema.unique:
        values = {value for entry in changed.values() if (value := _values(entry, leafs)) is not None}
        if values:
            clashing |= {key for key, entry in entries.items() if _values(entry, leafs) in values}
    if clashing - changed.keys():
        return {key: entry for key, entry in entries.items() if key in changed or key in clashing}
    return changed or dict(islice(entries.items(), 1))


def _values(entry: Node, leafs: tuple[tuple[SchemaNode, ...], ...]) -> _Values:
    """Return the values, set or by default, of which no two entries have the same; None where one is missing."""
    found = []
    for path in leafs:
        node: Node | None = entry
        for schema in path:
            node = None if node is None else node.one(schema)
        if node is not None and node.value is not None:
            found.append(node.value)
        elif path[-1].defaults:
            found.append(path[-1].defaults[0])
        else:
            return None
    return tuple(found)


def _down(node: SchemaNode) -> list[SchemaNode]:
    nodes: list[SchemaNode] = []
    above: SchemaNode | None = node
    while above is not None and above.kind != "root":
        nodes.insert(0, above)
        above = above.parent
    return nodes


def _is_there(node: Node | None, path: list[SchemaNode]) -> bool:
    """Whether a node has descendants of a kind, or by the schema alone can have, or can have to have, them."""
    if not path:
        return True
    schema, *rest = path
    found = None if node is None else node.children.get(schema)
    if isinstance(found, dict):
        return any(_is_there(entry, rest) for entry in found.values())
    if found is not None or (schema.kind == "container" and not schema.presence):
        return _is_there(found, rest)
    return schema.demanded or bool(schema.defaults)
