"""The steps that stop and start the IPsec service; each is the other's inverse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from translators.base import StepError
from translators.host import ProgramTimeoutError, wait_until
from translators.ipsec.control import RUNNING, STOPPED, Control, state
from translators.ipsec.vici import Charon
from translators.sources import SourceError

if TYPE_CHECKING:
    from translators.base import Disturbance, Step
    from translators.host import Completed, Host

# charon closes its tunnels first, which takes as long as the peers' answers.
PROGRAM_SECONDS: Final = 60.0
SETTLING_SECONDS: Final = 5.0
# A program that says itself that it failed is believed sooner, but its word is not enough.
FAILED_SECONDS: Final = 0.5
# A charon is there before it has loaded its plugins.
ANSWER_SECONDS: Final = 15.0
# One that dies at once, over its configuration, is there for a moment: where it can't be asked, that is waited for.
STAYING_SECONDS: Final = 0.2


@dataclass(frozen=True, slots=True)
class StopService:
    """Stop the IPsec service. ``control`` is starter or program, ``program`` what is run with stop.

    ``vici`` is the socket at which its charon answers, empty where it does not.
    """

    kind: ClassVar[str] = "ipsec-stop"

    control: str
    program: str
    vici: str = ""

    @property
    def disturbs(self) -> Disturbance | None:
        return None

    def describe(self) -> str:
        return f"stop IPsec ({self.program} stop)"

    def perform(self, host: Host) -> None:
        control = Control(self.control, self.program)
        if state(control, host) == STOPPED:
            return
        completed = host.run((self.program, "stop"), timeout=PROGRAM_SECONDS)
        if not wait_until(host, lambda: state(control, host) == STOPPED, seconds=_patience(completed)):
            raise StepError(
                f"IPsec did not stop (exit status {completed.returncode})",
                command=f"{self.program} stop",
                output=completed.output,
            )

    def inverse(self) -> Step:
        return StartService(self.control, self.program, self.vici)

    def observe(self, host: Host) -> str:
        return _observed(self.control, self.program, host)


@dataclass(frozen=True, slots=True)
class StartService:
    """Start the IPsec service. ``control`` is starter or program, ``program`` what is run with start.

    Its charon is to answer at the socket ``vici``, if that is not empty.
    """

    kind: ClassVar[str] = "ipsec-start"

    control: str
    program: str
    vici: str = ""

    @property
    def disturbs(self) -> Disturbance | None:
        return None

    def describe(self) -> str:
        return f"start IPsec ({self.program} start)"

    def perform(self, host: Host) -> None:
        control = Control(self.control, self.program)
        if state(control, host) == RUNNING:
            return
        completed = host.run((self.program, "start"), timeout=PROGRAM_SECONDS)
        failure = self._failure(host, control, completed)
        if failure:
            raise StepError(
                f"IPsec {failure} (exit status {completed.returncode})",
                command=f"{self.program} start",
                output=completed.output,
            )

    def _failure(self, host: Host, control: Control, completed: Completed) -> str:
        """Return what has become of it instead of running, nothing where it runs."""
        if not wait_until(host, lambda: state(control, host) == RUNNING, seconds=_patience(completed)):
            return "did not start"
        answers = True
        if self.vici:
            answers = wait_until(host, Charon(host, self.vici).answers, seconds=ANSWER_SECONDS)
        else:
            host.sleep(STAYING_SECONDS)
        if state(control, host) != RUNNING:
            return "started and died at once"
        return "" if answers else f"started, and charon does not answer at {self.vici}"

    def inverse(self) -> Step:
        return StopService(self.control, self.program, self.vici)

    def observe(self, host: Host) -> str:
        return _observed(self.control, self.program, host)


def _patience(completed: Completed) -> float:
    return SETTLING_SECONDS if completed.returncode == 0 else FAILED_SECONDS


def _observed(control: str, program: str, host: Host) -> str:
    try:
        found = state(Control(control, program), host)
    except (SourceError, OSError, ProgramTimeoutError) as error:
        return f"whether IPsec runs can't be told ({error})"
    return {RUNNING: "IPsec is running", STOPPED: "IPsec is stopped"}.get(found, "IPsec runs only in part")
