"""A machine that refuses one call, for every call of a commit, or all calls from one on.

The programs of the simulated machine are run in this process, and waiting takes no time: what is left is every call
to the machine that the agent's own translators make.
"""

from __future__ import annotations

import asyncio
import errno
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from lxml import etree

import simulator
from agent import edit
from agent.commit import CommitEngine
from agent.datastore import Datastores
from agent.errors import NETCONF, NetconfError
from agent.model.load import load
from agent.store import Store
from agent.tree import Node
from simulator.machine import hardware, programs, terminal
from tests.system.client import device, enabled
from tests.system.gateway import Gateway
from translators.host import Completed
from translators.real_host import RealHost
from translators.record import RefusingHost
from translators.registry import TranslatorSettings, translators

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from agent.model.load import Model
    from translators.host import Host

ADDRESSES = ("0000:3d:00.0", "0000:3f:00.0")
SERVICES = device(ADDRESSES[1], "<services>sym dc</services>")
COMMITS = {
    "enabling": ("", enabled(more=SERVICES)),
    "reconfiguring": (enabled(), enabled(more=SERVICES)),
    "switching one off": (enabled(), enabled(more=device(ADDRESSES[0], "<enabled>false</enabled>"))),
    "disabling": (enabled(), enabled(False)),
}


class Machine(RealHost):
    """A simulated machine: its programs without processes, its clock without waiting."""

    said: list[str]

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.root = root
        self.elapsed = 0.0

    def run(self, argv: Sequence[str], *, timeout: float) -> Completed:
        program = self.root / argv[0].lstrip("/")
        assert os.access(program, os.X_OK)
        self.said.clear()
        status = programs.main([program.name, str(self.root), str(program), *argv[1:]])
        return Completed(tuple(argv), status, "".join(self.said))

    def monotonic(self) -> float:
        return self.elapsed

    def sleep(self, seconds: float) -> None:
        self.elapsed += seconds


class DyingHost(RefusingHost):
    """A host that refuses its n-th call and all after it."""

    def _call(self, path: str, call: Callable[[], Any]) -> Any:
        self.calls += 1
        if self._refused and self.calls >= self._refused:
            raise OSError(errno.EIO, os.strerror(errno.EIO), path)
        return call()


@pytest.fixture(scope="module")
def model() -> Model:
    return load()


@pytest.fixture(autouse=True)
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have programs print into a list, no traffic, and no waiting for a disk: it is not switched off here."""
    said: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda _descriptor: None)
    monkeypatch.setattr(terminal, "_write", lambda _descriptor, text: said.append(text))
    monkeypatch.setattr(hardware, "_spawn", lambda _machine: None)
    monkeypatch.setattr(Machine, "said", said, raising=False)


@dataclass(frozen=True, slots=True)
class Attempt:
    """A commit that was tried: how machine, disk and memory were before and after, and how it was refused."""

    before: tuple[object, bytes, Node]
    after: tuple[object, bytes, Node]
    error: NetconfError | None
    calls: int

    @property
    def same(self) -> bool:
        """Whether everything is as it was."""
        return self.before == self.after


class Bench:
    """Tries one commit again and again, each time on a machine that is as at first."""

    def __init__(self, model: Model, folder: Path, old: str, new: str) -> None:
        self._old, self._new = _tree(model, old), _tree(model, new)
        self._model = model
        self._gateway = Gateway(folder / "gateway").build(*(f"c6xx@{address}" for address in ADDRESSES))
        self._machine = Machine(self._gateway.root)
        self._driver = "start" if old else "stop"
        self._machine.run(("/etc/init.d/qat_service", self._driver), timeout=1)
        self._first = self._gateway.condition()
        self._store = Store(self._gateway.state)
        if old:
            self._store.save(self._old)
        self._stored = self._gateway.stored

    def close(self) -> None:
        self._store.close()
        simulator.stop(self._gateway.root)

    def attempt(self, refusing: Callable[[Host], RefusingHost]) -> Attempt:
        self._renew()
        datastores = Datastores(self._model, self._old)
        before = (self._gateway.condition(), self._gateway.stored, datastores.running)
        host = refusing(self._machine)
        error = _commit(datastores, self._store, host, self._new)
        owed = isinstance(error, NetconfError) and error.tag == "rollback-failed"
        assert (self._gateway.state / "journal.json").exists() == owed, "the record stays until all is undone"
        self._store.end()
        after = (self._gateway.condition(), self._gateway.stored, datastores.running)
        return Attempt(before, after, error, host.calls)

    def _renew(self) -> None:
        """Make machine and state directory what they were at first, where they are not."""
        gateway = self._gateway
        if gateway.condition() != self._first:
            for name, content in self._first[0].items():
                (gateway.root / "etc" / name).write_bytes(content)
            for program, verb in (("/etc/init.d/qat_service", self._driver), ("/usr/sbin/ipsec", "restart")):
                self._machine.run((program, verb), timeout=1)
            assert gateway.condition() == self._first
        if gateway.stored != self._stored:
            (gateway.state / "running.xml").write_bytes(self._stored)
            if not self._stored:
                (gateway.state / "running.xml").unlink()


@pytest.fixture
def bench(model: Model, tmp_path: Path, name: str) -> Iterator[Bench]:
    """Return what tries the commit of that name."""
    made = Bench(model, tmp_path, *COMMITS[name])
    yield made
    made.close()


@pytest.mark.parametrize("name", COMMITS)
@pytest.mark.parametrize("carried_out", [False, True], ids=["not done", "done"])
def test_a_call_that_is_refused_leaves_everything_as_it_was(bench: Bench, carried_out: bool) -> None:
    reference = bench.attempt(lambda host: RefusingHost(host, 0))
    assert reference.error is None
    assert not reference.same
    errors = []
    for n in range(1, reference.calls + 1):
        made = bench.attempt(partial(RefusingHost, refused=n, before=not carried_out))
        if made.error is None:
            # Another reading has made it good: the commit is done, all of it.
            assert made.after[:2] == reference.after[:2], n
            continue
        errors.append(made.error)
        assert (made.error.type, made.error.tag) == ("application", "operation-failed")
        assert made.error.path is not None
        assert made.same, made.error
    assert len(errors) > 20
    told = [error for error in errors if os.strerror(errno.EIO) in error.message]
    assert [error.message for error in errors if error not in told] == []


@pytest.mark.parametrize("name", COMMITS)
def test_a_machine_that_refuses_everything_from_one_call_on(bench: Bench) -> None:
    reference = bench.attempt(lambda host: DyingHost(host, 0))
    assert reference.error is None
    tags: list[str] = []
    for n in range(1, reference.calls + 1):
        made = bench.attempt(partial(DyingHost, refused=n))
        if made.error is None:
            # All was done by then. What is looked at afterwards, to tell of it, changes nothing.
            assert made.after[:2] == reference.after[:2], n
            continue
        assert len(tags) == n - 1, "once all is done, nothing fails any more"
        tags.append(made.error.tag)
        # Running is what it was, whatever has become of the machine, and that is told.
        assert made.after[1:] == made.before[1:]
        if made.error.tag == "operation-failed":
            assert made.same, made.error
        else:
            assert made.error.tag == "rollback-failed"
            assert "Undoing failed too: " in made.error.message
            assert "Running is unchanged" in made.error.message
    assert set(tags) == {"operation-failed", "rollback-failed"}


def _tree(model: Model, content: str) -> Node:
    config = etree.fromstring(f'<config xmlns="{NETCONF}">{content}</config>')
    return edit.apply(Node(model.root), edit.parse(model, config, "merge"))


def _commit(datastores: Datastores, store: Store, host: Host, root: Node) -> NetconfError | None:
    async def commit() -> None:
        with ThreadPoolExecutor(1) as executor:
            managed = translators(TranslatorSettings())
            engine = CommitEngine(datastores, store, managed, host, readers=executor, committer=executor)
            await engine.commit(root)

    try:
        asyncio.run(commit())
    except NetconfError as error:
        return error
    return None
