"""The commit engine: prepare all, apply in order, undo in reverse, move running last (RFC 6241 8.3.4.1)."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, Any

from agent import errors
from agent.errors import NetconfError, is_incomplete
from agent.machine import ChangeFailedError, Machine
from agent.outcomes import Outcomes
from agent.plan import Prepared, prepare, prepare_action, subtree, with_tunnels
from agent.streams import changes
from agent.tree import Node
from translators.apply import PlanFailedError
from translators.base import (
    Actor,
    Plan,
    Refresh,
    RefreshAsker,
    ServiceOwner,
    StepError,
    Supervisor,
    TranslatorError,
    TunnelOwner,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Executor

    from agent.datastore import Datastores
    from agent.plan import Asker
    from agent.session import Session
    from agent.store import Store
    from translators.base import Disturbance, Invocation, Translator, Tree
    from translators.host import Host

log = logging.getLogger(__name__)

_NO_LOOKS = 86400.0


class CommitEngine:
    """Brings the machine and running to a new configuration, one commit at a time. ``publish`` tells of changes."""

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
        self._machine = Machine(store, host)
        self.committing: Session | None = None
        self._translators = tuple(translators)
        self._supervisors = tuple(t for t in translators if isinstance(t, Supervisor))
        self._host = host
        self._readers = readers
        self._committer = committer
        self._durable = durable
        self.publish: Callable[[Tree], None] = lambda _notification: None
        self._outcomes = Outcomes(datastores, translators, host)
        self._one_at_a_time = asyncio.Lock()

    @property
    def managed(self) -> tuple[str, ...]:
        """The paths of the subtrees that are carried out on the machine."""
        return tuple(translator.path for translator in self._translators)

    @property
    def changing(self) -> bool:
        """Whether the machine is being changed, its services with it."""
        return self._machine.changing

    @property
    def tunnels(self) -> tuple[str, ...]:
        """The paths of the lists of tunnels that a plan can name."""
        return tuple(owner.tunnels for owner in self._translators if isinstance(owner, TunnelOwner))

    async def check(self, root: Node, *, complete: bool = True) -> None:
        """Validate a configuration by YANG and, where it differs from running, by the machine. Raises NetconfError.

        One that is not ``complete`` may lack what a later edit can bring: mandatory nodes and list entries, which only
        validate and commit demand (RFC 7950 8.3.3).
        """
        try:
            self._datastores.managed(root)
        except NetconfError as error:
            if complete or not all(is_incomplete(one) for one in (error, *error.others)):
                raise
            return
        if self._wanted(root):
            await _in_thread(self._readers, self._prepare, root)

    async def plan(self, root: Node, asker: Asker | None = None) -> Prepared:
        """Return what committing a configuration would do, with its tunnels where it is known who asks.

        Raises NetconfError where it can't be committed.
        """
        planned: Prepared = await _in_thread(self._readers, self._plan, root, asker)
        return planned

    async def commit(self, root: Node, session: Session | None = None, *, restores_for: Session | None = None) -> None:
        """Make a configuration running, on the machine and on disk, whole or not at all. Raises NetconfError.

        ``session`` is who commits. A lock that another session has taken while this commit waited for its turn holds
        against it; while it is carried out, running is not locked (``committing``). Without one, what was before is
        restored: for the session that asked for that, or by the agent itself.
        """
        async with self._one_at_a_time:
            if session is not None:
                self._datastores.check_access("running", session)
                self._datastores.check_access("candidate", session)
                self._datastores.check_change(root, session)
            self.committing = session
            before = self._datastores.running
            try:
                await _in_thread(self._committer, self._carry_out, root, "rollback" if session is None else "commit")
                self._datastores.moved(root)
                self._report(changes.config_change(before, root, session or restores_for))
            finally:
                self.committing = None
                self._report_seen()

    async def save_startup(self, root: Node | None, session: Session) -> None:
        """Make a configuration, or none, what the next agent starts with. Raises NetconfError."""
        async with self._one_at_a_time:
            try:
                await _in_thread(self._committer, self._store.save_startup, root)
            except OSError as error:
                raise errors.operation_failed(f"startup can't be stored: {error.strerror or error}") from error
            empty = Node(self._datastores.running.schema)
            before, after = self._datastores.startup or empty, root or empty
            self._datastores.stored(after)
            self._report(changes.config_change(before, after, session, datastore="startup"))

    def actor(self, path: str) -> tuple[Actor, str] | None:
        """Return who carries out the action at a schema path, with the path below its own; None for nobody."""
        for translator in self._translators:
            below = path.removeprefix(f"{translator.path}/")
            if isinstance(translator, Actor) and below in translator.actions:
                return translator, below
        return None

    async def invoke(self, actor: Actor, invocation: Invocation, session: Session) -> None:
        """Carry out an action, one at a time with commits, undone where it fails. Raises NetconfError."""
        async with self._one_at_a_time:
            if session.ended:
                raise errors.operation_failed("the session has ended", type="protocol")
            try:
                await _in_thread(self._committer, self._act, actor, invocation)
            finally:
                self._report_seen()

    async def boot(self, restored: Node | None = None) -> None:
        """Undo a commit that an earlier agent left half done, then bring the machine to running.

        ``restored`` becomes running first: what a commit is undone to that was not confirmed. What can't be done is
        logged: the agent serves all the same, and reports the state as it is.
        """
        async with self._one_at_a_time:
            before = self._datastores.running
            await _in_thread(self._committer, self._boot, restored)
            self._report(changes.config_change(before, self._datastores.running, None))
            self._report_seen()

    async def look(self) -> None:
        """Let the translators look at what they supervise, and refresh the services that this asks for."""
        async with self._one_at_a_time:
            await _in_thread(self._committer, self._look)
            self._report_seen()

    def look_interval(self) -> float:
        """Return the seconds from one look to the next."""
        running = self._datastores.managed(self._datastores.running)
        return min((s.interval(subtree(running, s.path)) for s in self._supervisors), default=_NO_LOOKS)

    def _look(self) -> None:
        owed = self._machine.settle()
        running = self._datastores.managed(self._datastores.running)
        for supervisor in self._supervisors:
            attention = supervisor.look(self._host, subtree(running, supervisor.path))
            self._outcomes.note(*attention.events)
            if attention.refresh is not None:
                done = not owed and self._refresh(attention.refresh)
                if isinstance(supervisor, RefreshAsker):
                    supervisor.asked(done=done)
            if attention.bring:
                self._bring(None)

    def _refresh(self, disturbance: Disturbance) -> bool:
        """Have a service refreshed outside of a commit, and return whether it was; what fails is logged."""
        done = True
        for owner in self._translators:
            if not isinstance(owner, ServiceOwner) or owner.service != disturbance.service:
                continue
            begun, undone = None, False
            try:
                first, last = owner.around((disturbance,), self._host)
                steps = (*first.steps, *last.steps)
                back = "back" if disturbance.enabling else "gone"
                log.warning("refreshing %s: acceleration is %s", owner.service, back)
                moments = self._machine.change(Plan(steps), None)
            except TranslatorError as error:
                log.error("%s can't be refreshed: %s", owner.service, error.message)  # noqa: TRY400
                done = False
                continue
            except ChangeFailedError as failure:
                log.error("%s is not refreshed: %s", owner.service, _told(failure))  # noqa: TRY400
                begun, moments, undone, done = failure.begun, failure.moments, True, False
            self._outcomes.note_refresh(owner, Refresh(steps[:begun], moments[0], moments[-1], undone=undone))
        return done

    def _carry_out(self, root: Node, cause: str) -> None:
        self._settle()
        moves = self._durable and root is not self._datastores.running
        then = partial(self._store.save, root) if moves else None
        self._change(self._prepare(root), root, cause, moves=moves, then=then)

    def _act(self, actor: Actor, invocation: Invocation) -> None:
        self._settle()
        root = self._datastores.running
        running = self._datastores.managed(root)
        prepared = prepare_action(self._translators, actor, invocation, running, self._host)
        self._change(prepared, root, invocation.name)

    def _settle(self) -> None:
        """Undo what an earlier commit left. Raises operation-failed where that can't be done yet."""
        if owed := self._machine.settle():
            said = f"an earlier commit could not be undone, and still can't be: {'; '.join(owed)}"
            raise errors.operation_failed(f"{said}. It is tried again at each look at the machine: nothing is done")

    def _change(
        self,
        prepared: Prepared,
        root: Node,
        cause: str,
        *,
        moves: bool = False,
        then: Callable[[], None] | None = None,
    ) -> None:
        """Carry out steps; ``root`` is running after them, and ``moves`` whether it is another than before."""
        try:
            moments = self._machine.change(prepared.plan, root if moves else None, then=then)
        except ChangeFailedError as failure:
            self._note_undone(prepared, failure, "rollback")
            raise self._explained(prepared, failure) from failure
        self._outcomes.note_change(prepared.steps, moments, root, cause)

    def _note_undone(self, prepared: Prepared, failure: ChangeFailedError, cause: str) -> None:
        done = prepared.steps[: failure.begun]
        self._outcomes.note_change(done, failure.moments, self._datastores.running, cause, undone=True)

    def _report_seen(self) -> None:
        """Send the notifications of what was noted. Called in the event loop, with no change under way."""
        for event in self._outcomes.take():
            self._report(event.notification)

    def _report(self, notification: Tree | None) -> None:
        if notification is not None:
            self.publish(notification)

    def _explained(self, prepared: Prepared, failure: ChangeFailedError) -> NetconfError:
        """Return the error that says what failed, and the state that the machine is in now."""
        said = _told(failure, prepared)
        path, app_tag = _blamed(failure, prepared)
        state = "; ".join(dict.fromkeys(planned.step.observe(self._host) for planned in prepared.steps))
        now = f". The machine now: {state}" if state else ""
        if failure.failures:
            text = f"{said}. Running is unchanged{now}"
            log.error("commit: %s", text)
            return errors.rollback_failed(text, path=path)
        text = f"{said}. What was done before is undone, running is unchanged{now}"
        log.warning("commit: %s", text)
        return errors.operation_failed(text, path=path, app_tag=app_tag)

    def _boot(self, restored: Node | None) -> None:
        self._machine.recover()
        if restored is not None:
            unconfirmed = self._datastores.running
            self._datastores.moved(restored)
            self._bring(unconfirmed)
        self._bring(None)

    def _bring(self, before: Node | None) -> None:
        """Bring the machine to running, from a configuration or from what is not known."""
        if self._machine.settle():
            return
        try:
            after = self._datastores.managed(self._datastores.running)
            old = None if before is None else self._datastores.managed(before)
            self._outcomes.note_state(self._datastores.running, "start-up")
            prepared = prepare(self._translators, self._translators, old, after, self._host)
            moments = self._machine.change(prepared.plan, None)
            self._outcomes.note_change(prepared.steps, moments, self._datastores.running, "start-up")
        except NetconfError as error:
            log.error("running does not fit this machine: %s", error.message)  # noqa: TRY400 - no programming error
        except ChangeFailedError as failure:
            log.error("bringing the machine to running: %s", _told(failure, prepared))  # noqa: TRY400
            self._note_undone(prepared, failure, "start-up")

    def _wanted(self, root: Node) -> list[Translator]:
        """Return the translators whose subtree differs from running; all where nothing differs at all.

        A commit that changes something leaves alone what it does not change; one that changes nothing asks for what
        running says, so whatever has drifted away from it is put right.
        """
        running = self._datastores.running
        if root is running:
            return list(self._translators)
        return [t for t in self._translators if _dig(root, t.path) is not _dig(running, t.path)]

    def _plan(self, root: Node, asker: Asker | None) -> Prepared:
        prepared = self._prepare(root)
        return prepared if asker is None else with_tunnels(prepared, self._translators, self._host, asker)

    def _prepare(self, root: Node) -> Prepared:
        after = self._datastores.managed(root)
        before = self._datastores.managed(self._datastores.running)
        return prepare(self._translators, self._wanted(root), before, after, self._host)


async def _in_thread(executor: Executor, function: Callable[..., Any], *arguments: Any) -> Any:  # noqa: ANN401
    return await asyncio.get_running_loop().run_in_executor(executor, function, *arguments)


def _told(failure: ChangeFailedError, prepared: Prepared | None = None) -> str:
    """Return what failed and how, with what its program printed, and what could not be undone."""
    cause = failure.cause
    if isinstance(cause, OSError):
        said = f"the state directory can't be written: {cause.strerror or cause}"
    else:
        steps = prepared.steps if prepared is not None else ()
        number = next((n for n, planned in enumerate(steps, 1) if planned.step is cause.step), None)
        said = f"step {number} of {len(steps)} failed: {cause}" if number is not None else str(cause)
    undoing = f". Undoing failed too: {'; '.join(failure.failures)}" if failure.failures else ""
    return f"{said}{undoing}"


def _blamed(failure: ChangeFailedError, prepared: Prepared) -> tuple[str | None, str | None]:
    """Return the path and the error-app-tag of what failed: what the step says, or else whose it is."""
    if not isinstance(failure.cause, PlanFailedError):
        return None, None
    step, cause = failure.cause.step, failure.cause.cause
    owner = next((planned.owner for planned in prepared.steps if planned.step is step), None)
    return (cause.path or owner, cause.app_tag) if isinstance(cause, StepError) else (owner, None)


def _dig(root: Node, path: str) -> Node | None:
    return root.find(*path.strip("/").split("/"))
