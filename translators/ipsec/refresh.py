"""What is done about IPsec around a change of the driver: a restart by its owner, a rekey, or nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from translators.base import Plan, TranslatorError
from translators.host import ProgramTimeoutError
from translators.ipsec.attending import AttendTunnels
from translators.ipsec.control import RUNNING
from translators.ipsec.keeping import KeepRunning, stopping
from translators.ipsec.owner import OwnerError, daemons, find_owner, state_of
from translators.ipsec.rekey import RekeyTunnels
from translators.ipsec.returning import ExpectTunnels, tunnels_up
from translators.ipsec.tunnels import RESPONDER
from translators.ipsec.vici import Charon
from translators.sources import SourceError
from translators.systemd import SystemdError
from translators.vici import ViciAbsentError, ViciError

if TYPE_CHECKING:
    from translators.base import Disturbance, Step
    from translators.host import Host
    from translators.ipsec.owner import Owner

# The leaf with which whoever disturbs the service says how it is refreshed.
REFRESH: Final = "/hardware-acceleration:acceleration/qat/ipsec-refresh"
_NAMED: Final = 10
_PARTLY: Final = "strongSwan's starter runs without charon: IPsec is left alone"

_Around = tuple[Plan, Plan]
_Tunnels = tuple[tuple[str, ...], ...]


def around(disturbances: tuple[Disturbance, ...], host: Host, configured: Owner | None, vici: str) -> _Around:
    """Return what to do before the first and after the last disturbing step.

    ``configured`` is the owner that the settings name. Raises TranslatorError.
    """
    if any(disturbance.by_itself for disturbance in disturbances):
        return _attended(vici, *_tunnels(Charon(host, vici)))
    methods = {disturbance.method for disturbance in disturbances} - {"none"}
    if not methods:
        return Plan(), Plan()
    try:
        owner = _running_owner(host, configured)
        if owner is None:
            partly = configured is None and bool(daemons(host).starters)
            return Plan(notes=(_PARTLY,) if partly else ()), Plan()
    except OwnerError as error:
        raise TranslatorError(str(error), path=REFRESH) from error
    except (SourceError, SystemdError, OSError, ProgramTimeoutError) as error:
        raise TranslatorError(f"whether IPsec runs can't be told: {error}", path=REFRESH) from error
    tunnels, failure = _tunnels(Charon(host, vici))
    obstacle = _obstacle(methods, disturbances, failure)
    if obstacle is None:
        return _rekey(owner, vici, tunnels)
    return _restart(owner, "" if failure is not None else vici, tunnels, (obstacle,) if obstacle else ())


def _running_owner(host: Host, configured: Owner | None) -> Owner | None:
    if configured is None:
        return find_owner(host)
    return configured if state_of(configured, host) == RUNNING else None


def _tunnels(charon: Charon) -> tuple[_Tunnels, ViciError | ValueError | None]:
    """Return the tunnels that are up, and why that can't be told."""
    try:
        return tunnels_up(charon), None
    except (ViciError, ValueError) as error:
        return (), error


def _obstacle(methods: set[str], disturbances: tuple[Disturbance, ...], failure: Exception | None) -> str | None:
    """Return None for a rekey, else what is to be said of the restart, which may be nothing."""
    if "rekey" not in methods:
        return _unknown(failure)
    if not all(disturbance.enabling for disturbance in disturbances):
        reason = "the tunnels have to leave a driver before it stops"
    elif failure is not None:
        reason = str(failure)
    elif methods != {"rekey"}:
        reason = "another change asks for a restart"
    else:
        return None
    return f"ipsec-refresh is rekey, and {reason}: IPsec is restarted instead"


def _rekey(owner: Owner, vici: str, tunnels: _Tunnels) -> _Around:
    if not tunnels:
        return Plan(), Plan()
    keep = KeepRunning(owner.kind, owner.name, vici)
    rekey = RekeyTunnels(owner.kind, owner.name, vici, tunnels)
    return Plan((ExpectTunnels(vici, tunnels), keep)), Plan((rekey,))


def _restart(owner: Owner, vici: str, tunnels: _Tunnels, notes: tuple[str, ...]) -> _Around:
    stop = stopping(owner.kind, owner.name, vici)
    expecting: tuple[Step, ...] = (ExpectTunnels(vici, tunnels),) if tunnels else ()
    waiting = tuple(step.inverse() for step in expecting)
    return Plan((*expecting, stop), (*notes, *_interruptions(tunnels))), Plan((stop.inverse(), *waiting))


def _attended(vici: str, tunnels: _Tunnels, failure: Exception | None) -> _Around:
    """Return what to do around a restart that a step makes by itself: wait for the tunnels."""
    if not tunnels:
        return Plan(notes=tuple(filter(None, (_unknown(failure),)))), Plan()
    first = AttendTunnels(vici, tunnels, interrupted=False)
    return Plan((first,), _interruptions(tunnels)), Plan((first.inverse(),))


def _unknown(failure: Exception | None) -> str:
    # Without the plugin vici charon works, and there is nobody to ask.
    told = failure is None or isinstance(failure, ViciAbsentError)
    return "" if told else f"which tunnels the restart interrupts can't be told: {failure}"


def _interruptions(tunnels: _Tunnels) -> tuple[str, ...]:
    if not tunnels:
        return ()
    notes = [f"the restart interrupts {len(tunnels)} tunnels: {_named(tunnels)}"]
    theirs = tuple(tunnel for tunnel in tunnels if tunnel[2] == RESPONDER)
    if theirs:
        notes.append(
            f"the peer had begun {len(theirs)} of them ({_named(theirs)}): with close_action none or trap there, it "
            "does not begin them again by itself"
        )
    return tuple(notes)


def _named(tunnels: _Tunnels) -> str:
    names = [f"{connection}/{child}" for connection, child, _role in tunnels[:_NAMED]]
    return ", ".join(names) + (", …" if len(tunnels) > _NAMED else "")
