"""``<get>`` and the operational datastore: configuration and live state in one tree (RFC 6241 7.7, RFC 8342 5.3).

No more is read than the filter asks for.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from agent import errors
from agent import filter as subtree
from agent.defaults import in_use
from agent.depth import shortened
from agent.errors import NetconfError
from agent.origin import SYSTEM, attributed, replaced
from agent.tree import Node, from_json, merge
from translators.base import ALL, InUse

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence
    from concurrent.futures import Executor

    from agent.datastore import Datastores
    from agent.filter import Filter
    from agent.model.load import Model
    from agent.nacm import Access
    from translators.base import Fault, Reading, Selection, Translator, Tree
    from translators.host import Host

log = logging.getLogger(__name__)

_MOST_REMEMBERED = 1000
_collected: ContextVar[list[Fault] | None] = ContextVar("collected", default=None)


@contextmanager
def faults() -> Iterator[list[Fault]]:
    """Collect the faults of what is read meanwhile: of some of it, where that does not fail as a whole.

    They are those that the user may know of who reads.
    """
    found: list[Fault] = []
    token = _collected.set(found)
    try:
        yield found
    finally:
        _collected.reset(token)


class Operational:
    """Live state: from the translators, and from the agent's own providers (path → function of a selection)."""

    def __init__(
        self,
        model: Model,
        datastores: Datastores,
        translators: Sequence[Translator],
        host: Host,
        executor: Executor,
        *,
        deadline: float,
    ) -> None:
        self._model = model
        self._datastores = datastores
        self._translators = tuple(translators)
        self._host = host
        self._executor = executor
        self._deadline = deadline
        self._own: dict[str, Callable[[Selection, Access], Tree]] = {}
        self._fixed: list[Node] = []
        self._logged: set[tuple[str, str]] = set()
        self._configured: tuple[Node, Node] | None = None
        self._shared: dict[Hashable, asyncio.Future[Reading]] = {}

    def provide(self, path: str, read: Callable[[Selection], Tree]) -> None:
        """Register a provider of the agent's own state; it returns data from the top level down."""
        self.provide_by_user(path, lambda wanted, _access: read(wanted))

    def provide_by_user(self, path: str, read: Callable[[Selection, Access], Tree]) -> None:
        """Register a provider of state that is not the same for all users."""
        self._own[path] = read

    def provide_fixed(self, data: Tree) -> None:
        """Register state that never changes."""
        self._fixed.append(from_json(self._model.root, data))

    async def get(self, running: Node, filters: Sequence[Filter] | None, access: Access) -> Node:
        """Return running (as the caller wants it shown) and state, narrowed to what may be read and to the filters.

        Raises operation-failed when all that is asked for comes from sources that can't be used.
        """
        tree = self._own_state(running, filters, access)
        faults: list[Fault] = []
        for translator, reading in await self._read(filters, access):
            faults += reading.faults
            if reading.tree:
                tree = merge(tree, from_json(self._model.root, _wrap(translator.path, reading.tree)))
        return self._narrowed(tree, filters, access, faults)

    async def in_use(self, filters: Sequence[Filter] | None, access: Access, depth: int | None = None) -> Node:
        """Return the operational datastore, narrowed as ``get`` does; configuration in it has its origin.

        ``depth`` is how many levels of what is selected are returned, None for all.
        """
        tree = self._own_state(self._configuration(), filters, access, origin=SYSTEM)
        faults: list[Fault] = []
        for translator, reading in await self._read(filters, access, in_use=True):
            faults += reading.faults
            if isinstance(translator, InUse):
                names = translator.path.strip("/").split("/")
                found = from_json(self._model.node(translator.path), reading.tree)
                tree = replaced(tree, names, attributed(found, tree.find(*names)))
            elif reading.tree:
                tree = merge(tree, from_json(self._model.root, _wrap(translator.path, reading.tree)), origin=SYSTEM)
        return self._narrowed(tree, filters, access, faults, depth)

    def _configuration(self) -> Node:
        """Return running with defaults, as it is in use where nothing says otherwise."""
        running = self._datastores.running
        if self._configured is None or self._configured[0] is not running:
            try:
                effective = self._datastores.effective(running)
            except NetconfError:  # one of an earlier release: only nodes with a when then go without their default
                effective = None
            self._configured = (running, in_use(running, effective))
        return self._configured[1]

    def _own_state(
        self, tree: Node, filters: Sequence[Filter] | None, access: Access, *, origin: str | None = None
    ) -> Node:
        for node in self._fixed:
            tree = merge(tree, node, origin=origin)
        for path, read in self._own.items():
            if (wanted := self._wanted(path, filters)) is not None:
                tree = merge(tree, from_json(self._model.root, read(wanted, access)), origin=origin)
        return tree

    def _narrowed(
        self,
        tree: Node,
        filters: Sequence[Filter] | None,
        access: Access,
        faults: Sequence[Fault],
        depth: int | None = None,
    ) -> Node:
        self._log(faults)
        # A source that can't be used is not there for one who may not read what it has.
        faults = [fault for fault in faults if access.may_see(fault.path)]
        if (collected := _collected.get()) is not None:
            collected += faults
        tree = access.readable(tree)
        selected = tree if filters is None else subtree.apply(tree, filters)
        if faults and filters is not None and not _says_anything(selected):
            raise errors.operation_failed(faults[0].message, path=faults[0].path)
        return selected if depth is None else shortened(selected, tree, depth)

    async def _read(
        self, filters: Sequence[Filter] | None, access: Access, *, in_use: bool = False
    ) -> list[tuple[Translator, Reading]]:
        """Read what is wanted of the machine; what the user may see nothing of is not read."""
        running: dict[str, Any] = {}
        tasks = []
        for translator in self._translators:
            wanted = self._wanted(translator.path, filters)
            if wanted is not None and access.may_see(translator.path):
                running = running or self._datastores.managed(self._datastores.running)
                tasks.append((translator, self._reading(translator, wanted, running, in_use=in_use)))
        readings = await asyncio.gather(*(task for _translator, task in tasks))
        return [(translator, reading) for (translator, _task), reading in zip(tasks, readings, strict=True)]

    async def _reading(
        self, translator: Translator, wanted: Selection, running: dict[str, Any], *, in_use: bool
    ) -> Reading:
        """Read; what is asked for by several at the same time is read once."""
        key = (translator.path, wanted, id(running), in_use)
        reading = self._shared.get(key)
        if reading is None:
            reading = asyncio.ensure_future(self._read_one(translator, wanted, running, in_use=in_use))
            self._shared[key] = reading
            asyncio.get_running_loop().call_soon(self._shared.pop, key)
        return await asyncio.shield(reading)

    async def _read_one(
        self, translator: Translator, wanted: Selection, running: dict[str, Any], *, in_use: bool
    ) -> Reading:
        for name in translator.path.strip("/").split("/"):
            running = running.get(name, {})
        loop = asyncio.get_running_loop()
        read = translator.in_use if in_use and isinstance(translator, InUse) else translator.operational
        call = loop.run_in_executor(self._executor, read, self._host, wanted, running)
        try:
            return await asyncio.wait_for(call, self._deadline)
        except TimeoutError:
            message = f"the machine did not answer within {self._deadline:g} s"
            raise errors.operation_failed(message, path=translator.path) from None

    def _wanted(self, path: str, filters: Sequence[Filter] | None) -> Selection | None:
        return ALL if filters is None else subtree.selection(filters, self._model.node(path))

    def _log(self, faults: Sequence[Fault]) -> None:
        """Log each fault once."""
        now = {(fault.path, fault.message) for fault in faults}
        for path, message in sorted(now - self._logged):
            log.warning("%s: %s", path, message)
        self._logged = (self._logged if len(self._logged) < _MOST_REMEMBERED else set()) | now


def _says_anything(node: Node) -> bool:
    """Return whether there is more below a node than the keys that a filter names."""
    return any(
        child.schema not in node.schema.keys and (child.schema.is_leaf or _says_anything(child)) for child in node.all()
    )


def _wrap(path: str, tree: Tree) -> Tree:
    for name in reversed(path.strip("/").split("/")):
        tree = {name: tree}
    return tree
