"""Which tunnels a plan touches, and whether whoever asks for it is connected through one of them."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Final

from translators.base import Touched
from translators.ipsec.attending import AttendTunnels
from translators.ipsec.keeping import KeepRunning
from translators.ipsec.returning import ExpectTunnels
from translators.ipsec.tunnels import RESPONDER, child_sas, up
from translators.ipsec.vici import Charon
from translators.vici import ViciError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from translators.base import Step
    from translators.host import Host
    from translators.ipsec.tunnels import ChildSa
    from translators.ipsec.vici import Patience

_NAMED: Final = 10
_TCP: Final = frozenset({"tcp", "6", ""})
_RETURN: Final = (
    "Commit with <confirmed/> and a <persist> token, which any later session can confirm: where the tunnel does not "
    "come back, nobody does, and what was before is restored"
)


def touched(
    steps: Sequence[Step], host: Host, ends: tuple[str, str] | None, patience: Patience, *, named: bool
) -> Touched:
    """Return the tunnels that steps touch; ``ends`` are a session's local and remote address. Raises nothing.

    Names of tunnels are told only where it is asked for tunnels that are ``named``.
    """
    expected = next((step for step in steps if isinstance(step, ExpectTunnels | AttendTunnels)), None)
    if expected is None:
        return Touched()
    tunnels = tuple(f"{connection}/{child}" for connection, child, *_role in expected.tunnels) if named else ()
    rekeyed = any(isinstance(step, KeepRunning) for step in steps)
    notes = [] if rekeyed or not named else [*_begun_by_peers(expected)]
    if ends is not None:
        notes += _through(Charon(host, expected.vici, patience), ends, "rekeyed" if rekeyed else "interrupted", named)
    return Touched(tunnels, tuple(notes))


def _begun_by_peers(expected: ExpectTunnels | AttendTunnels) -> Iterator[str]:
    names = [f"{connection}/{child}" for connection, child, role in expected.tunnels if role == RESPONDER]
    if names:
        yield f"tunnels that their peer had begun: {', '.join(names[:_NAMED])}{', …' if len(names) > _NAMED else ''}"


def _through(charon: Charon, ends: tuple[str, str], how: str, named: bool) -> Iterator[str]:  # noqa: FBT001
    """Yield what who is connected through a tunnel is to know."""
    try:
        present = up(child_sas(charon))
    except (ViciError, ValueError) as error:
        yield f"whether this session comes through one of the tunnels can't be told: {error}"
        return
    carrying = [f"{connection}/{child}" for (connection, child), sa in present.items() if _carries(sa, *ends)]
    if carrying:
        names = ", ".join(carrying) if named else "a tunnel"
        yield f"by its addresses this session (from {ends[1]}) comes through {names}, which is {how}. {_RETURN}"


def _carries(child: ChildSa, local: str, remote: str) -> bool:
    return _within(local, child.local_selectors) and _within(remote, child.remote_selectors)


def _within(address: str, selectors: Iterable[str]) -> bool:
    """Return whether a traffic selector of charon's, ``10.1.0.0/16[tcp/830]`` or ``10.1.0.1..10.1.0.9``, has it."""
    try:
        wanted = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    return any(_selects(selector, wanted) for selector in selectors)


def _selects(selector: str, address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    addresses, _, limits = selector.partition("[")
    if limits.partition("/")[0].rstrip("]") not in _TCP:
        return False
    first, _, last = addresses.partition("..")
    try:
        if not last:
            return address in ipaddress.ip_network(first, strict=False)
        low, high = ipaddress.ip_address(first), ipaddress.ip_address(last)
    except ValueError:
        return False
    return low.version == address.version and int(low) <= int(address) <= int(high)
