"""The edits that make one tree of another, as a YANG patch names them (RFC 8072 2.5, RFC 9144 4)."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

from agent.tree import Node

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agent.model.schema import SchemaNode
    from agent.tree import Children, Key


@dataclass(frozen=True, slots=True)
class Difference:
    """One edit. ``target`` is a data resource (RFC 8040 3.5.3), ``point`` the one that a moved entry is put after.

    ``before`` is the node in the source, ``after`` in the target, each with its own origin, None where it is not there.
    """

    operation: str
    target: str
    before: Node | None = None
    after: Node | None = None
    where: str | None = None
    point: str | None = None


@dataclass(frozen=True, slots=True)
class _Pair:
    """A node that both trees have: where it is, its children in each, and the origins that they inherit."""

    path: str
    before: Children
    after: Children
    origins: tuple[str | None, str | None]

    def edit(self, operation: str, target: str, before: Node | None, after: Node | None) -> Difference:
        """Return an edit of a child."""
        old, new = self.origins
        return Difference(operation, target, _origin(before, old), _origin(after, new))


def differences(before: Node, after: Node, origins: tuple[str | None, str | None] = (None, None)) -> list[Difference]:
    """Return what makes the first root the second; ``origins`` are those that their top-level nodes inherit."""
    return list(_below(_Pair("", before.children, after.children, origins)))


def _below(pair: _Pair) -> Iterator[Difference]:
    both = {**pair.before, **pair.after}
    for schema in sorted(both, key=lambda schema: schema.index):
        old, new = pair.before.get(schema), pair.after.get(schema)
        if isinstance(both[schema], Node):
            target = f"{pair.path}/{schema.qualified}"
            yield from _one(pair, target, _node(old), _node(new))
        else:
            yield from _entries(pair, schema, _dict(old), _dict(new))


def _one(pair: _Pair, target: str, old: Node | None, new: Node | None) -> Iterator[Difference]:
    if old is new:
        return
    if old is None or new is None:
        if _only_holds(old or new):
            yield from _below(_inside(pair, target, old, new))
        else:
            yield pair.edit("create" if old is None else "delete", target, old, new)
    elif old.value != new.value or _keyless_differ(old, new):
        yield pair.edit("replace", target, old, new)
    else:
        yield from _below(_inside(pair, target, old, new))


def _inside(pair: _Pair, path: str, old: Node | None, new: Node | None) -> _Pair:
    """Return the pair that a child is; a side that does not have it, as is no difference, has nothing in it."""
    before = ({}, None) if old is None else (old.children, old.origin)
    after = ({}, None) if new is None else (new.children, new.origin)
    return _Pair(path, before[0], after[0], (before[1] or pair.origins[0], after[1] or pair.origins[1]))


def _only_holds(node: Node | None) -> bool:
    """Return whether a node says nothing itself: a container without presence is there for what is in it."""
    if node is None or node.schema.kind != "container" or node.schema.presence:
        return False
    return all(schema.kind != "list" or schema.keys for schema in node.children)


def _entries(pair: _Pair, schema: SchemaNode, old: Mapping[Key, Node], new: Mapping[Key, Node]) -> Iterator[Difference]:
    for key in old:
        if key not in new:
            yield pair.edit("delete", _resource(pair.path, schema, key), old[key], None)
    moved = _moved(old, new) if schema.user_ordered else set()
    point: str | None = None
    for key, entry in new.items():
        target = _resource(pair.path, schema, key)
        if key in moved or (schema.user_ordered and key not in old):
            yield from _placed(pair, target, old.get(key), entry, point)
        if key in old or not schema.user_ordered:
            yield from _one(pair, target, old.get(key), entry)
        point = target


def _placed(pair: _Pair, target: str, old: Node | None, new: Node, point: str | None) -> Iterator[Difference]:
    """Yield the edit that puts an entry of a list ordered by its user after another, or first."""
    edit = pair.edit("insert", target, None, new) if old is None else pair.edit("move", target, old, None)
    where = "first" if point is None else "after"
    yield Difference(edit.operation, target, edit.before, edit.after, where, point)


def _moved(old: Mapping[Key, Node], new: Mapping[Key, Node]) -> set[Key]:
    """Return the fewest entries that have to be moved to bring those that stay into their new order.

    The others are a longest rising subsequence of the old positions: ``lasts`` are the smallest last positions of one
    of each length, ``previous`` what comes before a position in the longest that ends there.
    """
    position = {key: number for number, key in enumerate(old)}
    lasts: list[int] = []
    previous: dict[int, int | None] = {}
    for key in new:
        if (number := position.get(key)) is not None:
            length = bisect_left(lasts, number)
            previous[number] = lasts[length - 1] if length else None
            lasts[length : length + 1] = [number]
    stay: set[int] = set()
    last = lasts[-1] if lasts else None
    while last is not None:
        stay.add(last)
        last = previous[last]
    return {key for key in new if key in old and position[key] not in stay}


def _keyless_differ(old: Node, new: Node) -> bool:
    """Return whether entries differ that nothing names: they can only be replaced with what holds them."""
    return any(
        schema.kind == "list"
        and not schema.keys
        and [entry.xml() for entry in old.entries(schema).values()]
        != [entry.xml() for entry in new.entries(schema).values()]
        for schema in {**old.children, **new.children}
    )


def _resource(path: str, schema: SchemaNode, key: Key) -> str:
    """Return an entry's data resource identifier."""
    return f"{path}/{schema.qualified}={','.join(quote(value, safe='') for value in key)}"


def _origin(node: Node | None, above: str | None) -> Node | None:
    if node is None or node.origin is not None or above is None or not node.schema.config:
        return node
    return Node(node.schema, node.value, node.children, origin=above)


def _node(child: Node | dict[Key, Node] | None) -> Node | None:
    return child if isinstance(child, Node) else None


def _dict(child: Node | dict[Key, Node] | None) -> Mapping[Key, Node]:
    return child if isinstance(child, dict) else {}
