"""A step that does nothing to IPsec itself, and is there for what undoing it does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from translators.ipsec.owner import UNIT
from translators.ipsec.service import StopService
from translators.ipsec.tunnels import INSTALLED, child_sas
from translators.ipsec.unit import StopUnit
from translators.ipsec.vici import Charon, Patience
from translators.vici import ViciError

if TYPE_CHECKING:
    from translators.base import Disturbance, Step
    from translators.host import Host


@dataclass(frozen=True, slots=True)
class KeepRunning:
    """Do nothing now; when the steps after it are undone, have IPsec run again."""

    kind: ClassVar[str] = "ipsec-keep-running"

    owner: str
    name: str
    vici: str

    @property
    def disturbs(self) -> Disturbance | None:
        return None

    def describe(self) -> str:
        return "leave IPsec running"

    def perform(self, host: Host) -> None:
        pass

    def inverse(self) -> Step:
        return stopping(self.owner, self.name, self.vici).inverse()

    def observe(self, host: Host) -> str:
        return observed(self.vici, host)


def stopping(owner: str, name: str, vici: str) -> Step:
    """Return the step by which an owner (see Owner) stops IPsec; its inverse starts it."""
    return StopUnit(name, vici) if owner == UNIT else StopService(owner, name, vici)


def observed(vici: str, host: Host) -> str:
    """Return how many tunnels are up, for an error message."""
    try:
        children = child_sas(Charon(host, vici, Patience()))
    except (ViciError, ValueError) as error:
        return f"how many tunnels are up can't be told ({error})"
    return f"{len({child.tunnel for child in children if child.state == INSTALLED})} tunnels are up"
