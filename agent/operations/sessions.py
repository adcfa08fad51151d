"""lock, unlock, close-session, kill-session (RFC 6241 7.5, 7.6, 7.8, 7.9)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent import errors
from agent.messages import OK
from agent.operations.request import text

if TYPE_CHECKING:
    from agent.operations.request import Request


def lock(request: Request) -> bytes:
    """Take a datastore's global lock."""
    name = request.datastore(request.require("target"), request.services.datastores.names)
    owner = request.services.confirmed.owner
    if name == "running" and owner is not None and owner is not request.session:
        known = request.services.sessions.get(owner.id) is owner
        raise errors.lock_denied(owner.id if known else 0, "a confirmed commit of another session is pending")
    committing = request.services.engine.committing
    if name == "running" and committing is not None and committing is not request.session:
        raise errors.lock_denied(committing.id, f"session {committing.id} is committing: try again")
    request.services.datastores.lock(name, request.session, request.services.now())
    return OK


def unlock(request: Request) -> bytes:
    """Give a datastore's global lock back."""
    name = request.datastore(request.require("target"), request.services.datastores.names)
    request.services.datastores.unlock(name, request.session)
    return OK


def close_session(request: Request) -> bytes:
    """Answer ok; the session ends when that is sent."""
    request.parameters()
    request.session.closing = True
    return OK


def kill_session(request: Request) -> bytes:
    """End another session at once."""
    value = text(request.require("session-id"), "")
    number = int(value) if value.isascii() and value.isdigit() else 0
    if number == request.session.id:
        raise errors.invalid_value("a session can't kill itself: use close-session")
    other = request.services.sessions.get(number)
    if other is None:
        raise errors.invalid_value(f"there is no session {value}")
    other.killed_by = request.session.id
    other.end("killed")
    return OK
