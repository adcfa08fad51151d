"""What differs between two trees: once, for all who tell it, each in a form of its own. What both share is skipped."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeAlias
from urllib.parse import quote

from agent.tree import Node, instance_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agent.model.schema import SchemaNode
    from agent.tree import Children, Key

Path: TypeAlias = "tuple[tuple[SchemaNode, Key], ...]"
"""The way to a node from the top: its schema node and, of an entry, its key."""


PLACED: Final = frozenset({"insert", "move"})
"""The operations that put an entry of a list in its user's order at its place."""


@dataclass(frozen=True, slots=True)
class Change:
    """A topmost node that differs: ``before`` is what was there, ``after`` what is, None for nothing.

    ``operation`` is create, delete or replace; of an entry in its user's order also insert, which creates it at its
    place, and move. The place of these two is after the entry with the key ``point``, None for the first place.
    """

    operation: str
    path: Path
    before: Node | None = None
    after: Node | None = None
    point: Key | None = None

    @property
    def value(self) -> Node | None:
        """What an edit has as its value: nothing where an entry is only moved."""
        return None if self.operation == "move" else self.after

    @property
    def instance(self) -> str:
        """The node's instance path, in module-name form (RFC 7951 6.11)."""
        told = ""
        for schema, key in self.path:
            told = instance_path(told, schema, key)
        return told

    @property
    def target(self) -> str:
        """The node's data resource identifier (RFC 8040 3.5.3)."""
        return _resource(self.path)

    @property
    def point_target(self) -> str | None:
        """The data resource identifier of the entry that the node is put after."""
        return None if self.point is None else _resource((*self.path[:-1], (self.path[-1][0], self.point)))


def changes(before: Node, after: Node, *, most: int | None = None) -> Iterator[Change]:
    """Yield what makes one root the other, in an order in which it can be carried out (RFC 8072 2.5).

    What is created or deleted whole is one change. A container without presence is there by what it holds: that is
    what is created or deleted. Entries that nothing names, those of a list without keys, can only be replaced with the
    node that holds them. ``most`` is how many changes there are at most in each list and leaf-list below the top level,
    None for all.
    """
    return _inside((), before.children, after.children, most)


def _inside(path: Path, before: Children, after: Children, most: int | None) -> Iterator[Change]:
    if before is after:
        return
    for schema in sorted({**before, **after}, key=lambda schema: schema.index):
        old, new = before.get(schema), after.get(schema)
        if old is new:
            continue
        if schema.is_entry:
            found = _entries(path, schema, _entries_of(old), _entries_of(new), most)
            yield from islice(found, most) if path else found
        elif not (isinstance(old, Node) and isinstance(new, Node) and schema.is_leaf and old.value == new.value):
            yield from _one((*path, (schema, ())), _node(old), _node(new), most)


def _one(path: Path, old: Node | None, new: Node | None, most: int | None) -> Iterator[Change]:
    if old is None or new is None:
        if _only_holds(old or new):
            yield from _inside(path, old.children if old else {}, new.children if new else {}, most)
        else:
            yield Change("create" if old is None else "delete", path, old, new)
    elif old.value != new.value or _keyless_differ(old, new):
        yield Change("replace", path, old, new)
    else:
        yield from _inside(path, old.children, new.children, most)


def _entries(
    path: Path, schema: SchemaNode, old: Mapping[Key, Node], new: Mapping[Key, Node], most: int | None
) -> Iterator[Change]:
    for key in old:
        if key not in new:
            yield Change("delete", (*path, (schema, key)), old[key])
    moved = _moved(old, new) if schema.user_ordered else None
    point: Key | None = None
    for key, entry in new.items():
        mine = old.get(key)
        if mine is None and schema.user_ordered:
            yield Change("insert", (*path, (schema, key)), None, entry, point)
        else:
            if moved and key in moved:
                yield Change("move", (*path, (schema, key)), mine, entry, point)
            if mine is not entry:
                yield from _one((*path, (schema, key)), mine, entry, most)
        point = key


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


def _only_holds(node: Node | None) -> bool:
    """Return whether a node says nothing itself: a container without presence is there for what is in it."""
    if node is None or node.schema.kind != "container" or node.schema.presence:
        return False
    return all(schema.kind != "list" or schema.keys for schema in node.children)


def _keyless_differ(old: Node, new: Node) -> bool:
    """Return whether entries without keys differ. Configuration has none (RFC 7950 7.8.2)."""
    return any(
        schema.kind == "list"
        and not schema.keys
        and [entry.xml() for entry in old.entries(schema).values()]
        != [entry.xml() for entry in new.entries(schema).values()]
        for schema in {**old.children, **new.children}
    )


def _resource(path: Path) -> str:
    told = ""
    for schema, key in path:
        told += f"/{schema.qualified}"
        if key:
            told += f"={','.join([quote(value, safe='') for value in key])}"
    return told


def _node(child: Node | dict[Key, Node] | None) -> Node | None:
    return child if isinstance(child, Node) else None


def _entries_of(child: Node | dict[Key, Node] | None) -> Mapping[Key, Node]:
    return child if isinstance(child, dict) else {}
