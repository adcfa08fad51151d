"""What is not pushed on change: counters and the like, which change all the time (RFC 8641 3.10)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent.subscriptions.reasons import ON_CHANGE_UNSUPPORTED, UNCHANGING_SELECTION, Refused
from agent.tree import Children, Node

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from agent.filter import Filter
    from agent.model.load import Model
    from agent.model.schema import SchemaNode
    from agent.tree import Key

_DEVICE: Final = "/hardware-acceleration:acceleration/qat/device"
_CPU: Final = "/hardware-acceleration:acceleration/cpu"
_IPSEC: Final = "/hardware-acceleration:acceleration/ipsec"
_MONITORING: Final = "/ietf-netconf-monitoring:netconf-state"
_RECEIVER: Final = "/ietf-subscribed-notifications:subscriptions/subscription/receivers/receiver"
_COUNTERS: Final = (
    f"{_DEVICE}/flows",
    f"{_DEVICE}/interrupt",
    f"{_DEVICE}/heartbeat/sent",
    f"{_CPU}/time",
    f"{_IPSEC}/service/uptime",
    *(f"{_IPSEC}/security-association/{name}" for name in ("bytes-in", "bytes-out", "packets-in", "packets-out")),
    f"{_MONITORING}/statistics",
    *(
        f"{_MONITORING}/sessions/session/{name}"
        for name in ("in-rpcs", "in-bad-rpcs", "out-rpc-errors", "out-notifications")
    ),
    *(f"/ietf-netconf-acm:nacm/denied-{name}" for name in ("operations", "data-writes", "notifications")),
    f"{_RECEIVER}/sent-event-records",
    f"{_RECEIVER}/excluded-event-records",
)
_FIXED: Final = (
    "/ietf-yang-library:yang-library",
    "/ietf-yang-library:modules-state",
    f"{_MONITORING}/capabilities",
    f"{_MONITORING}/schemas",
)


class Volatile:
    """Tells what of a datastore is pushed on change."""

    def __init__(self, model: Model) -> None:
        self._counters = {model.node(path) for path in _COUNTERS}
        self._fixed = {model.node(path) for path in _FIXED}
        self._above = {above for schema in self._counters for above in _ancestors(schema)}

    def check(self, filters: Sequence[Filter] | None) -> None:
        """Raise Refused for a filter that selects nothing which is pushed on change."""
        if not filters:
            return
        if _only(filters, self._counters):
            raise Refused(
                ON_CHANGE_UNSUPPORTED,
                "all that the filter selects changes all the time, as counters do: subscribe to it with <periodic>",
            )
        if _only(filters, self._fixed):
            message = "all that the filter selects stays as it is while the agent runs: read it once"
            raise Refused(UNCHANGING_SELECTION, message)

    def without(self, tree: Node) -> Node:
        """Return a tree without what is not pushed on change; the same object where nothing of that is in it."""
        children: Children = {}
        for schema, child in tree.children.items():
            if schema in self._counters:
                continue
            if schema not in self._above:
                children[schema] = child
            elif isinstance(child, Node):
                children[schema] = self.without(child)
            else:
                entries: dict[Key, Node] = {key: self.without(entry) for key, entry in child.items()}
                children[schema] = entries
        return tree.with_children(children)


def _ancestors(schema: SchemaNode) -> list[SchemaNode]:
    found = []
    parent = schema.parent
    while parent is not None:
        found.append(parent)
        parent = parent.parent
    return found


def _only(filters: Sequence[Filter], schemas: Container[SchemaNode]) -> bool:
    """Return whether filters select nothing but some nodes, and what is below them."""
    for one in filters:
        if one.schema in schemas:
            continue
        below = [child for child in one.children if child.match is None]
        if one.whole or not one.narrow or not below or not _only(below, schemas):
            return False
    return True
