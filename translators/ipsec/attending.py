"""A restart of IPsec that somebody else makes with the change: nothing is done but to wait for its tunnels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from translators.host import wait_until
from translators.ipsec.keeping import observed
from translators.ipsec.returning import RETURN_SECONDS, waited_for
from translators.ipsec.vici import Charon
from translators.vici import ViciError

if TYPE_CHECKING:
    from translators.base import Disturbance, Step
    from translators.host import Host


@dataclass(frozen=True, slots=True)
class AttendTunnels:
    """Wait for tunnels, as AwaitTunnels does, that a step before this one interrupts (``interrupted``).

    Where it is one after it, this one only knows the tunnels, and waits for them when that one is undone. It never
    fails: that charon does not answer afterwards is nothing that undoing the change would mend.
    """

    kind: ClassVar[str] = "ipsec-attend"

    vici: str
    tunnels: tuple[tuple[str, ...], ...]
    interrupted: bool
    seconds: int = RETURN_SECONDS

    @property
    def disturbs(self) -> Disturbance | None:
        return None

    def describe(self) -> str:
        if self.interrupted:
            return f"wait for {len(self.tunnels)} IPsec tunnels (VICI list-sas at {self.vici})"
        return f"keep in mind which {len(self.tunnels)} IPsec tunnels are up"

    def perform(self, host: Host) -> None:
        charon = Charon(host, self.vici)

        def settled() -> bool:
            try:
                return not waited_for(charon, self.tunnels)
            except (ViciError, ValueError):
                return False

        if self.interrupted:
            wait_until(host, settled, seconds=self.seconds)

    def inverse(self) -> Step:
        return AttendTunnels(self.vici, self.tunnels, not self.interrupted, self.seconds)

    def observe(self, host: Host) -> str:
        return observed(self.vici, host)
