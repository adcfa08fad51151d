"""The configuration datastores candidate and running, and their locks (RFC 6241 sections 5, 7.5, 8.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from agent import errors
from agent.partial import PartialLocks
from agent.recheck import Recheck

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from datetime import datetime

    from agent.model.load import Model
    from agent.partial import PartialLock, Place
    from agent.session import Session
    from agent.tree import Node


_SMALL: Final = 16 * 1024
"""Bytes of XML that are validated sooner than it is found out which of them have to be."""


@dataclass(frozen=True, slots=True)
class Lock:
    """A global lock: which session holds it, and since when."""

    session: Session
    since: datetime


@dataclass(frozen=True, slots=True)
class _Valid:
    """A tree that was found valid, and its data with defaults: what is managed, and all where it was asked for."""

    root: Node
    managed: dict[str, Any]
    whole: dict[str, Any] | None = None


class Datastores:
    """Two trees and who holds them. A tree is replaced whole, so holding one is holding a snapshot."""

    def __init__(
        self, model: Model, running: Node, *, startup: Node | None = None, managed: Collection[str] | None = None
    ) -> None:
        """``startup`` is that datastore's tree where there is one.

        ``managed`` are the paths of the subtrees that are carried out on the machine; None for all there are.
        """
        self.names = ("running", "candidate") if startup is None else ("running", "candidate", "startup")
        self.startup = startup
        self.running = running
        self.candidate = running
        self.locks: dict[str, Lock] = {}
        self.partial = PartialLocks()
        self.on_moved: list[Callable[[], None]] = []
        self._model = model
        self._managed = None if managed is None else {path.split("/")[1] for path in managed}
        tops = model.root.children.values()
        whole = [top for top in tops if self._managed is None or top.qualified in self._managed]
        self._recheck = Recheck(model.root, whole)
        self._valid: list[_Valid] = []

    def get(self, name: str) -> Node:
        """Return a datastore's tree."""
        if name == "startup" and self.startup is not None:
            return self.startup
        return self.running if name == "running" else self.candidate

    def managed(self, root: Node) -> dict[str, Any]:
        """Return what is carried out on the machine, as RFC 7951 data with defaults.

        Raises NetconfError where the tree is not valid YANG data. What it has in common with one that was found valid
        is not looked at again, as far as the constraints of the model allow. The answer is kept while the tree is a
        datastore's, or the last one that was asked for: what was validated by edit-config is not validated again by
        commit, and what was discarded takes no memory.
        """
        known = self._known(root)
        if known is None:
            part = self.part(root)
            known = self._keep(_Valid(root, self._model.validator.validate(part.xml(), self._managed)))
        return known.managed

    def part(self, root: Node) -> Node:
        """Return what of a tree has to be looked at to find all that is not valid in it.

        Left out is what it has in common with one that was found valid, as far as the model's constraints allow.
        """
        large = self._valid and len(root.xml()) > _SMALL
        return self._recheck.part(self._valid[0].root, root) if large else root

    def effective(self, root: Node) -> dict[str, Any]:
        """Return a whole tree as RFC 7951 data with defaults. Raises NetconfError where it is not valid YANG data."""
        known = self._known(root)
        if known is None or known.whole is None:
            whole = self._model.validator.validate(root.xml())
            managed = whole if self._managed is None else {n: whole[n] for n in self._managed if n in whole}
            known = self._keep(_Valid(root, managed if known is None else known.managed, whole))
        return known.whole or {}

    def _known(self, root: Node) -> _Valid | None:
        return next((known for known in self._valid if known.root is root), None)

    def _keep(self, valid: _Valid) -> _Valid:
        current = [self.get(name) for name in self.names]
        others = (one for one in self._valid if one.root is not valid.root)
        self._valid = [valid, *(one for one in others if any(one.root is tree for tree in current))]
        return valid

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
