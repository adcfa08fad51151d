"""What came of a refresh: seen on the machine, tunnel by tunnel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from translators.ipsec.rekey import RekeyTunnels
from translators.ipsec.returning import BACK, MISSING, AwaitTunnels, returned
from translators.ipsec.tunnels import child_sas, up
from translators.ipsec.vici import Charon

if TYPE_CHECKING:
    from collections.abc import Iterable

    from translators.base import Step
    from translators.host import Host


@dataclass(frozen=True, slots=True)
class Refreshed:
    """How many tunnels carried traffic before and after, and a line about each that is not as it should be."""

    method: str
    before: int
    after: int
    remarks: tuple[str, ...]


def refreshed(steps: Iterable[Step], host: Host, seconds: float) -> Refreshed | None:
    """Return what came of the steps of a refresh that took so long; None where none of them concerns tunnels.

    Raises ViciError, ValueError.
    """
    for step in steps:
        if isinstance(step, AwaitTunnels):
            found = returned(Charon(host, step.vici), step.tunnels)
            missing = tuple(str(tunnel) for tunnel in found if tunnel.result == MISSING)
            return Refreshed("restart", len(found), sum(tunnel.result == BACK for tunnel in found), missing)
        if isinstance(step, RekeyTunnels):
            return _rekeyed(step, Charon(host, step.vici), seconds)
    return None


def _rekeyed(step: RekeyTunnels, charon: Charon, seconds: float) -> Refreshed:
    present = up(child_sas(charon))
    remarks = []
    for connection, child, *_role in step.tunnels:
        now = present.get((connection, child))
        if now is None:
            remarks.append(f"{connection}/{child}: it has no SA now")
        # charon tells whole seconds.
        elif now.installed is not None and now.installed > seconds + 1:
            remarks.append(f"{connection}/{child}: it still has its old SA, and moves at its next rekeying")
    kept = sum((connection, child) in present for connection, child, *_role in step.tunnels)
    return Refreshed("rekey", len(step.tunnels), kept, tuple(remarks))
