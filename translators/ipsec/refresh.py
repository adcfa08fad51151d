"""What is done about IPsec around a change of the driver: a restart by its owner, a rekey, or nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from translators.base import Plan, TranslatorError
from translators.host import ProgramTimeoutError
from translators.ipsec.attending import AttendTunnels
from translators.ipsec.keeping import KeepRunning, stopping
from translators.ipsec.owner import OwnerError, daemons, running_owner
from translators.ipsec.rekey import RekeyTunnels
from translators.ipsec.returning import ExpectTunnels, tunnels_up
from translators.ipsec.tunnels import RESPONDER, ike_sas
from translators.sources import SourceError
from translators.systemd import SystemdError
from translators.vici import ViciAbsentError, ViciError

if TYPE_CHECKING:
    from translators.base import Disturbance, Step
    from translators.ipsec.owner import Daemons, Owner
    from translators.ipsec.vici import Charon

# The leaf with which whoever disturbs the service says how it is refreshed.
REFRESH: Final = "/hardware-acceleration:acceleration/qat/ipsec-refresh"
_PARTLY: Final = "strongSwan's starter runs without charon: IPsec is left alone"
_IDLE: Final = "charon runs and has neither a connection nor an SA: IPsec is not configured, and left alone"

_Around = tuple[Plan, Plan]
_Tunnels = tuple[tuple[str, ...], ...]


def around(
    disturbances: tuple[Disturbance, ...], charon: Charon, configured: Owner | None, return_seconds: int
) -> _Around:
    """Return what to do before the first and after the last disturbing step.

    ``configured`` is the owner that the settings name, ``return_seconds`` how long tunnels have to return. Notes
    name no tunnels: who may know them is told by touched. Raises TranslatorError.
    """
    if any(disturbance.by_itself for disturbance in disturbances):
        return _attended(charon.socket, *_listed(charon), return_seconds)
    methods = {disturbance.method for disturbance in disturbances} - {"none"}
    if not methods:
        return Plan(), Plan()
    try:
        owner = running_owner(charon.host, configured)
        if owner is None:
            return Plan(notes=_left_alone(daemons(charon.host), configured)), Plan()
    except OwnerError as error:
        raise TranslatorError(str(error), path=REFRESH) from error
    except (SourceError, SystemdError, OSError, ProgramTimeoutError) as error:
        raise TranslatorError(f"whether IPsec runs can't be told: {error}", path=REFRESH) from error
    enabling = all(disturbance.enabling for disturbance in disturbances)
    tunnels, failure = _listed(charon)
    if tunnels is None:
        return Plan(notes=(_IDLE,)), Plan()
    if methods == {"rekey"} and enabling:
        if failure is not None:
            raise TranslatorError(_not_rekeyed(owner, failure), path=REFRESH) from failure
        return _rekey(owner, ExpectTunnels(charon.socket, tunnels, return_seconds))
    notes = (*_instead(methods, enabling=enabling), *_unknown(failure), *_interruptions(tunnels))
    expected = ExpectTunnels("" if failure is not None else charon.socket, tunnels, return_seconds)
    return _restart(owner, expected, notes)


def _listed(charon: Charon) -> tuple[_Tunnels | None, Exception | None]:
    """Return the tunnels that are up, None where charon has nothing to do at all, and why that can't be told."""
    try:
        tunnels = tunnels_up(charon)
        idle = not tunnels and not charon.connections() and not ike_sas(charon)
    except (ViciError, ValueError) as error:
        return (), error
    return None if idle else tunnels, None


def _left_alone(running: Daemons, configured: Owner | None) -> tuple[str, ...]:
    """Return what is to be known of an IPsec that its owner does not run."""
    if running.charons and configured is not None:
        said = f"{configured.label} does not run, and a charon does that somebody else has started"
        return (f"{said}: IPsec is left alone; see [ipsec] control in the settings",)
    return (_PARTLY,) if running.starters else ()


def _not_rekeyed(owner: Owner, failure: Exception) -> str:
    # Who asks for a rekey does not want a restart's outage: that they would take it instead, only they can say.
    return (
        f"ipsec-refresh is rekey, and charon can't be asked for it: {failure}. Nothing is done. Have charon restarted "
        f"by {owner.label}, or set ipsec-refresh to restart, which does that and interrupts all tunnels, or to none, "
        "with which they keep their SAs until they are next rekeyed"
    )


def _instead(methods: set[str], *, enabling: bool) -> tuple[str, ...]:
    """Return why tunnels that were to be rekeyed are interrupted."""
    if "rekey" not in methods:
        return ()
    reason = "another change asks for a restart" if enabling else "the tunnels have to leave a driver before it stops"
    return (f"ipsec-refresh is rekey, and {reason}: IPsec is restarted instead",)


def _unknown(failure: Exception | None) -> tuple[str, ...]:
    # Without the plugin vici charon works, and there is nobody to ask.
    if failure is None or isinstance(failure, ViciAbsentError):
        return ()
    return (f"which tunnels the restart interrupts can't be told: {failure}",)


def _rekey(owner: Owner, expected: ExpectTunnels) -> _Around:
    if not expected.tunnels:
        return Plan(), Plan()
    keep = KeepRunning(owner.kind, owner.name, expected.vici)
    rekey = RekeyTunnels(owner.kind, owner.name, expected.vici, expected.tunnels)
    return Plan((expected, keep)), Plan((rekey,))


def _restart(owner: Owner, expected: ExpectTunnels, notes: tuple[str, ...]) -> _Around:
    stop = stopping(owner.kind, owner.name, expected.vici)
    expecting: tuple[Step, ...] = (expected,) if expected.tunnels else ()
    waiting = tuple(step.inverse() for step in expecting)
    return Plan((*expecting, stop), notes), Plan((stop.inverse(), *waiting))


def _attended(vici: str, tunnels: _Tunnels | None, failure: Exception | None, return_seconds: int) -> _Around:
    """Return what to do around a restart that a step makes by itself: wait for the tunnels."""
    if not tunnels:
        return Plan(notes=_unknown(failure)), Plan()
    first = AttendTunnels(vici, tunnels, interrupted=False, seconds=return_seconds)
    return Plan((first,), _interruptions(tunnels)), Plan((first.inverse(),))


def _interruptions(tunnels: _Tunnels) -> tuple[str, ...]:
    if not tunnels:
        return ()
    notes = [f"the restart interrupts {len(tunnels)} tunnels"]
    if theirs := sum(role == RESPONDER for *_tunnel, role in tunnels):
        notes.append(
            f"the peer had begun {theirs} of them: with close_action none or trap there, it does not begin them again "
            "by itself"
        )
    return tuple(notes)
