"""``<get>``: running and live state in one tree, no more read than the filter asks for (RFC 6241 7.7)."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from agent import errors
from agent import filter as subtree
from agent.tree import Node, from_json, merge
from translators.base import ALL

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Executor

    from agent.datastore import Datastores
    from agent.filter import Filter
    from agent.model.load import Model
    from agent.nacm import Access
    from translators.base import Fault, Reading, Selection, Translator, Tree
    from translators.host import Host

log = logging.getLogger(__name__)

_MOST_REMEMBERED = 1000


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
        self._own: dict[str, Callable[[Selection], Tree]] = {}
        self._fixed: list[Node] = []
        self._logged: set[tuple[str, str]] = set()

    def provide(self, path: str, read: Callable[[Selection], Tree]) -> None:
        """Register a provider of the agent's own state; it returns data from the top level down."""
        self._own[path] = read

    def provide_fixed(self, data: Tree) -> None:
        """Register state that never changes."""
        self._fixed.append(from_json(self._model.root, data))

    async def get(self, running: Node, filters: Sequence[Filter] | None, access: Access) -> Node:
        """Return running (as the caller wants it shown) and state, narrowed to what may be read and to the filters.

        Raises operation-failed when all that is asked for comes from sources that can't be used.
        """
        tree = running
        for node in self._fixed:
            tree = merge(tree, node)
        for path, read in self._own.items():
            if (wanted := self._wanted(path, filters)) is not None:
                tree = merge(tree, from_json(self._model.root, read(wanted)))
        faults: list[Fault] = []
        for path, reading in await self._read(filters):
            faults += reading.faults
            if reading.tree:
                tree = merge(tree, from_json(self._model.root, _wrap(path, reading.tree)))
        self._log(faults)
        tree = access.readable(tree)
        if filters is None:
            return tree
        selected = subtree.apply(tree, filters)
        if faults and not _says_anything(selected):
            raise errors.operation_failed(faults[0].message, path=faults[0].path)
        return selected

    async def _read(self, filters: Sequence[Filter] | None) -> list[tuple[str, Reading]]:
        running: dict[str, Any] = {}
        tasks = []
        for translator in self._translators:
            wanted = self._wanted(translator.path, filters)
            if wanted is not None:
                running = running or self._datastores.effective(self._datastores.running)
                tasks.append((translator.path, self._reading(translator, wanted, running)))
        readings = await asyncio.gather(*(task for _path, task in tasks))
        return [(path, reading) for (path, _task), reading in zip(tasks, readings, strict=True)]

    async def _reading(self, translator: Translator, wanted: Selection, running: dict[str, Any]) -> Reading:
        for name in translator.path.strip("/").split("/"):
            running = running.get(name, {})
        loop = asyncio.get_running_loop()
        call = loop.run_in_executor(self._executor, translator.operational, self._host, wanted, running)
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
