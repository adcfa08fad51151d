"""The translator of the subtree ``ipsec``: state only, and the owner of the service ``ipsec``."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from translators.base import Event, Fault, Plan, Reading, TranslatorError
from translators.host import ProgramTimeoutError
from translators.ipsec.control import (
    IPSEC_PROGRAMS,
    RUNNING,
    STOPPED,
    Control,
    charon_runs,
    find_starter,
    parse_setting,
    state,
)
from translators.ipsec.service import StartService, StopService
from translators.sources import SourceError

if TYPE_CHECKING:
    from translators.base import Change, Disturbance, Selection, Tree
    from translators.host import Host

PATH: Final = "/hardware-acceleration:acceleration/ipsec"
# The leaf with which whoever disturbs the service says how it is refreshed.
REFRESH: Final = "/hardware-acceleration:acceleration/qat/ipsec-refresh"

_NO_REKEY: Final = (
    "ipsec-refresh is rekey, and this control of the IPsec service has no way to rekey: IPsec is restarted instead"
)


class IpsecTranslator:
    """The IPsec service under strongSwan's starter or a program; ``control`` is as in the settings file.

    Raises ValueError for a control that it does not have.
    """

    path: ClassVar[str] = PATH
    service: ClassVar[str] = "ipsec"

    def __init__(self, control: str = "auto") -> None:
        self._configured = parse_setting(control)

    def prepare(self, change: Change, host: Host) -> Plan:  # noqa: ARG002 - nothing of it can be configured
        return Plan()

    def around(self, disturbances: tuple[Disturbance, ...], host: Host) -> tuple[Plan, Plan]:
        methods = {disturbance.method for disturbance in disturbances} - {"none"}
        if not methods:
            return Plan(), Plan()
        try:
            control, found = self._owned(host)
        except (SourceError, OSError, ProgramTimeoutError) as error:
            raise TranslatorError(f"whether IPsec runs can't be told: {error}", path=REFRESH) from error
        if control is None:
            return Plan(), Plan()
        if found != RUNNING:
            return Plan(notes=("strongSwan's starter runs without charon: IPsec is left alone",)), Plan()
        notes = (_NO_REKEY,) if "rekey" in methods else ()
        return (
            Plan((StopService(control.kind, control.program),), notes),
            Plan((StartService(control.kind, control.program),)),
        )

    def refreshed(self, host: Host, milliseconds: int) -> Event:
        try:
            outcome = "succeeded" if self._service(host).get("state") == RUNNING else "failed"
        except (SourceError, OSError, ProgramTimeoutError):
            outcome = "failed"
        content = {"method": "restart", "outcome": outcome, "duration": milliseconds}
        severity = "info" if outcome == "succeeded" else "error"
        text = f"IPsec was restarted within {milliseconds} ms: {outcome}"
        return Event(severity, text, {"hardware-acceleration:ipsec-refresh": content})

    def operational(self, host: Host, wanted: Selection, running: Tree) -> Reading:  # noqa: ARG002 - as in prepare
        service = wanted.into("service")
        if service is None:
            return Reading({})
        try:
            tree = {name: value for name, value in self._service(host).items() if service.wants(name)}
        except (SourceError, OSError, ProgramTimeoutError) as error:
            return Reading({}, (Fault(f"{PATH}/service/state", str(error)),))
        return Reading({"service": tree} if tree else {})

    def _service(self, host: Host) -> Tree:
        control = self._configured or find_starter(host)
        found = STOPPED if control is None else state(control, host)
        if control is not None and (found != STOPPED or self._configured is not None):
            return {"name": control.name, "state": found}
        if charon_runs(host):
            return {"state": RUNNING}
        return {"state": "not-installed"} if control is None else {"name": control.name, "state": STOPPED}

    def _owned(self, host: Host) -> tuple[Control | None, str]:
        """Return the control of the service and its state; None where there is nothing to refresh.

        Raises TranslatorError where it is somebody else's, SourceError, OSError, ProgramTimeoutError.
        """
        if self._configured is not None:
            found = state(self._configured, host)
            return (self._configured if found != STOPPED else None), found
        control = find_starter(host)
        found = STOPPED if control is None else state(control, host)
        if found != STOPPED:
            return control, found
        if not charon_runs(host):
            return None, found
        reason = (
            f"and there is no {IPSEC_PROGRAMS[0]} to act on it"
            if control is None
            else f"not by strongSwan's starter: {control.program} stop would not stop it, and start would make another"
        )
        raise TranslatorError(
            f"charon is run by something else, most likely a systemd unit, {reason}. Set [ipsec] control in the "
            "settings to program:PATH with a program that starts, stops and tells the state of what runs it, or "
            "ipsec-refresh to none to leave IPsec alone",
            path=REFRESH,
        )
