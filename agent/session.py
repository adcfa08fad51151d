"""Who is connected: sessions, their counters, and the numbers that netconf-state reports (RFC 6022)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

    from agent.link import Peer

LAST_SESSION_ID = 4294967295


class SessionLimitError(Exception):
    """No further session is taken, in words."""


@dataclass(slots=True)
class Counters:
    """RFC 6022's common counters, of a session or of the whole server."""

    in_rpcs: int = 0
    in_bad_rpcs: int = 0
    out_rpc_errors: int = 0
    out_notifications: int = 0


def _nobody(_notification: bytes) -> None:
    """Send nothing."""


@dataclass(slots=True, eq=False)
class Session:
    """One NETCONF session. ``end`` closes it from outside, with RFC 6470's termination reason.

    ``closing``: the session asked to be closed, and is once the reply in hand is sent; ``ended``: it is closed.
    ``notify`` sends a notification, behind what was answered before. While the session is not ``writable`` its peer
    does not keep up with what it is sent; the functions in ``drained`` are called when it does again, and when it has
    ended. ``subscriptions`` counts what is subscribed to: a session that only listens is not idle; ``listens`` is
    whether one of them is by RFC 5277's create-subscription, beside which there is no other. ``killed_by`` is the id of
    the session that ended this one.
    """

    id: int
    peer: Peer
    login_time: datetime
    end: Callable[[str], None]
    counters: Counters = field(default_factory=Counters)
    closing: bool = False
    ended: bool = False
    notify: Callable[[bytes], None] = _nobody
    writable: bool = True
    subscriptions: int = 0
    listens: bool = False
    killed_by: int | None = None
    drained: list[Callable[[], None]] = field(default_factory=list)


class Sessions:
    """All live sessions and the server's totals."""

    def __init__(self, *, limit: int, limit_per_user: int, started: datetime) -> None:
        self.started = started
        self.totals = Counters()
        self.in_sessions = 0
        self.in_bad_hellos = 0
        self.dropped_sessions = 0
        self._limit = limit
        self._limit_per_user = limit_per_user
        self._live: dict[int, Session] = {}
        self._last_id = 0

    def __iter__(self) -> Iterator[Session]:
        return iter(tuple(self._live.values()))

    def __len__(self) -> int:
        return len(self._live)

    def get(self, session_id: int) -> Session | None:
        """Return a live session."""
        return self._live.get(session_id)

    def open(self, peer: Peer, *, now: datetime, end: Callable[[str], None]) -> Session:
        """Register a new session. Raises SessionLimitError."""
        if len(self._live) >= self._limit:
            raise SessionLimitError(f"{self._limit} sessions are open, which is the limit ([limits] sessions)")
        if sum(session.peer.username == peer.username for session in self) >= self._limit_per_user:
            raise SessionLimitError(
                f"{peer.username} has {self._limit_per_user} sessions open, the limit ([limits] sessions-per-user)"
            )
        self._last_id = self._last_id % LAST_SESSION_ID + 1
        while self._last_id in self._live:
            self._last_id = self._last_id % LAST_SESSION_ID + 1
        session = Session(self._last_id, peer, now, end)
        self._live[session.id] = session
        return session

    def close(self, session: Session, *, dropped: bool) -> None:
        """Forget a session; ``dropped``: it ended without close-session (RFC 6022 dropped-sessions)."""
        if self._live.pop(session.id, None) is not None and dropped:
            self.dropped_sessions += 1
