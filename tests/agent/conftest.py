"""What the tests of the protocol work on: models, a commit engine, folders."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import translators.plans
from agent.model.load import Model, load
from agent.store import Store
from tests.agent.commit_bench import Bench, Note

MODULES = Path(__file__).parent / "modules"


def modules_in(folder: Path, **texts: str) -> list[Path]:
    """Write modules, each in a namespace and with a prefix of its name; return their files."""
    files = [folder / f"{name}.yang" for name in texts]
    for file, (name, text) in zip(files, texts.items(), strict=True):
        file.write_text(f'module {name} {{ yang-version 1.1; namespace "urn:{name}"; prefix {name}; {text} }}')
    return files


@pytest.fixture(scope="session")
def model() -> Model:
    """Return the served modules and t, a little of everything."""
    return load([MODULES / "t.yang"])


@pytest.fixture(scope="session")
def wide() -> Model:
    """Return the served modules, t, and u, which has every type and constraint and augments t."""
    return load([MODULES / "t.yang", MODULES / "u.yang"])


@pytest.fixture(scope="session")
def eventful() -> Model:
    """Return the served modules, t, and n, which has a notification inside data."""
    return load([MODULES / "t.yang", MODULES / "n.yang"])


@pytest.fixture
def bench(model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    """Return a commit engine with translators that note what they are asked to do."""
    monkeypatch.setattr(translators.plans, "STEPS", (Note,))
    store = Store(tmp_path / "state")
    yield Bench(model, store, tmp_path / "state")
    store.close()


@pytest.fixture
def short() -> Iterator[Path]:
    """Return a folder whose name leaves room for that of a socket, and which all may enter."""
    folder = Path("/tmp") / f"accel-{os.getpid()}-{os.urandom(4).hex()}"
    folder.mkdir(mode=0o755)
    yield folder
    shutil.rmtree(folder)
