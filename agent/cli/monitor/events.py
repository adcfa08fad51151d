"""The model's notifications: the subscription to them (RFC 8639), and each of them as a line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lxml import etree

from agent.cli import reply
from agent.cli.schema import NAMESPACE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lxml.etree import _Element as Element

    from agent.cli.reply import Tree

_SUBSCRIBED: Final = "urn:ietf:params:xml:ns:yang:ietf-subscribed-notifications"
REPLAYED: Final = f"{{{_SUBSCRIBED}}}replay-completed"
TERMINATED: Final = f"{{{_SUBSCRIBED}}}subscription-terminated"
_UNKNOWN: Final = "–"


@dataclass(frozen=True, slots=True)
class Event:
    """A notification of the model. ``time`` is its eventTime (RFC 3339); ``data`` is as in ``reply.data``."""

    time: str
    name: str
    data: Tree


def subscription(since: str | None) -> Element:
    """Return the rpc that subscribes to the model's events, with those from a time (RFC 3339) on that have been."""
    rpc = etree.Element(f"{{{_SUBSCRIBED}}}establish-subscription", nsmap={"sn": _SUBSCRIBED})
    etree.SubElement(rpc, f"{{{_SUBSCRIBED}}}stream").text = "NETCONF"
    events = etree.SubElement(rpc, f"{{{_SUBSCRIBED}}}stream-subtree-filter")
    for name in _TEXTS:
        etree.SubElement(events, f"{{{NAMESPACE}}}{name}", nsmap={"ha": NAMESPACE})
    if since is not None:
        etree.SubElement(rpc, f"{{{_SUBSCRIBED}}}replay-start-time").text = since
    return rpc


def kind(notification: Element) -> str:
    """Return the qualified name of what a ``<notification>`` tells, as lxml writes it; empty where it tells nothing."""
    return next((str(child.tag) for child in notification if not str(child.tag).endswith("}eventTime")), "")


def event(notification: Element) -> Event | None:
    """Return the model's event that a ``<notification>`` tells; None where it tells something else."""
    name = kind(notification).removeprefix(f"{{{NAMESPACE}}}")
    if name not in _TEXTS:
        return None
    return Event(notification.findtext("{*}eventTime") or "", name, reply.event(notification, name))


def text(one: Event) -> str:
    """Return what an event tells, in a line; what it leaves out is left out."""
    return _TEXTS[one.name](one.data)


def _device_state(data: Tree) -> str:
    return f"{_device(data)}: {_get(data, 'old-status')} → {_get(data, 'new-status')}{_after(data, 'reason')}"


def _device_error(data: Tree) -> str:
    told = " ".join(str(data[leaf]) for leaf in ("severity", "kind") if leaf in data)
    return f"{_device(data)}: {told} error{_after(data, 'message')}{_after(data, 'advice', '; ')}"


def _acceleration(data: Tree) -> str:
    state = {True: "on", False: "off"}.get(data.get("active"), _UNKNOWN)  # type: ignore[arg-type]  # None is no key
    fallen_back = ", fallen back to software" if data.get("fallback-active") is True else ""
    return f"acceleration is {state}{fallen_back}{_in_brackets(data, 'cause')}"


def _tunnel(data: Tree) -> str:
    numbers = f" {data['id']}" if "id" in data else ""
    numbers += f" (was {data['old-id']})" if "old-id" in data else ""
    name = "/".join(str(data[leaf]) for leaf in ("connection", "child") if leaf in data)
    return f"{name or _UNKNOWN}{numbers}: {_get(data, 'change')}{_after(data, 'remote-address', ', peer ')}"


def _refresh(data: Tree) -> str:
    duration = f" in {data['duration']} ms" if "duration" in data else ""
    counted = {"tunnels-before", "tunnels-after"} & data.keys()
    tunnels = f", tunnels {_get(data, 'tunnels-before')} → {_get(data, 'tunnels-after')}" if counted else ""
    missing = ", ".join(str(one.get("name")) for one in data.get("missing-tunnel", []))
    told = f"IPsec {_get(data, 'method')}: {_get(data, 'outcome')}{duration}{tunnels}"
    return f"{told}; missing: {missing}" if missing else told


def _device(data: Tree) -> str:
    address = _get(data, "address")
    return f"{data['name']} ({address})" if "name" in data else address


def _get(data: Tree, leaf: str) -> str:
    return str(data.get(leaf, _UNKNOWN))


def _after(data: Tree, leaf: str, before: str = ": ") -> str:
    return f"{before}{data[leaf]}" if leaf in data else ""


def _in_brackets(data: Tree, leaf: str) -> str:
    return f" ({data[leaf]})" if leaf in data else ""


_TEXTS: Final[Mapping[str, Callable[[Tree], str]]] = {
    "device-state-change": _device_state,
    "device-error": _device_error,
    "acceleration-change": _acceleration,
    "ipsec-tunnel-change": _tunnel,
    "ipsec-refresh": _refresh,
}
