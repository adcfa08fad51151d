"""The step that restarts a device under qat_service, for the action ``restart``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from translators.base import Disturbance
from translators.qat import tool
from translators.qat.service import StartDevices, StopDevices

if TYPE_CHECKING:
    from translators.base import Step
    from translators.host import Host


@dataclass(frozen=True, slots=True)
class RestartDevice:
    """Stop a device and start it again, each checked for its effect, which the script's own restart could not be.

    ``was_up``: the device worked before. One that did not is not brought back where the restart fails.
    """

    kind: ClassVar[str] = "qat-restart"

    device: str
    others: tuple[str, ...]
    refresh: str
    was_up: bool

    @property
    def disturbs(self) -> Disturbance | None:
        # The device goes down for a moment: what uses it must let go of it first.
        return Disturbance("ipsec", self.refresh, enabling=False)

    def describe(self) -> str:
        return f"restart {tool.listed((self.device,))} ({tool.command('stop')}, {tool.command('start')})"

    def perform(self, host: Host) -> None:
        StopDevices((self.device,), self.others, self.refresh).perform(host)
        StartDevices((self.device,), self.others, self.refresh).perform(host)

    def inverse(self) -> Step:
        return StartDevices((self.device,) if self.was_up else (), self.others, self.refresh)

    def observe(self, host: Host) -> str:
        return tool.observed(host, (self.device,))
