"""Reading: what may not be read is left out, with all that is below it (RFC 8341 3.2.4, 3.4.5)."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from agent.tree import Children, Key, Node

if TYPE_CHECKING:
    from agent.model.schema import SchemaNode
    from agent.nacm.rights import Right


_MOST_REMEMBERED: Final = 16


class Pruner:
    """Prunes trees, and remembers what it made of the last few: configuration is read far more often than changed.

    State is another each time it is read, and can be big: it is not remembered, nor what has any in it.
    """

    def __init__(self) -> None:
        # The node is kept beside the result so that its id stays its own.
        self._known: OrderedDict[tuple[int, Right], tuple[Node, Node | None]] = OrderedDict()

    def readable(self, tree: Node, right: Right) -> Node:
        """Return what of a tree may be read; the very same where that is all of it."""
        if right.whole:
            return tree
        children: Children = {}
        for schema, child in tree.children.items():
            if isinstance(child, Node):
                below = right.enter(schema)
                kept: Node | dict[Key, Node] | None = self._pruned(child, below) if below.visible else None
            else:
                kept = _entries(child, right, schema)
            if kept:
                children[schema] = kept
        same = len(children) == len(tree.children) and all(children[s] is c for s, c in tree.children.items())
        return tree if same else tree.with_children(children)

    def _pruned(self, node: Node, right: Right) -> Node | None:
        if right.whole or not node.schema.config:
            return pruned(node, right)
        found = self._known.get((id(node), right))
        if found is not None:
            self._known.move_to_end((id(node), right))
            return found[1]
        kept = pruned(node, right)
        if not _has_state(node):
            self._known[id(node), right] = (node, kept)
            if len(self._known) > _MOST_REMEMBERED:
                self._known.popitem(last=False)
        return kept


def _has_state(node: Node) -> bool:
    """Return whether there is state below a configuration node."""
    if not all(schema.config for schema in node.children):
        return True
    return any(_has_state(child) for child in node.all() if not child.schema.is_leaf)


def pruned(node: Node, right: Right) -> Node | None:
    """Return what of a node that is visible itself may be read; the node itself where that is all of it.

    None where nothing is left to be said: of a container without presence that only held what may not be read.
    """
    if right.whole or node.schema.is_leaf:
        return node
    children = _children(node, right)
    if children is node.children:
        return node
    if not children and node.schema.kind == "container" and not node.schema.presence:
        return None
    return node.with_children(children)


def _children(node: Node, right: Right) -> Children:
    """Return the children that may be read; the same dict where all may be, whole."""
    if right.left_out is not None:
        if right.left_out.isdisjoint(node.children):
            return node.children
        return {schema: child for schema, child in node.children.items() if schema not in right.left_out}
    children: Children = {}
    same = True
    for schema, child in node.children.items():
        kept = _child(child, right, schema) if isinstance(child, Node) else _entries(child, right, schema)
        if kept:
            children[schema] = kept
        same = same and kept is child
    return node.children if same else children


def _child(child: Node, right: Right, schema: SchemaNode) -> Node | None:
    below = right.enter(schema)
    return pruned(child, below) if below.visible else None


def _entries(entries: dict[Key, Node], right: Right, schema: SchemaNode) -> dict[Key, Node]:
    """Return the entries that may be read; the same dict where all may be, whole."""
    below = right.all_entries(schema)
    if below is not None and (below.whole or not below.visible):
        return entries if below.visible else {}
    kept: dict[Key, Node] = {}
    same = True
    for key, entry in entries.items():
        found = below or right.enter(schema, key)
        shown = pruned(entry, found) if found.visible else None
        if shown is not None:
            kept[key] = shown
        same = same and shown is entry
    return entries if same else kept
