"""The notifications about the server itself (RFC 6470, RFC 8525), as RFC 7951 data."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from agent.streams.difference import edits, topmost

if TYPE_CHECKING:
    from collections.abc import Collection

    from agent.session import Session
    from agent.tree import Node
    from translators.base import Tree

MOST_EDITS: Final = 200
"""A netconf-config-change names no more edits.

Where there are more, it names the top-level nodes that they are in, and of each list as many as there is room for.
"""
_IN_EACH_LIST: Final = (64, 16, 4, 1)


def session_start(session: Session) -> Tree:
    """Return netconf-session-start."""
    return {"ietf-netconf-notifications:netconf-session-start": _parameters(session)}


def session_end(session: Session, reason: str) -> Tree:
    """Return netconf-session-end; ``reason`` is a termination-reason."""
    killed = {"killed-by": session.killed_by} if reason == "killed" and session.killed_by is not None else {}
    content = {**_parameters(session), **killed, "termination-reason": reason}
    return {"ietf-netconf-notifications:netconf-session-end": content}


def config_change(before: Node, after: Node, by: Session | None, *, datastore: str = "running") -> Tree | None:
    """Return netconf-config-change, None where nothing has changed; ``by`` None is the server itself."""
    found = _edits(before, after)
    if not found:
        return None
    content: dict[str, Any] = {"changed-by": _changed_by(by), "datastore": datastore}
    content["edit"] = [{"target": target, "operation": operation} for target, operation in found]
    return {"ietf-netconf-notifications:netconf-config-change": content}


def _edits(before: Node, after: Node) -> list[tuple[str, str]]:
    """Return the edits that a notification names.

    A user gets to know of a top-level node that it has changed by those edits in it which the user may see.
    """
    found = list(islice(edits(before, after), MOST_EDITS + 1))
    if len(found) <= MOST_EDITS:
        return found
    above = list(islice(topmost(before, after), MOST_EDITS // 2))
    for most in _IN_EACH_LIST:
        found = [*dict.fromkeys((*above, *islice(edits(before, after, most=most), MOST_EDITS)))]
        if len(found) <= MOST_EDITS:
            break
    return found[:MOST_EDITS]


def confirmed_commit(event: str, session: Session | None, *, timeout: int | None = None) -> Tree:
    """Return netconf-confirmed-commit; ``event`` is start, extend, cancel, timeout or complete.

    ``session`` is None for timeout alone; ``timeout`` is in seconds, and there for start and extend.
    """
    content = {**({} if session is None else _parameters(session)), "confirm-event": event}
    if timeout is not None:
        content["timeout"] = timeout
    return {"ietf-netconf-notifications:netconf-confirmed-commit": content}


def capability_change(before: Collection[str], after: Collection[str]) -> Tree | None:
    """Return netconf-capability-change between two lists of capabilities, None where they are the same."""
    added = [uri for uri in after if uri not in before]
    deleted = [uri for uri in before if uri not in after]
    old, new = {_base(uri) for uri in deleted}, {_base(uri) for uri in added}
    kinds = {
        "added-capability": [uri for uri in added if _base(uri) not in old],
        "deleted-capability": [uri for uri in deleted if _base(uri) not in new],
        "modified-capability": [uri for uri in added if _base(uri) in old],
    }
    found = {name: uris for name, uris in kinds.items() if uris}
    if not found:
        return None
    return {"ietf-netconf-notifications:netconf-capability-change": {"changed-by": _changed_by(None), **found}}


def library_update(content_id: str) -> tuple[Tree, Tree]:
    """Return yang-library-update and, for clients of the older library, yang-library-change."""
    return (
        {"ietf-yang-library:yang-library-update": {"content-id": content_id}},
        {"ietf-yang-library:yang-library-change": {"module-set-id": content_id}},
    )


def _changed_by(session: Session | None) -> Tree:
    return {"server": [None]} if session is None else _parameters(session)


def _parameters(session: Session) -> Tree:
    peer = session.peer
    host = {"source-host": peer.source_host} if peer.source_host else {}
    return {"username": peer.username, "session-id": session.id, **host}


def _base(uri: str) -> str:
    return uri.partition("?")[0]
