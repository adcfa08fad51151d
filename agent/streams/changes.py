"""The notifications about the server itself (RFC 6470, RFC 8525), as RFC 7951 data."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from agent.difference import changes
from agent.tree import instance_path

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from agent.difference import Change
    from agent.session import Session
    from agent.tree import Node
    from translators.base import Tree

MOST_EDITS: Final = 200
"""A netconf-config-change names no more edits.

Where there are more, it names the top-level nodes that they are in, and of each list as many as there is room for.
"""
_OPERATIONS: Final = {"insert": "create", "move": "merge"}
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
    """Return the edits that a notification names: (instance path, edit operation of RFC 6470 2.1).

    A user gets to know of a top-level node that it has changed by those edits in it which the user may see.
    """
    found = [_named(one) for one in islice(changes(before, after), MOST_EDITS + 1)]
    if len(found) <= MOST_EDITS:
        return found
    above = list(islice(_topmost(before, after), MOST_EDITS // 2))
    for most in _IN_EACH_LIST:
        some = islice(changes(before, after, most=most), MOST_EDITS)
        found = [*dict.fromkeys((*above, *map(_named, some)))]
        if len(found) <= MOST_EDITS:
            break
    return found[:MOST_EDITS]


def _named(one: Change) -> tuple[str, str]:
    return one.instance, _OPERATIONS.get(one.operation, one.operation)


def _topmost(before: Node, after: Node) -> Iterator[tuple[str, str]]:
    """Yield each top-level node that was created, deleted, or changed below."""
    for place in dict.fromkeys(one.path[0] for one in changes(before, after, most=1)):
        there = [tree.entries(place[0]).get(place[1]) or tree.one(place[0]) for tree in (before, after)]
        operation = "create" if there[0] is None else "delete" if there[1] is None else "replace"
        yield instance_path("", *place), operation


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
