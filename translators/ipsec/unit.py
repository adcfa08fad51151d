"""The steps that stop and start the unit of systemd that runs charon; each is the other's inverse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from translators.base import StepError
from translators.host import ProgramTimeoutError, wait_until
from translators.ipsec.owner import daemons
from translators.ipsec.service import ANSWER_SECONDS, STAYING_SECONDS
from translators.ipsec.vici import Charon
from translators.sources import SourceError
from translators.systemd import SystemdError

if TYPE_CHECKING:
    from translators.base import Disturbance, Step
    from translators.host import Host
    from translators.systemd import Systemd, Unit

# systemd's own default for a job, TimeoutStopSec and TimeoutStartSec, is 90 s: its word is waited for.
JOB_SECONDS: Final = 100.0

_JOURNALCTL: Final = "/usr/bin/journalctl"
_LINES: Final = 10
_LOG_SECONDS: Final = 5.0
_DOWN: Final = frozenset({"inactive", "failed"})


@dataclass(frozen=True, slots=True)
class StopUnit:
    """Stop a unit. ``vici`` is the socket at which its charon answers, empty where it does not."""

    kind: ClassVar[str] = "ipsec-stop-unit"

    unit: str
    vici: str

    @property
    def disturbs(self) -> Disturbance | None:
        return None

    def describe(self) -> str:
        return f"stop IPsec (systemctl stop {self.unit})"

    def perform(self, host: Host) -> None:
        _act(host, self.unit, "stop")
        if not wait_until(host, lambda: _is_down(host, self.unit), seconds=ANSWER_SECONDS):
            raise _failure(host, self.unit, "stop", "the unit did not become inactive")
        # A charon of somebody else would be taken for this one's, and its tunnels stay on the driver.
        if not wait_until(host, lambda: not daemons(host).charons, seconds=ANSWER_SECONDS):
            raise _failure(host, self.unit, "stop", "the unit has stopped, and a charon still runs")

    def inverse(self) -> Step:
        return StartUnit(self.unit, self.vici)

    def observe(self, host: Host) -> str:
        return _observed(host, self.unit)


@dataclass(frozen=True, slots=True)
class StartUnit:
    """Start a unit; its charon is to answer at the socket ``vici``, if that is not empty."""

    kind: ClassVar[str] = "ipsec-start-unit"

    unit: str
    vici: str

    @property
    def disturbs(self) -> Disturbance | None:
        return None

    def describe(self) -> str:
        return f"start IPsec (systemctl start {self.unit})"

    def perform(self, host: Host) -> None:
        _act(host, self.unit, "start")
        if not wait_until(host, lambda: self._runs(host), seconds=ANSWER_SECONDS):
            state = _unit(host, self.unit).active_state
            raise _failure(host, self.unit, "start", f"the unit is {state}, and charon does not answer at {self.vici}")
        if not self.vici:
            host.sleep(STAYING_SECONDS)
        if not self._runs(host):
            raise _failure(host, self.unit, "start", "charon started and died at once")

    def inverse(self) -> Step:
        return StopUnit(self.unit, self.vici)

    def observe(self, host: Host) -> str:
        return _observed(host, self.unit)

    def _runs(self, host: Host) -> bool:
        if _unit(host, self.unit).active_state != "active":
            return False
        return Charon(host, self.vici).answers() if self.vici else bool(daemons(host).charons)


def _act(host: Host, name: str, verb: str) -> None:
    """Have a unit started or stopped, where it is not so already. Raises StepError."""
    try:
        if _unit(host, name).active_state in (_DOWN if verb == "stop" else {"active"}):
            return
        result = _systemd(host).job(name, verb, timeout=JOB_SECONDS)
    except SystemdError as error:
        raise _failure(host, name, verb, str(error)) from error
    if result != "done":
        raise _failure(host, name, verb, f"the job's result is {result}")


def _systemd(host: Host) -> Systemd:
    found = host.systemd()
    if found is None:
        raise StepError("systemd can't be reached: there is no system bus")
    return found


def _unit(host: Host, name: str) -> Unit:
    try:
        found = _systemd(host).unit(name)
    except SystemdError as error:
        raise StepError(str(error)) from error
    if found is None:
        raise StepError(f"there is no unit {name}")
    return found


def _is_down(host: Host, name: str) -> bool:
    return _unit(host, name).active_state in _DOWN


def _failure(host: Host, name: str, verb: str, reason: str) -> StepError:
    """Return the error with how the unit is and its last log lines."""
    return StepError(
        f"{name}: {reason}; {_observed(host, name)}", command=f"systemctl {verb} {name}", output=_last_lines(host, name)
    )


def _observed(host: Host, name: str) -> str:
    try:
        unit = _unit(host, name)
    except StepError as error:
        return error.message
    result = "" if unit.result == "success" else f", its result {unit.result}"
    return f"{name} is {unit.active_state} ({unit.sub_state}){result}"


def _last_lines(host: Host, name: str) -> str:
    """Return the end of the unit's log, or why there is none to show."""
    argv = (_JOURNALCTL, "--unit", name, "--lines", str(_LINES), "--no-pager", "--quiet", "--output", "cat")
    try:
        return host.run(argv, timeout=_LOG_SECONDS).output
    except (OSError, ProgramTimeoutError, SourceError) as error:
        return f"its log can't be read: {error}"
