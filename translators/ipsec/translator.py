"""The translator of the subtree ``ipsec``: state only, and the owner of the service ``ipsec``."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from translators.base import Plan, Reading
from translators.ipsec import refresh, state
from translators.ipsec.owner import parse_setting
from translators.ipsec.vici import SOCKET, Charon

if TYPE_CHECKING:
    from translators.base import Change, Disturbance, Selection, Tree
    from translators.host import Host

PATH: Final = "/hardware-acceleration:acceleration/ipsec"


class IpsecTranslator:
    """The IPsec service; ``control`` is as in the settings file, ``vici`` charon's socket.

    Raises ValueError for a control that it does not have.
    """

    path: ClassVar[str] = PATH
    service: ClassVar[str] = "ipsec"

    def __init__(self, control: str = "auto", vici: str = SOCKET) -> None:
        self._configured = parse_setting(control)
        self._vici = vici

    def prepare(self, change: Change, host: Host) -> Plan:  # noqa: ARG002 - nothing of it can be configured
        return Plan()

    def around(self, disturbances: tuple[Disturbance, ...], host: Host) -> tuple[Plan, Plan]:
        return refresh.around(disturbances, host, self._configured, self._vici)

    def operational(self, host: Host, wanted: Selection, running: Tree) -> Reading:  # noqa: ARG002 - as in prepare
        charon = Charon(host, self._vici)
        service = wanted.into("service")
        found = Reading({})
        if service is not None:
            found = state.service(charon, f"{PATH}/service", service, self._configured)
        listed = state.associations(charon, f"{PATH}/security-association", wanted, None)
        tree = {"service": found.tree} if found.tree else {}
        return Reading(tree | listed.tree, found.faults + listed.faults)
