"""Partial locks of running (RFC 5717): which nodes each one protects, and from whom."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from agent import errors
from agent.tree import Key, Node, instance_path

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from datetime import datetime

    from agent.model.schema import SchemaNode
    from agent.session import Session

MOST_LOCKS: Final = 100
MOST_NODES: Final = 1000
MOST_CHARACTERS: Final = 65536
"""These are of one session; nodes, and characters of expressions, are those of all its locks."""
_LAST_ID: Final = 4294967295

Place: TypeAlias = "tuple[tuple[SchemaNode, Key], ...]"
"""Where a node is: the steps from the top, each with its keys; the key of what is no list entry is empty."""


@dataclass(slots=True, eq=False)
class PartialLock:
    """A lock on some nodes and all below them, by the expressions (``select``) that selected them once.

    ``nodes`` is the lock's scope: a node that its owner deletes leaves it (RFC 5717 2.4.1).
    """

    id: int
    session: Session
    since: datetime
    select: Sequence[str]
    nodes: frozenset[Place]

    def paths(self) -> list[str]:
        """Return the locked nodes' instance paths, sorted."""
        return sorted(path_of(place) for place in self.nodes)


class PartialLocks:
    """All partial locks. A session may have several, which may overlap; those of two sessions never do."""

    def __init__(self) -> None:
        self._locks: dict[int, PartialLock] = {}
        self._last_id = 0

    def __iter__(self) -> Iterator[PartialLock]:
        return iter(tuple(self._locks.values()))

    def grant(self, session: Session, now: datetime, select: Sequence[str], nodes: Collection[Place]) -> PartialLock:
        """Lock nodes, all or none. Raises lock-denied where another session's lock overlaps, resource-denied."""
        wanted = frozenset(nodes)
        for lock in self:
            if lock.session is not session and (shared := _overlap(wanted, lock.nodes)) is not None:
                message = f"{path_of(shared)} is locked by the partial lock {lock.id} of session {lock.session.id}"
                raise errors.lock_denied(lock.session.id, message)
        own = [lock for lock in self if lock.session is session]
        if len(own) >= MOST_LOCKS:
            raise errors.resource_denied(f"a session has {MOST_LOCKS} partial locks at most: unlock one first")
        if len(wanted) + sum(len(lock.nodes) for lock in own) > MOST_NODES:
            raise too_many_nodes()
        if sum(len(expression) for lock in own for expression in lock.select) + sum(map(len, select)) > MOST_CHARACTERS:
            message = f"the expressions of a session's locks are longer than {MOST_CHARACTERS} characters together"
            raise errors.resource_denied(f"{message}: use shorter ones")
        self._last_id = self._last_id % _LAST_ID + 1
        while self._last_id in self._locks:
            self._last_id = self._last_id % _LAST_ID + 1
        self._locks[self._last_id] = PartialLock(self._last_id, session, now, tuple(select), wanted)
        return self._locks[self._last_id]

    def release(self, lock_id: int, session: Session) -> None:
        """Give one lock back. Raises invalid-value where it is not one of the session's (RFC 5717 2.4.2)."""
        lock = self._locks.get(lock_id)
        if lock is None or lock.session is not session:
            raise errors.invalid_value(f"lock-id: this session has no partial lock {lock_id}")
        del self._locks[lock_id]

    def release_all(self, session: Session) -> None:
        """Give back what an ended session holds."""
        self._locks = {number: lock for number, lock in self._locks.items() if lock.session is not session}

    def check(self, before: Node, after: Node, session: Session) -> None:
        """Raise in-use where a session's change touches what another one has locked (RFC 5717 2.5)."""
        for lock in self:
            if lock.session is session:
                continue
            for place in lock.nodes:
                if _differs(before, after, place):
                    path = path_of(place)
                    message = f"{path} is locked by the partial lock {lock.id} of session {lock.session.id}"
                    raise errors.in_use(message, app_tag="locked", path=path)

    def moved(self, root: Node) -> None:
        """Take out of each lock's scope what is not there any more: whoever likes may make it anew."""
        for lock in self._locks.values():
            if gone := {place for place in lock.nodes if not _is_there(root, place)}:
                lock.nodes -= gone


def place_of(chain: Sequence[Node]) -> Place:
    """Return where the last of the nodes from the top down is."""
    return tuple((node.schema, node.key() if node.schema.is_entry else ()) for node in chain)


def path_of(place: Place) -> str:
    """Return a node's instance path in module-name form."""
    path = ""
    for schema, key in place:
        path = instance_path(path, schema, key)
    return path


def too_many_nodes() -> errors.NetconfError:
    """Return the error that says how many nodes a session may lock."""
    message = f"a session locks {MOST_NODES} nodes at most: select what is above them, which locks them too"
    return errors.resource_denied(message)


def _overlap(first: frozenset[Place], second: frozenset[Place]) -> Place | None:
    """Return a node of either that is locked, or lies below what is locked, by the other."""
    for these, those in ((first, second), (second, first)):
        for place in these:
            if any(place[:length] in those for length in range(1, len(place) + 1)):
                return place
    return None


def _differs(before: Node, after: Node, place: Place) -> bool:
    """Return whether a node, what is below it, or its being there differs between two trees."""
    for schema, key in place:
        if before is after:
            return False
        old, new = _child(before, schema, key), _child(after, schema, key)
        if old is None or new is None:
            return old is not new
        before, after = old, new
    return not _same(before, after)


def _same(first: Node, second: Node) -> bool:
    """Return whether two nodes of one schema node hold the same; the order of a system-ordered list says nothing."""
    if first is second:
        return True
    if first.value != second.value or first.children.keys() != second.children.keys():
        return False
    return all(_same_children(schema, one, second.children[schema]) for schema, one in first.children.items())


def _same_children(schema: SchemaNode, first: Node | dict[Key, Node], second: Node | dict[Key, Node]) -> bool:
    if isinstance(first, Node) or isinstance(second, Node):
        return isinstance(first, Node) and isinstance(second, Node) and _same(first, second)
    if first.keys() != second.keys() or (schema.user_ordered and list(first) != list(second)):
        return False
    return all(_same(entry, second[key]) for key, entry in first.items())


def _is_there(root: Node, place: Place) -> bool:
    node: Node | None = root
    for schema, key in place:
        node = _child(node, schema, key) if node is not None else None
    return node is not None


def _child(node: Node, schema: SchemaNode, key: Key) -> Node | None:
    return node.entries(schema).get(key) if schema.is_entry else node.one(schema)
