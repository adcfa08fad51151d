"""Commits by the commit engine on a machine with the kernel's own driver."""

from __future__ import annotations

import asyncio
import re
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from lxml import etree

from agent import edit
from agent.commit import CommitEngine
from agent.datastore import Datastores
from agent.errors import NETCONF, NetconfError
from agent.model.load import load
from agent.store import Store
from agent.tree import Node
from tests.system.client import device, enabled
from tests.translators.in_tree import FOURTH, gateway, says
from translators.registry import TranslatorSettings, translators

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agent.model.load import Model

ADDRESS = FOURTH.partition("@")[2]
KEPT = ("state", "cfg_services", "pm_idle_enabled", "auto_reset")


class Bench:
    """The agent's translators on a machine with a device that is up, and acceleration enabled."""

    def __init__(self, model: Model, store: Store) -> None:
        self.model = model
        self.store = store
        self.host = gateway(FOURTH, state="up", pm_idle_enabled="0", auto_reset="on")
        self.datastores = Datastores(model, self.tree(enabled()))
        self.told: list[Any] = []

    def tree(self, content: str) -> Node:
        config = etree.fromstring(f'<config xmlns="{NETCONF}">{content}</config>')
        return edit.apply(Node(self.model.root), edit.parse(self.model, config, "merge"))

    def commit(self, content: str) -> NetconfError | None:
        async def main() -> None:
            with ThreadPoolExecutor(1) as executor:
                managed = translators(TranslatorSettings())
                engine = CommitEngine(
                    self.datastores, self.store, managed, self.host, readers=executor, committer=executor
                )
                engine.publish = self.told.append
                await engine.commit(self.tree(content))

        try:
            asyncio.run(main())
        except NetconfError as error:
            return error
        return None

    def says(self) -> list[str]:
        return says(self.host, FOURTH, *KEPT)


@pytest.fixture(scope="module")
def model() -> Model:
    return load()


@pytest.fixture
def bench(model: Model, tmp_path: Path) -> Iterator[Bench]:
    store = Store(tmp_path / "state")
    yield Bench(model, store)
    store.close()


def test_off_and_on_again(bench: Bench) -> None:
    assert bench.commit(enabled(False)) is None
    assert bench.says()[0] == "down"
    assert bench.commit(enabled()) is None
    assert bench.says()[0] == "up"


def test_other_services_keep_the_settings_that_going_down_loses(bench: Bench) -> None:
    assert bench.commit(enabled(more=device(ADDRESS, "<services>sym dc</services>"))) is None
    assert bench.says() == ["up", "sym;dc", "0", "on"]


@pytest.mark.parametrize(
    ("refused", "said"),
    [
        ("busy", "step 1 of 3 failed: .*Device or resource busy: the device is in use or being reset"),
        ("words", "step 2 of 3 failed: .*Invalid argument: the device is down, so this kernel's driver does not know"),
    ],
)
def test_what_the_kernel_refuses_leaves_everything_as_it_was(bench: Bench, refused: str, said: str) -> None:
    running = bench.datastores.running
    if refused == "busy":
        bench.host.busy = True
    else:
        bench.host.takes = ("sym;asym", "dc")
    error = bench.commit(enabled(more=device(ADDRESS, "<services>sym dc</services>")))
    assert error is not None
    assert (error.type, error.tag) == ("application", "operation-failed")
    assert "What was done before is undone" in error.message
    assert re.search(said, error.message)
    assert bench.datastores.running is running
    assert bench.says() == ["up", "sym;asym", "0", "on"]


def test_a_device_that_does_not_come_up_again_is_owed(bench: Bench) -> None:
    bench.host.starts = False
    error = bench.commit(enabled(more=device(ADDRESS, "<services>sym dc</services>")))
    assert error is not None
    assert error.tag == "rollback-failed"
    assert f"The machine now: QAT {ADDRESS} is down" in error.message


def test_services_that_no_kernel_takes_are_refused_with_their_path(bench: Bench) -> None:
    error = bench.commit(enabled(more=device(ADDRESS, "<services>sym asym dc</services>")))
    assert error is not None
    assert error.app_tag == "unsupported-services"
    assert error.path is not None
    assert error.path.endswith("/services")
    assert bench.host.written == []
