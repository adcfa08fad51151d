"""Events, and the notifications that users get of them (RFC 5277 section 4, RFC 8341 section 3.4.6)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC
from typing import TYPE_CHECKING, Final

from agent.paths import step

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from agent.nacm import Access
    from agent.tree import Node

NAMESPACE: Final = "urn:ietf:params:xml:ns:netconf:notification:1.0"
STREAM: Final = "urn:ietf:params:xml:ns:netmod:notification"
_CONFIG_CHANGE: Final = "{urn:ietf:params:xml:ns:yang:ietf-netconf-notifications}netconf-config-change"
_EDIT: Final = "ietf-netconf-notifications:edit"
_HARDWARE: Final = "hardware-acceleration"
_TUNNELS: Final = f"/{_HARDWARE}:acceleration/ipsec/security-association"
_MISSING: Final = f"{_HARDWARE}:missing-tunnel"


@dataclass(frozen=True, slots=True)
class Event:
    """A notification: a root node with the one notification below it, or with its ancestors (RFC 7950 7.16.2).

    ``number`` counts from 1 and goes on where the agent that ran before ended.
    """

    number: int
    time: datetime
    content: Node


def encoded(event: Event) -> bytes:
    """Return the message that tells of an event."""
    return message(moment(event.time), event.content.xml())


def moment(time: datetime) -> str:
    """Return an eventTime: in UTC, to the microsecond, as events are in order."""
    return time.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def message(time: str, content: bytes) -> bytes:
    """Return a ``<notification>`` around its content, which is XML with namespaces of its own."""
    return b'<notification xmlns="%b"><eventTime>%b</eventTime>%b</notification>' % (
        NAMESPACE.encode(),
        time.encode(),
        content,
    )


def visible(event: Event, access: Access) -> Event | None:
    """Return an event as a user may get it, None for not at all.

    The ancestors of a notification in the data have to be readable, the device that it names, and what edits of a
    configuration are about; tunnels are named to those who may read the list of them. What is not readable in a
    notification is left out, unless all of it is: then the rule about its kind alone decides.
    """
    if access.unrestricted:
        return event
    _root, *ancestors, notification = _chain(event.content)
    if not access.may_receive(notification.schema, ancestors) or not access.may_see(_device(notification)):
        return None
    content = access.readable(event.content)
    if _chain(content)[-1].schema is not notification.schema:
        content = event.content
    content = _without_tunnels(content, access)
    if notification.schema.tag == _CONFIG_CHANGE:
        reduced = _edits_of_readable(_chain(content)[-1], access)
        if reduced is None:
            return None
        content = content.with_children({reduced.schema: reduced})
    return replace(event, content=content)


def _edits_of_readable(change: Node, access: Access) -> Node | None:
    """Return a netconf-config-change without the edits of what is not readable; None where none is left."""
    schema = change.schema.member(_EDIT)
    edits = change.entries(schema) if schema is not None else {}
    if schema is None or not edits:
        return change
    kept = {key: edit for key, edit in edits.items() if access.may_see(_target(edit))}
    hidden = [_target(edit) for key, edit in edits.items() if key not in kept]
    seen = [_target(edit) for edit in kept.values()]
    for key, edit in tuple(kept.items()):
        # What sums up others is told to those who can see one of them.
        below = f"{_target(edit)}/"
        if not _is_move(edit) and _any(below, hidden) and not _any(below, seen):
            del kept[key]
    return change.with_children({**change.children, schema: kept}) if kept else None


def _without_tunnels(content: Node, access: Access) -> Node:
    """Return a notification without the tunnels that it names, unless the user may read which there are."""
    notification = _chain(content)[-1]
    missing = notification.schema.member(_MISSING)
    if missing is None or missing not in notification.children or access.may_see(_TUNNELS):
        return content
    kept = {schema: child for schema, child in notification.children.items() if schema is not missing}
    return content.with_children({notification.schema: notification.with_children(kept)})


def _is_move(edit: Node) -> bool:
    operation = edit.find("operation")
    return operation is not None and operation.value == "merge"


def _any(start: str, targets: Iterable[str]) -> bool:
    return any(target.startswith(start) for target in targets)


def _device(notification: Node) -> str:
    """Return the instance path of the device that a notification names; that of everything where it names none."""
    address = notification.find("address") if notification.schema.module.name == _HARDWARE else None
    if address is None:
        return ""
    return f"/{_HARDWARE}:acceleration/qat" + step("device", [("address", address.value or "")])


def _target(edit: Node) -> str:
    target = edit.find("target")
    return "" if target is None else target.value or ""


def _chain(content: Node) -> list[Node]:
    """Return the root, the ancestors and the notification."""
    chain = [content]
    while chain[-1].schema.kind != "notification":
        below = next((child for child in chain[-1].all() if not child.schema.is_leaf), None)
        if below is None:
            break
        chain.append(below)
    return chain
