"""How deep what a filter selects is shown (RFC 8526 3.1.1.1, ``max-depth``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.tree import Children, Node

if TYPE_CHECKING:
    from agent.tree import Key


def shortened(selected: Node, whole: Node, depth: int) -> Node:
    """Return what was selected of a tree, with so many levels of each node that was, 1 for the node alone.

    A filter takes a node that it selects as it is, and makes anew those that are above one. Keys always stay. Where
    all was selected, the top-level nodes count.
    """
    if selected is whole and selected.schema.kind != "root":
        return _cut(selected, depth)
    children: Children = {}
    for schema, child in selected.children.items():
        original = whole.children[schema]
        if isinstance(child, Node) and isinstance(original, Node):
            children[schema] = shortened(child, original, depth)
        elif isinstance(child, dict) and isinstance(original, dict):
            children[schema] = {key: shortened(entry, original[key], depth) for key, entry in child.items()}
    return selected.with_children(children)


def _cut(node: Node, depth: int) -> Node:
    if node.schema.is_leaf:
        return node
    children: Children = {}
    for schema, child in node.children.items():
        if depth == 1 and schema not in node.schema.keys:
            continue
        if isinstance(child, Node):
            children[schema] = _cut(child, depth - 1)
        else:
            entries: dict[Key, Node] = {key: _cut(entry, depth - 1) for key, entry in child.items()}
            children[schema] = entries
    return node.with_children(children)
