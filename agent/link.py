"""What a transport and a session see of each other: bytes in, bytes out, and who the peer is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class Peer:
    """An authenticated client.

    ``transport`` is an identity derived from ietf-netconf-monitoring's ``transport``, as ``module:name``;
    ``source_host`` the client's address where there is one (RFC 6022 2.1.4), ``local_host`` the one that it connected
    to. ``recovery`` marks RFC 8341's recovery session: root on the local socket. ``groups`` are the user's Unix groups
    (RFC 8341 external groups).
    """

    username: str
    transport: str
    source_host: str | None = None
    recovery: bool = False
    groups: tuple[str, ...] = ()
    local_host: str | None = None


class Transport(Protocol):
    """The sending half of a connection; asyncio's transports and asyncssh's channels have this shape."""

    def write(self, data: bytes) -> None:
        """Send bytes, buffering what can't be sent at once."""

    def close(self) -> None:
        """Close when what was written has been sent."""

    def abort(self) -> None:
        """Close at once."""

    def pause_reading(self) -> None:
        """Stop delivering received bytes."""

    def resume_reading(self) -> None:
        """Deliver received bytes again."""


class Receiver(Protocol):
    """The receiving half: one NETCONF session; the shape of asyncio.Protocol without connection_made."""

    def data_received(self, data: bytes) -> None:
        """Take bytes from the peer."""

    def eof_received(self) -> None:
        """Take note that the peer sends no more."""

    def connection_lost(self, exc: Exception | None) -> None:
        """Take note that the connection is gone; called once, last."""

    def pause_writing(self) -> None:
        """Take note that the transport's buffer is full."""

    def resume_writing(self) -> None:
        """Take note that the transport's buffer has drained."""


Connect: TypeAlias = "Callable[[Peer, Transport], Receiver]"
"""Called once a client is authenticated and its transport is open; the session sends its hello at once."""
