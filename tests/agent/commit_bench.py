"""A commit engine for tests: translators and a machine that do as a test says."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from agent.commit import CommitEngine
from agent.datastore import Datastores
from agent.errors import NetconfError
from agent.tree import Node, from_json
from translators.base import Change, Disturbance, Plan, Reading, Refresh, Selection, Touched

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

    from agent.model.load import Model
    from agent.store import Store
    from translators.base import Step, Tree

TOP, NP = "/t:top/pres", "/t:top/np"


@dataclass
class Machine:
    """What steps were done and undone, and which ones fail; a name with ``!`` in front is its undoing.

    Each takes a second.
    """

    done: list[str] = field(default_factory=list)
    failing: dict[str, Exception] = field(default_factory=dict)
    watch: Callable[[str], None] = lambda _name: None
    elapsed: float = 0.0

    def monotonic(self) -> float:
        return self.elapsed


@dataclass(frozen=True, slots=True)
class Note:
    """A step that writes its name down."""

    kind: ClassVar[str] = "note"

    name: str
    disturbing: str | None = None

    @property
    def disturbs(self) -> Disturbance | None:
        return Disturbance(self.disturbing, "restart", enabling=True) if self.disturbing else None

    def describe(self) -> str:
        return f"do {self.name}"

    def perform(self, host: Any) -> None:
        host.elapsed += 1
        host.watch(self.name)
        if self.name in host.failing:
            raise host.failing[self.name]
        host.done.append(self.name)

    def inverse(self) -> Step:
        return Note(self.name.removeprefix("!") if self.name.startswith("!") else f"!{self.name}")

    def observe(self, host: Any) -> str:
        return f"{self.name} is {'done' if self.name in host.done else 'not done'}"


class Wanting:
    """A translator that plans a step for each leaf that is there, and refuses what it is told to."""

    path: ClassVar[str]

    def __init__(self, path: str, *, disturbing: str | None = None) -> None:
        self.path = path  # type: ignore[misc]
        self.changes: list[Change] = []
        self.refusal: Exception | None = None
        self._disturbing = disturbing

    def prepare(self, change: Change, host: Any) -> Plan:
        self.changes.append(change)
        if self.refusal is not None:
            raise self.refusal
        before = change.before or {}
        names = [f"{name}={value}" for name, value in change.after.items() if before.get(name) != value]
        return Plan(tuple(Note(name, self._disturbing) for name in names), ("remember",) if names else ())

    def operational(self, host: Any, wanted: Selection, running: Tree) -> Reading:
        raise AssertionError("a commit asked for live state")


class Owner(Wanting):
    """A translator whose service is quiesced and resumed around what disturbs it; it keeps what it is told of that."""

    service: ClassVar[str] = "ipsec"
    tunnels: ClassVar[str] = "/t:top/item"

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.refreshes: list[Refresh] = []
        self.askers: list[tuple[tuple[str, str] | None, bool]] = []

    def around(self, disturbances: tuple[Disturbance, ...], host: Any) -> tuple[Plan, Plan]:
        assert {disturbance.service for disturbance in disturbances} == {"ipsec"}
        return Plan((Note("quiesce"),), ("remember",)), Plan((Note("resume"),))

    def refreshed(self, refresh: Refresh, host: Any) -> None:
        self.refreshes.append(refresh)

    def touched(self, steps: Any, host: Any, ends: tuple[str, str] | None, *, named: bool) -> Touched:
        self.askers.append((ends, named))
        return Touched(("site",) if named else (), (f"{len(steps)} steps",))


@dataclass
class Bench:
    """An engine and all that it works on."""

    model: Model
    store: Store
    folder: Path
    machine: Machine = field(default_factory=Machine)
    first: Wanting = field(default_factory=lambda: Wanting(TOP))
    second: Wanting = field(default_factory=lambda: Wanting(NP))
    datastores: Datastores = field(init=False)
    engine: CommitEngine = field(init=False)

    def __post_init__(self) -> None:
        self.datastores = Datastores(self.model, self.store.load(self.model) or Node(self.model.root))

    def tree(self, **top: Any) -> Node:
        """Return a configuration that shares with running what is equal, as an edit's does."""
        made = from_json(self.model.root, {"t:top": top})
        schema = self.model.node("/t:top")
        running = self.datastores.running.one(schema)
        node = made.one(schema)
        assert node is not None
        if running is not None:
            for child, value in running.children.items():
                mine = node.children.get(child)
                if isinstance(mine, Node) and isinstance(value, Node) and mine.xml() == value.xml():
                    node.children[child] = value
        return made

    def run(self, work: Callable[[CommitEngine], Coroutine[Any, Any, Any]]) -> Any:
        async def main() -> Any:
            with ThreadPoolExecutor(2) as readers, ThreadPoolExecutor(1) as committer:
                managed = (self.first, self.second)
                host: Any = self.machine
                self.engine = CommitEngine(
                    self.datastores, self.store, managed, host, readers=readers, committer=committer
                )
                return await work(self.engine)

        return asyncio.run(main())

    def commit(self, root: Node) -> None:
        self.run(lambda engine: engine.commit(root))

    def refused(self, root: Node) -> NetconfError:
        before = self.datastores.running, self.stored
        with pytest.raises(NetconfError) as caught:
            self.commit(root)
        assert (self.datastores.running, self.stored) == before
        assert self.journal.exists() == (caught.value.tag == "rollback-failed"), "a record stays until all is undone"
        return caught.value

    @property
    def stored(self) -> bytes:
        path = self.folder / "running.xml"
        return path.read_bytes() if path.exists() else b""

    @property
    def journal(self) -> Path:
        return self.folder / "journal.json"
