"""The confirmed commit (RFC 6241 8.4): a commit that is undone unless it is confirmed in time.

What running was before the first confirmed commit is stored, durably, before the commit is carried out; so an agent
that dies with a commit unconfirmed is followed by one that restores it.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from agent import errors
from agent.errors import NetconfError
from agent.streams import changes

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent.commit import CommitEngine
    from agent.datastore import Datastores
    from agent.session import Session
    from agent.store import Store
    from agent.tree import Node
    from translators.base import Tree

log = logging.getLogger(__name__)

Wanted: TypeAlias = "Callable[[], Node]"
"""Returns what is to be running, once it is the commit's turn; may raise NetconfError."""

DEFAULT_TIMEOUT = 600
LONGEST_TIMEOUT = 4294967295


@dataclass(slots=True)
class Pending:
    """A confirmed commit that waits: what is restored, and who may confirm (``persist``, else only ``session``)."""

    before: Node
    session: Session
    persist: str | None
    timer: asyncio.TimerHandle


class ConfirmedCommits:
    """At most one confirmed commit is pending; a further one begins its time anew and keeps what is restored."""

    def __init__(
        self,
        datastores: Datastores,
        engine: CommitEngine,
        store: Store,
        publish: Callable[[Tree], None] = lambda _notification: None,
    ) -> None:
        self._datastores = datastores
        self._engine = engine
        self._store = store
        self._publish = publish
        self._pending: Pending | None = None
        self._restoring: set[asyncio.Task[None]] = set()
        # From the check who may commit to the end of the commit: else a timer or another session comes between.
        self._one_at_a_time = asyncio.Lock()

    @property
    def owner(self) -> Session | None:
        """The session whose confirmed commit is pending."""
        return self._pending.session if self._pending is not None else None

    def check(self, session: Session, persist_id: str | None) -> None:
        """Raise NetconfError unless the session may commit now, with this persist-id (8.4.1, 8.4.5.1)."""
        pending = self._pending
        if persist_id is not None:
            known = pending.persist if pending is not None else None
            if known is None or not hmac.compare_digest(known.encode(), persist_id.encode()):
                raise errors.invalid_value("no confirmed commit with this persist-id is pending")
        elif pending is not None and pending.persist is not None:
            message = "a confirmed commit is pending: its persist-id is needed"
            raise errors.invalid_value(message, app_tag=errors.OUTSTANDING)
        elif pending is not None and pending.session is not session:
            raise errors.in_use(f"a confirmed commit of session {pending.session.id} is pending")

    async def begin(
        self, wanted: Wanted, session: Session, persist_id: str | None, *, timeout: int, persist: str | None
    ) -> None:
        """Commit, to be confirmed within ``timeout`` seconds. Raises NetconfError, and then nothing is armed."""
        async with self._one_at_a_time:
            self.check(session, persist_id)
            root = wanted()
            earlier = self._pending
            before = earlier.before if earlier is not None else self._datastores.running
            if earlier is None:
                await self._keep(before)
            try:
                await self._engine.commit(root, session)
            except NetconfError:
                if earlier is None:
                    await self._keep(None)
                raise
            if earlier is not None:
                earlier.timer.cancel()
            late = changes.confirmed_commit("timeout", None)
            timer = asyncio.get_running_loop().call_later(timeout, self._restore, "was not confirmed in time", late)
            self._pending = Pending(before, session, persist if persist is not None else persist_id, timer)
            event = "start" if earlier is None else "extend"
            self._publish(changes.confirmed_commit(event, session, timeout=timeout))

    async def confirm(self, wanted: Wanted, session: Session, persist_id: str | None) -> None:
        """Commit for good. Raises NetconfError, and then a confirmed commit is still pending."""
        async with self._one_at_a_time:
            self.check(session, persist_id)
            await self._engine.commit(wanted(), session)
            pending = self._pending
            await self._disarm()
            if pending is not None:
                self._publish(changes.confirmed_commit("complete", session))

    async def change(self, before: Node, after: Node, session: Session) -> bool:
        """Make a configuration running without candidate; a confirmed commit stays pending. Raises NetconfError.

        Returns False, and does nothing, where running is no longer what the change was made of.
        """
        async with self._one_at_a_time:
            if self._datastores.running is not before:
                return False
            self.check(session, None)
            await self._engine.commit(after, session)
            return True

    async def cancel(self, session: Session, persist_id: str | None) -> None:
        """Restore what was before. Raises NetconfError."""
        async with self._one_at_a_time:
            if self._pending is None:
                raise errors.invalid_value("no confirmed commit is pending")
            self.check(session, persist_id)
            self._datastores.check_change(self._pending.before, session)
            await self._engine.commit(self._pending.before, restores_for=session)
            await self._disarm()
            self._publish(changes.confirmed_commit("cancel", session))

    def session_ended(self, session: Session) -> None:
        """Restore what was before where the session's confirmed commit was its own alone."""
        if self._pending is not None and self._pending.session is session and self._pending.persist is None:
            self._restore(f"ended with its session {session.id}", changes.confirmed_commit("cancel", session))

    async def close(self) -> None:
        """Finish what is being restored; what is still pending is restored by the next agent."""
        if self._pending is not None:
            self._pending.timer.cancel()
        await asyncio.gather(*self._restoring)

    def _restore(self, why: str, event: Tree) -> None:
        task = asyncio.ensure_future(self._restore_now(self._pending, why, event))
        self._restoring.add(task)
        task.add_done_callback(self._restoring.discard)

    async def _restore_now(self, pending: Pending | None, why: str, event: Tree) -> None:
        async with self._one_at_a_time:
            if pending is None or self._pending is not pending:
                return  # it was confirmed, continued or cancelled while this waited
            log.warning("a confirmed commit %s: running is restored", why)
            try:
                await self._engine.commit(pending.before)
                self._publish(event)
                await self._disarm()
            except NetconfError as error:
                log.error("running can't be restored: %s", error.message)  # noqa: TRY400 - no programming error
                pending.timer.cancel()
                self._pending = None

    async def _disarm(self) -> None:
        if self._pending is not None:
            await self._keep(None)
            self._pending.timer.cancel()
            self._pending = None

    async def _keep(self, root: Node | None) -> None:
        try:
            await asyncio.to_thread(self._store.keep, root)
        except OSError as error:
            said = f"the state directory can't be written: {error.strerror or error}"
            raise errors.operation_failed(f"{said}. A confirmed commit can't be kept or ended") from error
