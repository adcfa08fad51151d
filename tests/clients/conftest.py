"""Environments for the clients, gateways for them to work on, and whether they work at all in this run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.clients import environments
from tests.clients.conversation import Conversation
from tests.clients.gateway import login, serve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.conftest import Require
    from tests.system.gateway import Gateway

    Drive = Callable[..., Conversation]

ALL = os.environ.get("ACCEL_AGENT_TEST_ALL") == "1"
HERE = Path(__file__).parent


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Run clients where everything runs, or where they are asked for: a plain run installs no dozen environments."""
    if item.get_closest_marker("clients") is None or ALL or "clients" in item.config.getoption("markexpr"):
        return
    start = item.config.invocation_params.dir
    named = (start / argument.partition("::")[0] for argument in item.config.args)
    if not any(HERE in (path.resolve(), *path.resolve().parents) for path in named):
        pytest.skip("set ACCEL_AGENT_TEST_ALL=1, or name tests/clients: it installs the clients, each on its own")


@pytest.fixture(scope="session")
def environment(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Return the function that skips (or fails) the test when a client's environment can't be made.

    Those of all clients of this run are made at once, two at a time.
    """
    marks = (mark for item in request.session.items for mark in item.iter_markers("clients"))
    wanted = {mark.args[0] for mark in marks if mark.args}
    found = environments.prepare(sorted(wanted))

    def have(client: str) -> None:
        if (error := found[client]) is not None:
            (pytest.fail if ALL else pytest.skip)(str(error))

    return have


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Gateway]:
    """Serve a gateway for one client."""
    gateway = serve(tmp_path / "gateway")
    yield gateway
    gateway.close()


@pytest.fixture
def drive(gateway: Gateway, environment: Callable[[str], None], tmp_path: Path, require: Require) -> Iterator[Drive]:
    """Return the function that starts a client's script."""
    started: list[Conversation] = []
    home = tmp_path / "home"
    home.mkdir()

    def start(client: str, *arguments: str, script: str = "drive.py", needs: tuple[str, ...] = ()) -> Conversation:
        require(*needs)
        environment(client)
        command, more = environments.command(client, script)
        started.append(Conversation([*command, *arguments], login(gateway, home), home, more))
        return started[-1]

    yield start
    for conversation in started:
        conversation.abandon()
