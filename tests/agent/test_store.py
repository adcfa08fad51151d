"""What is on disk: whole or not at all, at whatever call the process or the disk gives out."""

from __future__ import annotations

import errno
import json
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from lxml import etree

from agent import edit
from agent.errors import NETCONF
from agent.settings import StartError
from agent.store import Store
from agent.tree import Node, from_json
from translators.base import Plan
from translators.files import WriteFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agent.model.load import Model

PLAN = Plan((WriteFile("/etc/x.conf", b"new\n\0\xff", None),), ("a note",))
OLD: dict[str, Any] = {"name": "old", "mtu": 1400}
NEW: dict[str, Any] = {"name": "new", "tag": ["x"]}


class KilledError(BaseException):
    """The process is no more."""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(tmp_path / "a" / "state")
    yield store
    store.close()


def tree(model: Model, data: dict[str, Any]) -> Node:
    return from_json(model.root, {"t:top": data})


def names(store: Store) -> set[str]:
    return {path.name for path in store._folder.iterdir()} - {"agent.lock"}


def interfere(monkeypatch: pytest.MonkeyPatch, fault: Callable[[str], BaseException], at: int) -> list[str]:
    """Have the n-th call of the system that matters raise; return the calls that were made."""
    made: list[str] = []

    def wrapped(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **options: Any) -> Any:
            made.append(name)
            if len(made) == at:
                raise fault(name)
            return call(*arguments, **options)

        return counted

    for name in ("open", "fsync", "close"):
        monkeypatch.setattr(os, name, wrapped(name, getattr(os, name)))
    for name in ("replace", "unlink"):
        monkeypatch.setattr(Path, name, wrapped(name, getattr(Path, name)))
    return made


def test_nothing_is_stored_at_first(model: Model, store: Store) -> None:
    assert store.load(model) is None
    assert store.unfinished() is None
    assert names(store) == set()


def test_running_comes_back_as_it_was(model: Model, store: Store) -> None:
    config = etree.fromstring(
        f'<config xmlns="{NETCONF}"><top xmlns="urn:example:t" xmlns:p="urn:example:t">'
        "<name>&lt;&amp;'\"\u00e4\U0001f600 </name><kind>p:k1</kind><ord>z</ord><ord>a</ord>"
        "<rule><id>2</id><act>x</act></rule><rule><id>1</id><act>y</act></rule><pres/><mtu>1500</mtu>"
        "</top></config>"
    )
    root = edit.apply(Node(model.root), edit.parse(model, config, "merge"))
    store.save(root)
    found = store.load(model)
    assert found is not None
    assert found.xml() == root.xml()
    assert b"<ord>z</ord><ord>a</ord>" in found.xml()


def test_nobody_else_may_read_it(model: Model, store: Store) -> None:
    store.save(tree(model, OLD))
    store.begin(PLAN, None)
    assert stat.S_IMODE(store._folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in store._folder.iterdir()} == {0o600}


def test_one_agent_at_a_time_has_the_directory(tmp_path: Path) -> None:
    first = Store(tmp_path)
    with pytest.raises(StartError, match="another accel-agent uses this state directory: stop it, or name another"):
        Store(tmp_path)
    first.close()
    Store(tmp_path).close()


def _killed(_name: str) -> BaseException:
    return KilledError()


def _refused(name: str) -> BaseException:
    return OSError(errno.EIO, f"{name} gave out")


@pytest.mark.parametrize("fault", [_killed, _refused], ids=["killed", "refused"])
@pytest.mark.parametrize("work", ["save", "begin", "end"])
def test_whatever_call_is_the_last_what_is_stored_is_whole(
    model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Callable[[str], BaseException], work: str
) -> None:
    at = 0
    while True:
        at += 1
        store = Store(tmp_path / f"{at}")
        store.save(tree(model, OLD))
        if work == "end":
            store.begin(PLAN, None)
        with monkeypatch.context() as patch:
            made = interfere(patch, fault, at)
            ended = True
            try:
                if work == "save":
                    store.save(tree(model, NEW))
                elif work == "begin":
                    store.begin(PLAN, tree(model, NEW))
                else:
                    store.end()
            except (KilledError, OSError):
                ended = False
        store.close()
        found = _reopened(model, tmp_path / f"{at}")
        if ended and len(made) < at:
            # The call that gave out did not come: this is how it ends when none does.
            assert found == {"save": (NEW, False), "begin": (OLD, True), "end": (OLD, False)}[work]
            break
        assert found[0] in ((OLD, NEW) if work == "save" else (OLD,))
        if work == "save":
            assert not found[1]
        if fault is _refused and "replace" not in made[: at - 1] and work != "end":
            # A disk that refuses: what was there stays, and nothing is left lying about.
            assert found == (OLD, False)
            assert not list((tmp_path / f"{at}").glob(".*")) or made[-1] == "unlink"
    assert at > {"save": 5, "begin": 5, "end": 2}[work]


def _reopened(model: Model, folder: Path) -> tuple[dict[str, Any], bool]:
    """Return what a successor finds: running, and whether a commit was broken off."""
    store = Store(folder)
    try:
        root = store.load(model)
        journal = store.unfinished()
        assert root is not None
        assert journal is None or journal.plan == PLAN
        found = {"old": OLD, "new": NEW}["old" if b"old" in root.xml() else "new"]
        assert root.xml() == tree(model, found).xml()
        return found, journal is not None
    finally:
        store.close()


def test_a_commit_that_was_begun_is_unfinished_until_it_is_ended(model: Model, store: Store) -> None:
    store.save(tree(model, OLD))
    store.begin(PLAN, tree(model, NEW))
    journal = store.unfinished()
    assert journal is not None
    assert journal.plan == PLAN
    store.end()
    assert store.unfinished() is None
    store.end()


def test_a_commit_whose_result_is_stored_is_finished(model: Model, store: Store) -> None:
    store.begin(PLAN, tree(model, NEW))
    store.save(tree(model, NEW))
    assert names(store) == {"running.xml", "journal.json"}
    assert store.unfinished() is None
    assert names(store) == {"running.xml"}


def test_a_plan_that_moves_nothing_is_unfinished_whatever_is_stored(model: Model, store: Store) -> None:
    store.begin(PLAN, None)
    assert store.unfinished() is not None
    store.save(tree(model, OLD))
    assert store.unfinished() is not None


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"null",
        b"\xff",
        b'{"digest": "x"}',
        b'{"digest": "x", "plan": {}}',
        json.dumps({"digest": "", "plan": {"version": 99, "steps": [], "notes": []}}).encode(),
        json.dumps({"digest": "", "plan": {"version": 1, "steps": [{"kind": "rm -rf"}], "notes": []}}).encode(),
    ],
)
def test_a_record_that_can_not_be_used_is_refused_and_stays(store: Store, content: bytes) -> None:
    path = store._folder / "journal.json"
    path.write_bytes(content)
    with pytest.raises(StartError) as caught:
        store.unfinished()
    assert str(caught.value).startswith(f"{path}: the record of a broken-off commit can't be used: ")
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"<config",
        b"\xff\xfe",
        b'<!DOCTYPE c [<!ENTITY e SYSTEM "file:///etc/hostname">]><c>&e;</c>',
        f'<config xmlns="{NETCONF}"><top xmlns="urn:example:t"><mtu>1</mtu></top></config>'.encode(),
        f'<config xmlns="{NETCONF}"><top xmlns="urn:example:t"><gone/></top></config>'.encode(),
        f'<config xmlns="{NETCONF}"><x xmlns="urn:example:gone"/></config>'.encode(),
    ],
)
def test_running_that_can_not_be_used_is_refused_and_stays(model: Model, store: Store, content: bytes) -> None:
    path = store._folder / "running.xml"
    path.write_bytes(content)
    with pytest.raises(StartError) as caught:
        store.load(model)
    assert str(caught.value).startswith(
        (f"{path}: the configuration can't be used: ", f"{path}: no configuration, but ")
    )
    assert path.read_bytes() == content


def test_running_whose_folder_can_not_be_synced_is_what_it_was(
    store: Store, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.save(from_json(model.root, {"t:top": {"name": "old"}}))

    def fails() -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(store, "_sync_folder", fails)
    with pytest.raises(OSError, match="Input/output"):
        store.save(from_json(model.root, {"t:top": {"name": "new"}}))
    kept = store.load(model)
    assert kept is not None
    assert b"<name>old</name>" in kept.xml()


def test_what_a_translator_remembers_outlives_the_agent(store: Store) -> None:
    assert store.recall("kernel-log") is None
    store.remember("kernel-log", {"boot": "b1", "sequence": 7})
    store.remember("fall-back", {"active": True})
    store.remember("kernel-log", {"boot": "b1", "sequence": 8})
    folder = store._folder
    store.close()
    successor = Store(folder)
    assert successor.recall("kernel-log") == {"boot": "b1", "sequence": 8}
    assert successor.recall("fall-back") == {"active": True}
    store._lock = os.open(folder / "agent.lock", os.O_RDONLY)
    successor.close()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b"[" * 100_000])
def test_a_memory_that_can_not_be_used_is_no_absent_one(store: Store, content: bytes) -> None:
    (store._folder / "remembered-kernel-log.json").write_bytes(content)
    with pytest.raises(ValueError, match=r"remembered-kernel-log\.json"):
        store.recall("kernel-log")


def test_a_memory_that_can_not_be_written_stays(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.remember("kernel-log", {"sequence": 7})
    interfere(monkeypatch, lambda _name: OSError(errno.ENOSPC, "No space left on device"), 1)
    with pytest.raises(OSError, match="No space left"):
        store.remember("kernel-log", {"sequence": 8})
    monkeypatch.undo()
    assert store.recall("kernel-log") == {"sequence": 7}
