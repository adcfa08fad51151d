"""One agent for all rows; a test finds it empty, and whatever it leaves is taken away."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.conformance.access import Guarded, guarded
from tests.conformance.agents import EMPTY, Agent, serving
from tests.conformance.partial import START
from tests.conformance.session import Session
from tests.system.gateway import T_MODULE, Gateway

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MODULES = (T_MODULE, T_MODULE.with_name("u.yang"), Path(__file__).parent / "modules/v.yang")
LIMITS = "[limits]\nhello-timeout = 2\nsessions = 512\nsessions-per-user = 512\nmessage-size = '4 MiB'\n"


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """Return a served machine without devices, whose agent has the modules t, u and v."""
    gateway = Gateway(tmp_path_factory.mktemp("conformance")).build()
    gateway.settings.write_text(LIMITS)
    try:
        yield gateway.start(*(word for module in MODULES for word in ("--module", str(module))))
    finally:
        gateway.close()


@pytest.fixture
def dial(served: Gateway) -> Iterator[Callable[..., Session]]:
    """Return the function that opens a session; its options are Session's."""
    made: list[Session] = []

    def connect(**options: Any) -> Session:
        made.append(Session(served.socket, **options))
        return made[-1]

    yield connect
    for session in made:
        session.close()
    last = Session(served.socket)
    last.ok("<discard-changes/>")
    if last.config(source="running"):
        last.ok(EMPTY, "<commit/>")
    last.ok("<close-session/>")
    last.close()


@pytest.fixture
def session(request: pytest.FixtureRequest) -> Session:
    """Return a session in chunked framing: with the agent of the test's module where it says that it uses ``agent``."""
    if "agent" in request.fixturenames:
        own: Agent = request.getfixturevalue("agent")
        return own.session()
    dial: Callable[..., Session] = request.getfixturevalue("dial")
    return dial()


@pytest.fixture(scope="module")
def machine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    """Return an agent of the module's own, with a device: what it does to locks and running is nobody else's.

    The module may say ``AGENT_MODULES``, further YANG files, and ``AGENT_SETTINGS``.
    """
    modules, settings = (getattr(request.module, name, "") for name in ("AGENT_MODULES", "AGENT_SETTINGS"))
    with serving(tmp_path_factory.mktemp("machine"), *modules, settings=settings) as own:
        yield own


@pytest.fixture
def agent(machine: Agent) -> Iterator[Agent]:
    """Return that agent with an empty configuration."""
    yield machine
    machine.clear()


@pytest.fixture
def other(agent: Agent) -> Session:
    """Return another session than the test's first."""
    return agent.session()


@pytest.fixture(scope="module")
def guarded_machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    """Return an agent of the module's own with users."""
    with guarded(tmp_path_factory.mktemp("guarded")) as served:
        yield served


@pytest.fixture
def gate(guarded_machine: Guarded) -> Iterator[Guarded]:
    """Return that agent without rules for the users, and none of their sessions afterwards."""
    guarded_machine.configure()
    yield guarded_machine
    guarded_machine.close()


@pytest.fixture
def owner(agent: Agent) -> Session:
    """Return one session, with running filled for the rows of partial locks."""
    session = agent.session()
    session.fill(START)
    return session
