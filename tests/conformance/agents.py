"""Served machines for the rows that need one of their own: to restart, to kill, or with other settings."""

from __future__ import annotations

import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.conformance.session import Session
from tests.system.client import DEADLINE, MONITORING, OPEN
from tests.system.gateway import T_MODULE, Gateway

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MODULES = Path(__file__).parent / "modules"
E_MODULE, F_MODULE = MODULES / "e.yang", MODULES / "f.yang"
OLDER, NEWER = MODULES / "older.yang", MODULES / "newer.yang"
SHARED = (MODULES / "shared@2020-01-01.yang", MODULES / "shared@2021-01-01.yang")
EMPTY = f"<copy-config><target><candidate/></target><source><config>{OPEN}</config></source></copy-config>"
CLOSE = "<close-session/>"


class Agent:
    """A served machine with one device, and sessions with its agent."""

    def __init__(self, gateway: Gateway, modules: tuple[Path, ...]) -> None:
        self.gateway = gateway
        self._flags = [word for path in modules for word in ("--module", str(path))]
        self._sessions: list[Session] = []

    def start(self) -> None:
        """Start the agent."""
        self.gateway.start(*self._flags)

    def session(self, **options: Any) -> Session:
        """Open a session."""
        self._sessions.append(Session(self.gateway.socket, **options))
        return self._sessions[-1]

    def restart(self, *, kill: bool = False) -> None:
        """End the agent, as an operator or as a crash does, and start the next one."""
        if kill:
            self.gateway.kill()
        else:
            self.gateway.stop()
        self.hang_up()
        self.start()

    def hang_up(self) -> None:
        """End all sessions as a crash of their clients does."""
        while self._sessions:
            self._sessions.pop().close()

    def clear(self) -> None:
        """End all sessions and empty the configuration."""
        self.hang_up()
        last = self.session()
        until(lambda: live(last) == [last.id], "the sessions end")
        last.ok("<discard-changes/>", EMPTY, "<commit/>")
        assert last.config(source="running") == ""
        self.hang_up()


@contextmanager
def serving(folder: Path, *modules: Path, settings: str = "") -> Iterator[Agent]:
    """Serve a machine; nothing of it is left afterwards."""
    gateway = Gateway(folder)
    agent = Agent(gateway, (T_MODULE, *modules))
    if settings:
        gateway.settings.write_text(settings)
    try:
        gateway.build("c6xx@3d:00.0")
        agent.start()
        yield agent
    finally:
        agent.hang_up()
        gateway.close()


def lock(name: str) -> str:
    """Return a lock request."""
    return f"<lock><target><{name}/></target></lock>"


def unlock(name: str) -> str:
    """Return an unlock request."""
    return f"<unlock><target><{name}/></target></unlock>"


def confirmed(more: str = "") -> str:
    """Return a confirmed commit."""
    return f"<commit><confirmed/>{more}</commit>"


def live(session: Session) -> list[int]:
    """Return the ids of the sessions that the agent has."""
    wanted = (
        f'<netconf-state xmlns="{MONITORING}"><sessions><session><session-id/></session></sessions></netconf-state>'
    )
    reply = session.ask(f"<get><filter>{wanted}</filter></get>")
    return sorted(int(e.text or "") for e in reply.iter(f"{{{MONITORING}}}session-id"))


def until(condition: Callable[[], object], what: str, *, seconds: float = DEADLINE) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{what}: not within {seconds:g} s"
        time.sleep(0.01)
