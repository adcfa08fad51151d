"""Who runs charon: a unit of systemd, strongSwan's starter, or something that can't be acted on.

A unit whose main process is charon, or the starter above it, owns it. That charon merely runs *in* a unit proves
nothing: a starter that somebody started by hand stays in the unit of their shell, or of the agent itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from translators.ipsec import control
from translators.ipsec.control import STARTER, Control, find_starter
from translators.sources import SourceError, read_attribute, read_link_name, read_names
from translators.systemd import SystemdError

if TYPE_CHECKING:
    from translators.host import Host
    from translators.systemd import Systemd, Unit

UNIT: Final = "systemd"
# In the order in which they are asked for when charon does not run. Debian and VyOS, RHEL, old packages.
UNITS: Final = ("strongswan.service", "strongswan-starter.service", "strongswan-swanctl.service", "ipsec.service")

_BY_SYSTEMD: Final = "charon-systemd"
_CHARON: Final = frozenset({"charon", _BY_SYSTEMD})
_TICKS: Final = 100  # USER_HZ, which is 100 on every architecture that strongSwan runs on


class OwnerError(Exception):
    """Who runs charon can't be told, or charon is run by nobody who can stop and start it: the text says why."""


@dataclass(frozen=True, slots=True)
class Owner:
    """Who is told to stop and start charon; ``kind`` is UNIT, STARTER or PROGRAM.

    ``name`` is the unit, or the program that is run with stop and start; empty for a starter that is to be found.
    """

    kind: str
    name: str

    @property
    def label(self) -> str:
        """The owner's name for people."""
        return "strongswan-starter" if self.kind == STARTER else self.name


@dataclass(frozen=True, slots=True)
class Daemons:
    """The processes of strongSwan on this machine, in its own process space."""

    charons: tuple[int, ...]
    starters: tuple[int, ...]


def daemons(host: Host) -> Daemons:
    """Return which processes of strongSwan run. Raises SourceError."""
    own = read_link_name(host, "/proc/self/ns/pid")
    charons, starters = {control.charon_pid(host)}, {control.starter_pid(host)}
    for name in read_names(host, "/proc") or ():
        if not name.isdigit():
            continue
        program = read_attribute(host, f"/proc/{name}/comm")
        # A container's charon is seen here too, and is none of this machine's business.
        if program in {*_CHARON, "starter"} and (
            own is None or read_link_name(host, f"/proc/{name}/ns/pid") in {own, None}
        ):
            (starters if program == "starter" else charons).add(int(name))
    return Daemons(*(tuple(sorted(pid for pid in pids if pid is not None)) for pids in (charons, starters)))


def find_owner(host: Host) -> Owner | None:
    """Return who runs the charon that runs; None where none runs.

    Raises OwnerError where nobody is found who can act on it, or more than one runs; SourceError, OSError.
    """
    running = daemons(host)
    if not running.charons:
        return None
    if len(running.charons) > 1:
        numbers = ", ".join(map(str, running.charons))
        raise OwnerError(
            f"more than one charon runs (processes {numbers}): only one of them has the ports and the control socket. "
            "End the one that is not meant to run, and restart the other"
        )
    unit = _owning_unit(host.systemd(), running)
    if unit is not None:
        return Owner(UNIT, unit)
    control = find_starter(host)
    # The starter's is another program: beside a starter it is that of somebody who is not known.
    by_hand = read_attribute(host, f"/proc/{running.charons[0]}/comm") == _BY_SYSTEMD
    if running.starters and control is not None and not by_hand:
        return Owner(STARTER, control.program)
    raise OwnerError(
        f"charon (process {running.charons[0]}) is run neither by a unit of systemd nor by strongSwan's starter"
        + (", whose program ipsec is not installed" if running.starters and control is None else "")
        + ". Set [ipsec] control in the settings to systemd:UNIT, or to program:PATH with a program that starts, stops "
        "and tells the state of what runs it, or ipsec-refresh to none to leave IPsec alone"
    )


def running_owner(host: Host, configured: Owner | None) -> Owner | None:
    """Return who is to be told to stop and start the charon that runs; None where none runs.

    ``configured`` is the owner that the settings name. Raises OwnerError also where that is the starter, and charon is
    another one's; SourceError, SystemdError, OSError, ProgramTimeoutError.
    """
    if configured is not None and configured.kind != STARTER:
        return configured if state_of(configured, host) == control.RUNNING else None
    found = find_owner(host)
    if configured is not None and found is not None and found.kind != STARTER:
        raise OwnerError(
            f"[ipsec] control is starter, and charon is run by {found.name} of systemd: ipsec stop would not stop it, "
            f"or leave its unit without it. Set control in the settings to auto or to systemd:{found.name}, or "
            "ipsec-refresh to none to leave IPsec alone"
        )
    return found


def installed_owner(host: Host, configured: Owner | None = None) -> Owner | None:
    """Return who would run charon; None where strongSwan is not installed, or not the starter that is configured.

    Raises SystemdError, OSError.
    """
    systemd = host.systemd() if configured is None else None
    units = [] if systemd is None else [unit for unit in map(systemd.unit, UNITS) if unit is not None]
    # One that is to run and doesn't tells more than one that was never started.
    for unit in sorted(units, key=lambda unit: unit.active_state == "inactive"):
        return Owner(UNIT, unit.name)
    control = find_starter(host)
    return None if control is None else Owner(STARTER, control.program)


def uptime(host: Host, pid: int) -> int | None:
    """Return for how many seconds a process has run; None where it has ended. Raises SourceError."""
    status = read_attribute(host, f"/proc/{pid}/stat")
    since_boot = read_attribute(host, "/proc/uptime")
    if status is None or since_boot is None:
        return None
    # proc(5): the name in brackets may hold anything; starttime is field 22.
    fields = status.rpartition(")")[2].split()
    try:
        return max(0, int(float(since_boot.split()[0]) - int(fields[19]) / _TICKS))
    except (IndexError, ValueError) as error:
        raise SourceError(f"/proc/{pid}/stat", "has no start time where proc(5) has it") from error


def parse_setting(text: str) -> Owner | None:
    """Return the owner that the settings name, None for auto: it is to be found. Raises ValueError."""
    kind, _, unit = text.partition(":")
    if kind == UNIT and unit.endswith(".service"):
        return Owner(UNIT, unit)
    found = control.parse_setting(text)
    return None if found is None else Owner(found.kind, found.program)


def state_of(owner: Owner, host: Host) -> str:
    """Return RUNNING, STOPPED or PARTLY. Raises SourceError, SystemdError, OSError, ProgramTimeoutError."""
    if owner.kind != UNIT:
        return control.state(Control(owner.kind, owner.name), host)
    systemd = host.systemd()
    if systemd is None:
        raise SystemdError(f"{owner.name}: systemd can't be reached: there is no system bus")
    unit = systemd.unit(owner.name)
    if unit is None:
        raise SystemdError(f"there is no unit {owner.name}: see [ipsec] control in the settings")
    return {"active": control.RUNNING, "inactive": control.STOPPED, "failed": control.STOPPED}.get(
        unit.active_state, control.PARTLY
    )


def _owning_unit(systemd: Systemd | None, running: Daemons) -> str | None:
    if systemd is None:
        return None
    try:
        name = systemd.unit_of(running.charons[0])
        unit = None if name is None else systemd.unit(name)
    except SystemdError as error:
        raise OwnerError(f"which unit charon belongs to can't be told: {error}") from error
    return unit.name if unit is not None and _owns(unit, running) else None


def _owns(unit: Unit, running: Daemons) -> bool:
    if not unit.name.endswith(".service"):
        return False
    # A unit that runs a script and stays (RemainAfterExit) has no main process: its name has to tell.
    return unit.main_pid in {*running.charons, *running.starters} or (unit.main_pid == 0 and unit.name in UNITS)
