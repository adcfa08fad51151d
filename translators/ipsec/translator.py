"""The translator of the subtree ``ipsec``: state only, and the owner of the service ``ipsec``."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from translators.base import ListeningError, Plan, Reading
from translators.ipsec import events, refresh, report, state
from translators.ipsec.control import RUNNING
from translators.ipsec.offload import Offload
from translators.ipsec.owner import daemons, parse_setting
from translators.ipsec.returning import RETURN_SECONDS
from translators.ipsec.touching import touched
from translators.ipsec.vici import SOCKET, Charon, Patience
from translators.vici import ViciError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from translators.base import Change, Disturbance, Event, Refresh, Selection, Step, Touched, Tree
    from translators.host import Host

PATH: Final = "/hardware-acceleration:acceleration/ipsec"


class IpsecTranslator:
    """The IPsec service; ``control`` is as in the settings file, ``vici`` charon's socket.

    ``return_seconds`` is how long tunnels have to return after a restart.

    Raises ValueError for a control that it does not have.
    """

    path: ClassVar[str] = PATH
    service: ClassVar[str] = "ipsec"
    tunnels: ClassVar[str] = f"{PATH}/security-association"

    def __init__(self, control: str = "auto", vici: str = SOCKET, *, return_seconds: int = RETURN_SECONDS) -> None:
        self._configured = parse_setting(control)
        self._vici = vici
        self._return_seconds = return_seconds
        self._patience = Patience()
        self._outages = events.Outages()

    def prepare(self, change: Change, host: Host) -> Plan:  # noqa: ARG002 - nothing of it can be configured
        return Plan()

    def around(self, disturbances: tuple[Disturbance, ...], host: Host) -> tuple[Plan, Plan]:
        return refresh.around(disturbances, self._charon(host), self._configured, self._return_seconds)

    def events(self, host: Host) -> Iterator[Event | None]:
        self._outages.begin()
        try:
            for heard in Charon(host, self._vici).events(events.NAMES):
                if heard is None:
                    yield None
                else:
                    self._outages.note(*heard, host.monotonic())
                    yield from events.changes(*heard)
        except (ViciError, ValueError) as error:
            raise ListeningError(f"charon tells nothing of its tunnels: {error}") from error

    def touched(self, steps: Sequence[Step], host: Host, ends: tuple[str, str] | None, *, named: bool) -> Touched:
        return touched(steps, host, ends, self._patience, named=named)

    def refreshed(self, refresh: Refresh, host: Host) -> Event | None:
        try:
            runs = state.state(self._charon(host), daemons(host), self._configured) == RUNNING
        except state.UNREADABLE:
            runs = False
        return report.event(refresh, host, self._outages, runs=runs)

    def operational(self, host: Host, wanted: Selection, running: Tree) -> Reading:  # noqa: ARG002 - as in prepare
        charon = self._charon(host)
        service = wanted.into("service")
        found = Reading({})
        if service is not None:
            found = state.service(charon, f"{PATH}/service", service, self._configured)
        listed = state.associations(charon, self.tunnels, wanted, Offload(charon))
        tree = {"service": found.tree} if found.tree else {}
        return Reading(tree | listed.tree, found.faults + listed.faults)

    def _charon(self, host: Host) -> Charon:
        """Return who is asked without a step of a plan that waits for the answer."""
        return Charon(host, self._vici, self._patience)
