"""The configuration datastores candidate and running, and their locks (RFC 6241 sections 5, 7.5, 8.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agent import errors
from agent.partial import PartialLocks

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from datetime import datetime

    from agent.model.load import Model
    from agent.partial import PartialLock, Place
    from agent.session import Session
    from agent.tree import Node


@dataclass(frozen=True, slots=True)
class Lock:
    """A global lock: which session holds it, and since when."""

    session: Session
    since: datetime


class Datastores:
    """Two trees and who holds them. A tree is replaced whole, so holding one is holding a snapshot."""

    def __init__(self, model: Model, running: Node, *, startup: Node | None = None) -> None:
        """``startup`` is that datastore's tree where there is one."""
        self.names = ("running", "candidate") if startup is None else ("running", "candidate", "startup")
        self.startup = startup
        self.running = running
        self.candidate = running
        self.locks: dict[str, Lock] = {}
        self.partial = PartialLocks()
        self.on_moved: list[Callable[[], None]] = []
        self._model = model
        self._valid: list[tuple[Node, dict[str, Any]]] = []

    def get(self, name: str) -> Node:
        """Return a datastore's tree."""
        if name == "startup" and self.startup is not None:
            return self.startup
        return self.running if name == "running" else self.candidate

    def effective(self, root: Node) -> dict[str, Any]:
        """Return a tree as RFC 7951 data with defaults. Raises NetconfError where it is not valid YANG data.

        The answer is kept while the tree is a datastore's, or the last one that was asked for: what was validated by
        edit-config is not validated again by commit, and what was discarded takes no memory.
        """
        for known, data in self._valid:
            if known is root:
                return data
        data = self._model.validator.validate(root.xml())
        current = [self.get(name) for name in self.names]
        self._valid = [(root, data), *(one for one in self._valid if any(one[0] is tree for tree in current))]
        return data

    def moved(self, root: Node) -> None:
        """Take a committed tree as running; a candidate without changes of its own follows."""
        if self.candidate is self.running:
            self.candidate = root
        self.running = root
        self.partial.moved(root)
        self._tell()

    def stored(self, root: Node) -> None:
        """Take a tree as startup."""
        self.startup = root
        self._tell()

    def _tell(self) -> None:
        for tell in self.on_moved:
            tell()

    def check_access(self, name: str, session: Session) -> None:
        """Raise in-use when another session holds the lock (RFC 6241 7.2, 7.3, 8.3.4.1)."""
        lock = self.locks.get(name)
        if lock is not None and lock.session is not session:
            raise errors.in_use(f"{name} is locked by session {lock.session.id}")

    def check_change(self, root: Node, session: Session) -> None:
        """Raise in-use when running may not become this tree by a session: some node is locked (RFC 5717 2.5)."""
        self.partial.check(self.running, root, session)

    def lock(self, name: str, session: Session, now: datetime) -> None:
        """Take a lock (RFC 6241 7.5). Raises lock-denied, for running also where the session has a partial lock."""
        self._check_lock(name)
        part = next(iter(self.partial), None)
        if name == "running" and part is not None:
            owner = part.session.id
            raise errors.lock_denied(
                owner, f"part of running is locked by the partial lock {part.id} of session {owner}"
            )
        if name == "candidate" and self.candidate is not self.running:
            raise errors.lock_denied(
                0, "candidate has changes that were not committed: commit them, or discard-changes first"
            )
        self.locks[name] = Lock(session, now)

    def lock_nodes(
        self, session: Session, now: datetime, select: Sequence[str], nodes: Collection[Place]
    ) -> PartialLock:
        """Take a partial lock of running (RFC 5717 2.4.1). Raises lock-denied, also for a lock of the session's own."""
        self._check_lock("running")
        return self.partial.grant(session, now, select, nodes)

    def unlock(self, name: str, session: Session) -> None:
        """Give a lock back; what was not committed in candidate is discarded (RFC 6241 8.3.5.2)."""
        held = self.locks.get(name)
        if held is None:
            raise errors.operation_failed(f"{name} is not locked", type="protocol")
        if held.session is not session:
            raise errors.operation_failed(f"{name} is locked by session {held.session.id}", type="protocol")
        self._release(name)

    def release_all(self, session: Session) -> None:
        """Give back what an ended session holds."""
        for name in [name for name, lock in self.locks.items() if lock.session is session]:
            self._release(name)
        self.partial.release_all(session)

    def _check_lock(self, name: str) -> None:
        held = self.locks.get(name)
        if held is not None:
            raise errors.lock_denied(held.session.id, f"{name} is locked by session {held.session.id}")

    def _release(self, name: str) -> None:
        del self.locks[name]
        if name == "candidate":
            self.candidate = self.running
