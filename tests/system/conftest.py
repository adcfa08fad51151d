"""Machines with agents: a test has its own, or the module's, and nothing of it is left afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.system.client import NETCONF, OPEN
from tests.system.gateway import T_MODULE, Gateway

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.system.client import Client

EMPTY = (
    f'<copy-config xmlns="{NETCONF}"><target><candidate/></target>'
    f"<source><config>{OPEN}</config></source></copy-config>"
)


@pytest.fixture
def make_gateway(tmp_path: Path) -> Iterator[Callable[[], Gateway]]:
    """Return the function that makes a place for a machine and its agent; neither is there yet."""
    made: list[Gateway] = []

    def make() -> Gateway:
        made.append(Gateway(tmp_path / f"gateway{len(made)}"))
        return made[-1]

    yield make
    for gateway in made:
        gateway.close()


@pytest.fixture
def gateway(make_gateway: Callable[[], Gateway]) -> Gateway:
    """Return a place for a machine and its agent."""
    return make_gateway()


@pytest.fixture(params=["ssh", "unix"])
def transport(request: pytest.FixtureRequest) -> str:
    """Return each way to reach an agent in turn."""
    return str(request.param)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """Return a served machine with one device, all of whose configuration is taken away after each test."""
    gateway = Gateway(tmp_path_factory.mktemp("shared"))
    try:
        yield gateway.build("c6xx@3d:00.0").start("--module", str(T_MODULE))
    finally:
        gateway.close()


@pytest.fixture
def connect(shared: Gateway) -> Iterator[Callable[[str], Client]]:
    """Return the function that opens a session with the shared agent."""
    yield shared.connect
    shared.disconnect()
    last = shared.connect()
    last.manager.discard_changes()
    last.rpc(EMPTY)
    last.commit()
    assert last.config_text() == ""
    shared.disconnect()


@pytest.fixture
def client(connect: Callable[[str], Client], transport: str) -> Client:
    """Return a session with the shared agent."""
    return connect(transport)
