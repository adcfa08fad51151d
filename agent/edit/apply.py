"""Edits applied to a tree: a new tree, sharing all that did not change, or an error (RFC 6241 7.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent import errors
from agent.edit.order import Entries
from agent.tree import Children, Node

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent.edit.request import Edit
    from agent.model.schema import SchemaNode


def apply(root: Node, edits: Iterable[Edit]) -> Node:
    """Return the tree after the edits; the very same one where they change nothing.

    Raises NetconfError (data-exists, data-missing, bad-attribute).
    """
    children = _edited(root.children, edits)
    return root if _same(root.children, children) else root.with_children(children)


def _edited(before: Children, edits: Iterable[Edit]) -> Children:
    """Return a node's children after edits."""
    children = dict(before)
    lists: dict[SchemaNode, Entries] = {}
    for edit in edits:
        node = _edit_entry(children, lists, edit) if edit.schema.is_entry else _edit_single(children, edit)
        if node is not None and edit.schema.cases:
            _drop_other_cases(children, lists, edit.schema)
    for schema, entries in lists.items():
        if result := entries.result():
            children[schema] = result
        else:
            children.pop(schema, None)
    return children


def _edit_entry(children: Children, lists: dict[SchemaNode, Entries], edit: Edit) -> Node | None:
    entries = lists.get(edit.schema)
    if entries is None:
        found = children.get(edit.schema)
        entries = lists[edit.schema] = Entries(found if isinstance(found, dict) else {})
    node = _changed(entries.get(edit.key), edit)
    if node is None:
        entries.remove(edit.key)
    else:
        entries.put(edit, node)
    return node


def _edit_single(children: Children, edit: Edit) -> Node | None:
    found = children.get(edit.schema)
    node = _changed(found if isinstance(found, Node) else None, edit)
    if node is None or _is_nothing(node):
        children.pop(edit.schema, None)
        return None
    children[edit.schema] = node
    return node


def _changed(node: Node | None, edit: Edit) -> Node | None:
    """Return what an edit makes of an instance; None for nothing."""
    operation = edit.operation
    if operation == "create" and node is not None:
        raise errors.data_exists(edit.path)
    if operation in {"delete", "none"} and node is None:
        raise errors.data_missing(edit.path)
    if operation in {"delete", "remove"}:
        return None
    if edit.schema.is_leaf:
        return node if operation == "none" or (node and edit.leaf and node.value == edit.leaf.value) else edit.leaf
    if node is None or operation == "replace":
        made = Node(edit.schema, None, _edited({}, edit.children))
        return node if node is not None and node.xml() == made.xml() else made
    children = _edited(node.children, edit.children)
    return node if _same(node.children, children) else node.with_children(children)


def _drop_other_cases(children: Children, lists: dict[SchemaNode, Entries], schema: SchemaNode) -> None:
    """Remove the nodes of the cases that a node of another case replaces (RFC 7950 8.3.2)."""
    chosen = dict(schema.cases)
    for other in {*children, *lists}:
        if any(chosen.get(choice, case) != case for choice, case in other.cases):
            children.pop(other, None)
            lists.pop(other, None)


def _is_nothing(node: Node) -> bool:
    """Whether a node is a container without presence that holds nothing, which is the same as none."""
    return node.schema.kind == "container" and not node.schema.presence and not node.children


def _same(before: Children, after: Children) -> bool:
    return before.keys() == after.keys() and all(child is after[schema] for schema, child in before.items())
