"""Writing: the exact difference of two trees, each change of it with the right that it takes (RFC 8341 3.2.5 to 3.2.8).

Nodes that both trees share are the same object, and are skipped. A container without presence is there by what it
holds and takes no right of its own. What goes because a node of another case of its choice has come takes none either.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from agent import errors
from agent.tree import instance_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agent.model.schema import SchemaNode
    from agent.nacm.rights import Right
    from agent.tree import Key, Node


class Rights(NamedTuple):
    """The four kinds of access to data, at one node."""

    read: Right
    create: Right
    update: Right
    delete: Right

    @property
    def free(self) -> bool:
        """Whether whatever is below may be changed."""
        return self.create.whole and self.update.whole and self.delete.whole

    def enter(self, schema: SchemaNode, key: Key = ()) -> Rights:
        """Return the rights of a child."""
        return Rights(*(right.enter(schema, key) for right in self))


class Place:
    """Where a walk is: a node's rights, and the way to it."""

    __slots__ = ("above", "key", "rights", "schema")

    def __init__(self, schema: SchemaNode, rights: Rights, above: Place | None = None, key: Key = ()) -> None:
        self.schema = schema
        self.rights = rights
        self.above = above
        self.key = key

    def enter(self, schema: SchemaNode, key: Key = ()) -> Place:
        """Return a child's place."""
        return Place(schema, self.rights.enter(schema, key), self, key)

    def denied(self) -> errors.NetconfError:
        """Return access-denied with the path of the node; where it is not visible, of what is above it and is."""
        path = ""
        for place in reversed([*self._way()]):
            if not place.rights.read.visible:
                break
            path = instance_path(path, place.schema, place.key)
        return errors.access_denied(
            "the access control rules do not permit this", type="application", path=path or None
        )

    @property
    def hidden(self) -> bool:
        """Whether the node, or one that it is in, is not visible."""
        return any(not place.rights.read.visible for place in self._way())

    def _way(self) -> Iterator[Place]:
        place: Place | None = self
        while place is not None and place.above is not None:
            yield place
            place = place.above


def check(before: Node, after: Node, place: Place) -> None:
    """Raise access-denied for the first change below a node that is in both trees and may not be made."""
    if before is after or place.rights.free:
        return
    for schema in {**before.children, **after.children}:
        old, new = before.children.get(schema), after.children.get(schema)
        if old is new:
            continue
        if schema.is_entry:
            _check_entries(before.entries(schema), after.entries(schema), place, schema, after)
        else:
            _check_one(before.one(schema), after.one(schema), place.enter(schema), after)


def _check_entries(
    old: Mapping[Key, Node], new: Mapping[Key, Node], place: Place, schema: SchemaNode, after: Node
) -> None:
    for key in {**old, **new}:
        if old.get(key) is not new.get(key):
            _check_one(old.get(key), new.get(key), place.enter(schema, key), after)
    if schema.user_ordered:
        _check_order(old, new, place, schema)


def _check_order(old: Mapping[Key, Node], new: Mapping[Key, Node], place: Place, schema: SchemaNode) -> None:
    """Raise access-denied where entries that may not be updated have changed their order: each move is an update."""
    if [key for key in old if key in new] == [key for key in new if key in old]:
        return
    kept = {key: below for key in old if key in new and not (below := place.enter(schema, key)).rights.update.permitted}
    for was, now in zip(kept, (key for key in new if key in kept), strict=True):
        if was != now:
            raise kept[now].denied()


def _check_one(old: Node | None, new: Node | None, place: Place, after: Node) -> None:
    rights = place.rights
    if old is None and new is not None:
        if not rights.create.whole:
            _check_made(new, place)
    elif new is None and old is not None:
        if not rights.delete.whole and not _replaced(place.schema, after):
            _check_gone(old, place)
    elif old is not None and new is not None:
        if not place.schema.is_leaf:
            if not place.schema.is_entry or old.xml() != new.xml():
                check(old, new, place)
        elif old.value != new.value and not rights.update.permitted:
            raise place.denied()


def _check_made(node: Node, place: Place) -> None:
    if not _by_content(node.schema) and not place.rights.create.permitted:
        raise place.denied()
    for child in node.all():
        below = place.enter(child.schema, child.key() if child.schema.is_entry else ())
        if not below.rights.create.whole:
            _check_made(child, below)


def _check_gone(node: Node, place: Place) -> None:
    if not _by_content(node.schema) and not place.rights.delete.permitted:
        raise place.denied()
    for child in node.all():
        below = place.enter(child.schema, child.key() if child.schema.is_entry else ())
        if not below.rights.delete.whole:
            _check_gone(child, below)


def _by_content(schema: SchemaNode) -> bool:
    return schema.kind == "container" and not schema.presence


def _replaced(schema: SchemaNode, after: Node) -> bool:
    """Whether a node of another case has come in the place of one (RFC 7950 7.9)."""
    chosen = dict(schema.cases)
    return any(chosen.get(choice, case) != case for other in after.children for choice, case in other.cases)
