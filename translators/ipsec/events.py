"""What charon tells of by itself: IKE SAs and child SAs that come up, go down or are rekeyed."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Any, Final

from translators.base import Event
from translators.ipsec.tunnels import child_sa, ike_sa
from translators.ipsec.vici import sections

if TYPE_CHECKING:
    from collections.abc import Iterator

    from translators.base import Tree
    from translators.ipsec.tunnels import ChildSa, IkeSa

# strongSwan: src/libcharon/plugins/vici/README.md, server-issued events.
NAMES: Final = ("ike-updown", "child-updown", "ike-rekey", "child-rekey")

_WORDS: Final = {"up": "is up", "down": "is down", "rekeyed": "was rekeyed"}


def changes(name: str, message: dict[str, Any]) -> Iterator[Event]:
    """Yield what an event of charon's tells. Raises ValueError for one that lacks what every SA has."""
    change = "rekeyed" if name.endswith("-rekey") else "up" if message.get("up") == "yes" else "down"
    for connection, section in message.items():
        if not isinstance(section, dict):
            continue
        if name == "ike-updown":
            yield _event(ike_sa(connection, section), None, change)
        elif name == "ike-rekey":
            old, new = (ike_sa(connection, section[age]) for age in _ages(section))
            yield _event(new, None, change, old.identity)
        else:
            ike = ike_sa(connection, section)
            for key, child in sections(section, "child-sas"):
                if name == "child-updown":
                    yield _event(ike, child_sa(ike, key, child), change)
                else:
                    before, after = (child_sa(ike, key, child[age]) for age in _ages(child))
                    yield _event(ike, after, change, before.identity)


def _ages(section: dict[str, Any]) -> tuple[str, str]:
    if not (isinstance(section.get("old"), dict) and isinstance(section.get("new"), dict)):
        raise ValueError("charon tells of a rekeying without an old and a new SA")
    return "old", "new"


def _event(ike: IkeSa, child: ChildSa | None, change: str, old: int | None = None) -> Event:
    name = ike.connection if child is None else "/".join(child.tunnel)
    content: Tree = {"connection": ike.connection}
    if child is not None:
        content["child"] = child.name
    content |= {"change": change, "id": ike.identity if child is None else child.identity}
    if old is not None:
        content["old-id"] = old
    remote = _address(ike.remote_address)
    if remote is not None:
        content["remote-address"] = remote
    kind = "IKE SA" if child is None else "tunnel"
    return Event("info", f"{kind} {name} {_WORDS[change]}", {"hardware-acceleration:ipsec-tunnel-change": content})


def _address(text: str | None) -> str | None:
    try:
        return None if text is None else str(ipaddress.ip_address(text))
    except ValueError:
        return None
