"""What charon tells of by itself: IKE SAs and child SAs that come up, go down or are rekeyed."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Any, Final

from translators.base import Event
from translators.ipsec.tunnels import child_sa, ike_sa
from translators.ipsec.vici import sections

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from translators.base import Tree
    from translators.ipsec.tunnels import ChildSa, IkeSa

# strongSwan: src/libcharon/plugins/vici/README.md, server-issued events.
CHILD_UPDOWN: Final = "child-updown"
CHILD_REKEY: Final = "child-rekey"
NAMES: Final = ("ike-updown", CHILD_UPDOWN, "ike-rekey", CHILD_REKEY)

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
                if name == CHILD_UPDOWN:
                    yield _event(ike, child_sa(ike, key, child), change)
                else:
                    before, after = (child_sa(ike, key, child[age]) for age in _ages(child))
                    yield _event(ike, after, change, before.identity)


def succeeded(name: str, message: dict[str, Any]) -> set[int]:
    """Return the numbers of the child SAs that an event of charon's tells a successor of. Raises as changes."""
    if name != CHILD_REKEY:
        return set()
    return {
        child_sa(ike_sa(connection, section), key, child[_ages(child)[0]]).identity
        for connection, section in message.items()
        if isinstance(section, dict)
        for key, child in sections(section, "child-sas")
    }


class Outages:
    """When tunnels went and came, as charon told: noted by who listens, in another thread than who asks.

    A tunnel is there as long as one of its SAs is: where both sides begin it, it has two for a moment.
    """

    def __init__(self) -> None:
        self._alive: dict[tuple[str, str], set[str]] = {}
        self._down: dict[tuple[str, str], float] = {}
        self._up: dict[tuple[str, str], float] = {}

    def begin(self) -> None:
        """Forget which SAs there are: a charon that was not listened to may have been another one since."""
        self._alive.clear()

    def note(self, name: str, message: dict[str, Any], moment: float) -> None:
        """Note what an event tells; ``moment`` is when it came (Host.monotonic)."""
        for tunnel, child in _children(message):
            alive = self._alive.setdefault(tunnel, set())
            if name == CHILD_REKEY:
                alive.discard(_identity(child.get("old")))
                alive.add(_identity(child.get("new")))
            elif name == CHILD_UPDOWN and message.get("up") == "yes":
                if not alive:
                    self._up[tunnel] = moment
                alive.add(_identity(child))
            elif name == CHILD_UPDOWN:
                alive.discard(_identity(child))
                if not alive:
                    self._down[tunnel] = moment

    def seconds(self, tunnels: Collection[tuple[str, str]], since: float) -> float | None:
        """Return the time from the first of some tunnels going down to the last one coming up again.

        None where charon has not told of each that it has come up since a moment, and has not gone again.
        """
        ups = [self._up.get(tunnel, since) for tunnel in tunnels]
        downs = [max(self._down.get(tunnel, since), since) for tunnel in tunnels]
        if not ups or any(up <= down for up, down in zip(ups, downs, strict=True)):
            return None
        return max(ups) - min(downs)


def _children(message: dict[str, Any]) -> Iterator[tuple[tuple[str, str], dict[str, Any]]]:
    """Yield the tunnels, by connection and child, that an event tells of, with what it says of each."""
    for connection, section in message.items():
        if isinstance(section, dict):
            for key, child in sections(section, "child-sas"):
                # A rekeying has the names within.
                named = child.get("new", child)
                yield (connection, str(named.get("name", key) if isinstance(named, dict) else key)), child


def _identity(child: object) -> str:
    return str(child.get("uniqueid")) if isinstance(child, dict) else ""


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
