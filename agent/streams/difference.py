"""What is different between two configurations, as edits (RFC 6470 section 2.1). What both share is not looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.tree import Node, instance_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agent.model.schema import SchemaNode
    from agent.tree import Key


def edits(before: Node, after: Node, path: str = "", *, deep: bool = True) -> Iterator[tuple[str, str]]:
    """Yield (instance path, edit operation) of each topmost node that was created, deleted or changed.

    What is created or deleted whole is one edit. An entry of a list ordered by the user that has another one before it
    is merged: it was moved. Not ``deep``: what has changed below a node is a replacement of that node.
    """
    if before is after:
        return
    for schema in sorted({**before.children, **after.children}, key=lambda schema: schema.index):
        old, new = before.children.get(schema), after.children.get(schema)
        if old is new:
            continue
        if schema.is_entry:
            yield from _entries(schema, before.entries(schema), after.entries(schema), path, deep=deep)
        else:
            yield from _one(before.one(schema), after.one(schema), instance_path(path, schema), deep=deep)


def _one(old: Node | None, new: Node | None, path: str, *, deep: bool) -> Iterator[tuple[str, str]]:
    if old is None or new is None:
        yield path, "create" if old is None else "delete"
    elif new.schema.is_leaf:
        if old.value != new.value:
            yield path, "replace"
    elif deep:
        yield from edits(old, new, path)
    elif next(edits(old, new, path), None) is not None:
        yield path, "replace"


def _entries(
    schema: SchemaNode, old: Mapping[Key, Node], new: Mapping[Key, Node], path: str, *, deep: bool
) -> Iterator[tuple[str, str]]:
    for key in old:
        if key not in new:
            yield instance_path(path, schema, key), "delete"
    for key, entry in new.items():
        mine = old.get(key)
        if mine is not entry:
            yield from _one(mine, entry, instance_path(path, schema, key), deep=deep)
    if schema.user_ordered:
        yield from ((instance_path(path, schema, key), "merge") for key in _moved(old, new))


def _moved(old: Mapping[Key, Node], new: Mapping[Key, Node]) -> Iterator[Key]:
    """Yield the entries that come, among those which stay, after another one than before."""
    earlier = [key for key in old if key in new]
    later = [key for key in new if key in old]
    before = dict(zip(earlier, [None, *earlier], strict=False))
    return (key for key, previous in zip(later, [None, *later], strict=False) if before[key] != previous)
