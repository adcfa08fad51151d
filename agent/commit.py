"""The commit engine: prepare all, apply in order, undo in reverse, move running last (RFC 6241 8.3.4.1)."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from agent import errors
from agent.errors import NetconfError, is_incomplete
from agent.plan import Prepared, prepare, subtree
from agent.tree import Node
from translators.apply import PlanFailedError, apply, undo_of, unwind
from translators.base import Plan, ServiceOwner, Supervisor, TranslatorError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Executor

    from agent.datastore import Datastores
    from agent.store import Store
    from translators.base import Disturbance, Step, Translator
    from translators.host import Host

log = logging.getLogger(__name__)

_NO_LOOKS = 86400.0


class CommitEngine:
    """Brings the machine and running to a new configuration, one commit at a time."""

    def __init__(
        self,
        datastores: Datastores,
        store: Store,
        translators: Sequence[Translator],
        host: Host,
        *,
        readers: Executor,
        committer: Executor,
        durable: bool = True,
    ) -> None:
        """``durable``: running survives the process; otherwise startup does."""
        self._datastores = datastores
        self._store = store
        self._translators = tuple(translators)
        self._supervisors = tuple(t for t in translators if isinstance(t, Supervisor))
        self._host = host
        self._readers = readers
        self._committer = committer
        self._durable = durable
        self._one_at_a_time = asyncio.Lock()

    async def check(self, root: Node, *, complete: bool = True) -> None:
        """Validate a configuration by YANG and, where it differs from running, by the machine. Raises NetconfError.

        One that is not ``complete`` may lack what a later edit can bring: mandatory nodes and list entries, which only
        validate and commit demand (RFC 7950 8.3.3).
        """
        try:
            self._datastores.effective(root)
        except NetconfError as error:
            if complete or not all(is_incomplete(one) for one in (error, *error.others)):
                raise
            return
        if self._wanted(root):
            await self.plan(root)

    async def plan(self, root: Node) -> Prepared:
        """Return what committing a configuration would do. Raises NetconfError where it can't be committed."""
        prepared: Prepared = await _in_thread(self._readers, self._prepare, root)
        return prepared

    async def commit(self, root: Node) -> None:
        """Make a configuration running, on the machine and on disk, whole or not at all. Raises NetconfError."""
        async with self._one_at_a_time:
            await _in_thread(self._committer, self._carry_out, root)
            self._datastores.moved(root)

    async def save_startup(self, root: Node | None) -> None:
        """Make a configuration, or none, what the next agent starts with. Raises NetconfError."""
        async with self._one_at_a_time:
            try:
                await _in_thread(self._committer, self._store.save_startup, root)
            except OSError as error:
                raise errors.operation_failed(f"startup can't be stored: {error.strerror or error}") from error
            self._datastores.startup = Node(self._datastores.running.schema) if root is None else root

    async def boot(self, restored: Node | None = None) -> None:
        """Undo a commit that an earlier agent left half done, then bring the machine to running.

        ``restored`` becomes running first: what a commit is undone to that was not confirmed. What can't be done is
        logged: the agent serves all the same, and reports the state as it is.
        """
        async with self._one_at_a_time:
            await _in_thread(self._committer, self._boot, restored)

    async def look(self) -> None:
        """Let the translators look at what they supervise, and refresh the services that this asks for."""
        async with self._one_at_a_time:
            await _in_thread(self._committer, self._look)

    def look_interval(self) -> float:
        """Return the seconds from one look to the next."""
        running = self._datastores.effective(self._datastores.running)
        return min((s.interval(subtree(running, s.path)) for s in self._supervisors), default=_NO_LOOKS)

    def _look(self) -> None:
        running = self._datastores.effective(self._datastores.running)
        for supervisor in self._supervisors:
            attention = supervisor.look(self._host, subtree(running, supervisor.path))
            for event in attention.events:
                log.log(logging.getLevelName(event.severity.upper()), "%s", event.text)
            if attention.refresh is not None:
                self._refresh(attention.refresh)

    def _refresh(self, disturbance: Disturbance) -> None:
        """Have a service refreshed outside of a commit; what fails is logged."""
        for owner in self._translators:
            if not isinstance(owner, ServiceOwner) or owner.service != disturbance.service:
                continue
            try:
                first, last = owner.around((disturbance,), self._host)
                plan = Plan((*first.steps, *last.steps))
                log.warning(
                    "refreshing %s: acceleration is %s", owner.service, "back" if disturbance.enabling else "gone"
                )
                self._journaled(plan)
            except TranslatorError as error:
                log.error("%s can't be refreshed: %s", owner.service, error.message)  # noqa: TRY400
            except PlanFailedError as failure:
                log.error("%s", "; ".join([str(failure), *unwind(failure.undo, self._host)]))  # noqa: TRY400
            except OSError as error:
                log.error("%s is not refreshed: the state directory can't be written: %s", owner.service, error)  # noqa: TRY400

    def _journaled(self, plan: Plan) -> None:
        """Carry out a plan that does not move running. Raises PlanFailedError, OSError."""
        if plan:
            self._store.begin(plan, None)
            try:
                apply(plan, self._host, after_step=_log_step)
            finally:
                self._over()

    def _over(self) -> None:
        """Remove the record of what was done, or undone.

        One that stays is no failure of that: its successor replaces it, or a successor of this agent finds that it
        led to running, or undoes what is undone already.
        """
        try:
            self._store.end()
        except OSError as error:
            log.error("the record of a commit that is over can't be removed: %s", error)  # noqa: TRY400

    def _carry_out(self, root: Node) -> None:
        prepared = self._prepare(root)
        plan, undo = prepared.plan, Plan()
        moves = self._durable and root is not self._datastores.running
        try:
            if plan:
                self._store.begin(plan, root if moves else None)
            undo = apply(plan, self._host, after_step=_log_step)
            if moves:
                self._store.save(root)
        except PlanFailedError as failure:
            said = _told(failure, prepared)
            raise self._undone(plan, failure.undo, said, path=_owner(failure, prepared)) from failure
        except OSError as error:
            said = f"the state directory can't be written: {error.strerror or error}"
            raise self._undone(plan, undo, said) from error
        finally:
            if plan:
                self._over()

    def _undone(self, plan: Plan, undo: Plan, said: str, *, path: str | None = None) -> NetconfError:
        """Undo what was done and return the error that says so, with the state that the machine is in now."""
        failures = unwind(undo, self._host)
        state = "; ".join(dict.fromkeys(step.observe(self._host) for step in plan.steps))
        now = f". The machine now: {state}" if state else ""
        if failures:
            text = f"{said}. Undoing failed too: {'; '.join(failures)}. Running is unchanged{now}"
            log.error("commit: %s", text)
            return errors.rollback_failed(text, path=path)
        text = f"{said}. What was done before is undone, running is unchanged{now}"
        log.warning("commit: %s", text)
        return errors.operation_failed(text, path=path)

    def _boot(self, restored: Node | None) -> None:
        journal = self._store.unfinished()
        if journal is not None:
            log.warning("an earlier commit was broken off: undoing %d steps", len(journal.plan.steps))
            for failure in unwind(undo_of(journal.plan.steps), self._host):
                log.error("undoing a broken-off commit: %s", failure)
            self._over()
        if restored is not None:
            unconfirmed = self._datastores.running
            self._datastores.moved(restored)
            self._bring(unconfirmed)
        self._bring(None)

    def _bring(self, before: Node | None) -> None:
        """Bring the machine to running, from a configuration or from what is not known."""
        try:
            after = self._datastores.effective(self._datastores.running)
            old = None if before is None else self._datastores.effective(before)
            prepared = prepare(self._translators, self._translators, old, after, self._host)
            self._journaled(prepared.plan)
        except NetconfError as error:
            log.error("running does not fit this machine: %s", error.message)  # noqa: TRY400 - no programming error
        except PlanFailedError as failure:
            said = _told(failure, prepared)
            failures = unwind(failure.undo, self._host)
            log.error("bringing the machine to running: %s", "; ".join([said, *failures]))  # noqa: TRY400
        except OSError as error:
            log.error("the state directory can't be written: %s", error)  # noqa: TRY400

    def _wanted(self, root: Node) -> list[Translator]:
        """Return the translators whose subtree differs from running; all where nothing differs at all.

        A commit that changes something leaves alone what it does not change; one that changes nothing asks for what
        running says, so whatever has drifted away from it is put right.
        """
        running = self._datastores.running
        if root is running:
            return list(self._translators)
        return [t for t in self._translators if _dig(root, t.path) is not _dig(running, t.path)]

    def _prepare(self, root: Node) -> Prepared:
        after = self._datastores.effective(root)
        before = self._datastores.effective(self._datastores.running)
        return prepare(self._translators, self._wanted(root), before, after, self._host)


async def _in_thread(executor: Executor, function: Callable[..., Any], *arguments: Any) -> Any:  # noqa: ANN401
    return await asyncio.get_running_loop().run_in_executor(executor, function, *arguments)


def _log_step(step: Step) -> None:
    log.info("done: %s", step.describe())


def _told(failure: PlanFailedError, prepared: Prepared) -> str:
    """Return which step failed and how, with what its program printed."""
    number = next(n for n, planned in enumerate(prepared.steps, 1) if planned.step is failure.step)
    return f"step {number} of {len(prepared.steps)} failed: {failure}"


def _owner(failure: PlanFailedError, prepared: Prepared) -> str:
    return next(planned.owner for planned in prepared.steps if planned.step is failure.step)


def _dig(root: Node, path: str) -> Node | None:
    return root.find(*path.strip("/").split("/"))
