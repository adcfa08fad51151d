"""What came of a refresh: seen on the machine, tunnel by tunnel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from translators.base import Event
from translators.ipsec.attending import AttendTunnels
from translators.ipsec.keeping import KeepRunning
from translators.ipsec.rekey import RekeyTunnels
from translators.ipsec.returning import BACK, ExpectTunnels, returned
from translators.ipsec.tunnels import child_sas, up
from translators.ipsec.vici import Charon, Patience
from translators.vici import ViciError

if TYPE_CHECKING:
    from translators.base import Refresh, Tree
    from translators.host import Host
    from translators.ipsec.events import Outages

_NAMED: Final = 10
_SEVERITIES: Final = {"succeeded": "info", "partial": "warning", "failed": "error"}
_DONE: Final = {"restart": "restarted", "rekey": "rekeyed"}


@dataclass(frozen=True, slots=True)
class Refreshed:
    """How many tunnels carried traffic before and after, and why each of the others is not as it should be, by name.

    Without a charon that answers, ``before`` and ``after`` are None.
    """

    method: str
    before: int | None = None
    after: int | None = None
    missing: tuple[tuple[str, str], ...] = ()

    @property
    def outcome(self) -> str:
        """The model's word for what came of it, where IPsec runs."""
        return "partial" if self.missing or self.before != self.after else "succeeded"


def event(refresh: Refresh, host: Host, outages: Outages, *, runs: bool) -> Event | None:
    """Return what came of a refresh, None where IPsec was left alone; ``runs`` is whether it runs now."""
    took = refresh.ended - refresh.began
    try:
        found = refreshed(refresh, host)
    except (ViciError, ValueError) as error:
        return _told(Refreshed(_method(refresh)), took, "failed", f"what its tunnels do can't be told: {error}")
    if found is None:
        return None
    if found.method == "restart" and not found.missing:
        # A step is over some time after its tunnels have gone, or come: starting IPsec goes on meanwhile.
        expected = _expecting(refresh)
        tunnels = [] if expected is None else [(connection, child) for connection, child, *_role in expected.tunnels]
        heard = outages.seconds(tunnels, refresh.began)
        took = took if heard is None else heard
    remarks = [f"{name}: {reason}" for name, reason in found.missing[:_NAMED]]
    remarks += ["…"] if len(found.missing) > _NAMED else []
    return _told(found, took, found.outcome if runs else "failed", "; ".join(remarks))


def refreshed(refresh: Refresh, host: Host) -> Refreshed | None:
    """Return what the tunnels do now, None where nothing was done to them. Raises ViciError, ValueError."""
    rekeyed = next((step for step in refresh.steps if isinstance(step, RekeyTunnels)), None)
    if rekeyed is not None and not refresh.undone:
        return _rekeyed(rekeyed, host, refresh.ended - refresh.began)
    if rekeyed is None and any(isinstance(step, KeepRunning) for step in refresh.steps):
        return None
    expected = _expecting(refresh)
    if expected is None:
        return Refreshed("restart")
    if isinstance(expected, AttendTunnels) and _untouched(expected, host, refresh.ended - refresh.began):
        return None
    found = returned(Charon(host, expected.vici, Patience()), expected.tunnels)
    missing = tuple((tunnel.name, tunnel.reason) for tunnel in found if tunnel.result != BACK)
    return Refreshed("restart", len(found), len(found) - len(missing), missing)


def _expecting(refresh: Refresh) -> ExpectTunnels | AttendTunnels | None:
    return next((step for step in refresh.steps if isinstance(step, ExpectTunnels | AttendTunnels)), None)


def _rekeyed(step: RekeyTunnels, host: Host, seconds: float) -> Refreshed:
    present = up(child_sas(Charon(host, step.vici, Patience())))
    missing = []
    for connection, child, *_role in step.tunnels:
        now = present.get((connection, child))
        if now is None:
            missing.append((f"{connection}/{child}", "it has no SA now"))
        # charon tells whole seconds.
        elif now.installed is not None and now.installed > seconds + 1:
            missing.append((f"{connection}/{child}", "it still has its old SA, and moves at its next rekeying"))
    kept = sum((connection, child) in present for connection, child, *_role in step.tunnels)
    return Refreshed("rekey", len(step.tunnels), kept, tuple(missing))


def _untouched(step: AttendTunnels, host: Host, seconds: float) -> bool:
    """Return whether the tunnels still have their SAs of before, so that nobody has restarted IPsec."""
    present = up(child_sas(Charon(host, step.vici, Patience())))
    found = [present.get((connection, child)) for connection, child, *_role in step.tunnels]
    # charon tells whole seconds.
    return all(sa is not None and sa.installed is not None and sa.installed > seconds + 1 for sa in found)


def _method(refresh: Refresh) -> str:
    rekeyed = any(isinstance(step, RekeyTunnels) for step in refresh.steps)
    # What undoes a rekey is a restart.
    return "rekey" if rekeyed and not refresh.undone else "restart"


def _told(found: Refreshed, seconds: float, outcome: str, remarks: str) -> Event:
    milliseconds = round(seconds * 1000)
    content: Tree = {"method": found.method, "outcome": outcome, "duration": milliseconds}
    counted = ""
    if found.before is not None:
        content |= {"tunnels-before": found.before, "tunnels-after": found.after}
        counted = f", {found.after} of {found.before} tunnels are up"
    if found.missing:
        content["missing-tunnel"] = [{"name": name, "reason": reason} for name, reason in found.missing]
    said = f"IPsec was {_DONE[found.method]} within {milliseconds} ms{counted}: {outcome}"
    text = f"{said}; {remarks}" if remarks else said
    return Event(_SEVERITIES[outcome], text, {"hardware-acceleration:ipsec-refresh": content})
