"""What is different between two configurations, as edits (RFC 6470 section 2.1). What both share is not looked at."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from agent.tree import Node, instance_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agent.model.schema import SchemaNode
    from agent.tree import Key


def edits(before: Node, after: Node, path: str = "", *, most: int | None = None) -> Iterator[tuple[str, str]]:
    """Yield (instance path, edit operation) of each topmost node that was created, deleted or changed.

    What is created or deleted whole is one edit. A container without presence is there by what it holds: that is what
    was created or deleted. An entry of a list ordered by the user that has another one before it is merged: it was
    moved. ``most`` is how many edits there are at most in each list and leaf-list, and of its order; None for all.
    """
    if before is after:
        return
    for schema in sorted({**before.children, **after.children}, key=lambda schema: schema.index):
        old, new = before.children.get(schema), after.children.get(schema)
        if old is new:
            continue
        if schema.is_entry:
            earlier, later = before.entries(schema), after.entries(schema)
            yield from islice(_entries(schema, earlier, later, path, most), most)
            if schema.user_ordered:
                moved = islice(_moved(earlier, later), most)
                yield from ((instance_path(path, schema, key), "merge") for key in moved)
        else:
            yield from _one(before.one(schema), after.one(schema), instance_path(path, schema), most)


def topmost(before: Node, after: Node) -> Iterator[tuple[str, str]]:
    """Yield (instance path, edit operation) of each top-level node that was created, deleted, or changed below."""
    for schema in sorted({**before.children, **after.children}, key=lambda schema: schema.index):
        old, new = _instances(before, schema), _instances(after, schema)
        for key in {**old, **new}:
            mine, other = old.get(key), new.get(key)
            path = instance_path("", schema, key)
            if mine is None or other is None:
                yield path, "create" if mine is None else "delete"
            elif next(_one(mine, other, path, None), None) is not None:
                yield path, "replace"


def _one(old: Node | None, new: Node | None, path: str, most: int | None) -> Iterator[tuple[str, str]]:
    if old is None or new is None:
        there = old or new
        if there is not None and there.schema.kind == "container" and not there.schema.presence:
            empty = Node(there.schema)
            yield from edits(old or empty, new or empty, path, most=most)
        else:
            yield path, "create" if old is None else "delete"
    elif new.schema.is_leaf:
        if old.value != new.value:
            yield path, "replace"
    else:
        yield from edits(old, new, path, most=most)


def _entries(
    schema: SchemaNode, old: Mapping[Key, Node], new: Mapping[Key, Node], path: str, most: int | None
) -> Iterator[tuple[str, str]]:
    gone = old.keys() - new.keys()
    for key in [key for key in old if key in gone] if gone else ():
        yield instance_path(path, schema, key), "delete"
    for key in [key for key, entry in new.items() if old.get(key) is not entry]:
        yield from _one(old.get(key), new[key], instance_path(path, schema, key), most)


def _instances(parent: Node, schema: SchemaNode) -> Mapping[Key, Node]:
    if schema.is_entry:
        return parent.entries(schema)
    found = parent.one(schema)
    return {} if found is None else {(): found}


def _moved(old: Mapping[Key, Node], new: Mapping[Key, Node]) -> Iterator[Key]:
    """Yield the entries that come, among those which stay, after another one than before."""
    earlier = [key for key in old if key in new]
    later = [key for key in new if key in old]
    before = dict(zip(earlier, [None, *earlier], strict=False))
    return (key for key, previous in zip(later, [None, *later], strict=False) if before[key] != previous)
