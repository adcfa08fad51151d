"""The steps that start and stop devices.

Each keeps the devices that it is for, and the ``others`` that it must leave as they are. They are one another's
inverse: the devices to start are those that are down, the devices to stop those that are up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from translators.base import Disturbance
from translators.qat import tool
from translators.qat.state import Observer

if TYPE_CHECKING:
    from translators.base import Step
    from translators.host import Completed, Host


@dataclass(frozen=True, slots=True)
class StartDevices:
    """Start devices (``c3xxx@0000:01:00.0``). ``refresh`` is how IPsec is made to use them."""

    kind: ClassVar[str] = "qat-start"

    devices: tuple[str, ...]
    others: tuple[str, ...]
    refresh: str

    @property
    def disturbs(self) -> Disturbance | None:
        return Disturbance("ipsec", self.refresh, enabling=True)

    def describe(self) -> str:
        return f"start {tool.listed(self.devices)} ({tool.command('start')})"

    def perform(self, host: Host) -> None:
        before = Observer(host)
        down = [target for target in self.devices if not before.is_up(target)]
        if not down:
            return
        others_up = [target for target in self.others if before.is_up(target)]
        others_down = [target for target in self.others if before.is_down(target)]
        runs = self._start(host, down)
        if not tool.settled(host, runs, lambda now: all(map(now.is_up, self.devices))):
            now = Observer(host)
            missing = [target for target in self.devices if not now.is_up(target)]
            raise tool.failure(f"{tool.listed(missing)} did not come up", runs)
        now = Observer(host)
        lost = [target for target in others_up if now.is_down(target)]
        if lost:
            raise tool.failure(f"{tool.listed(lost)} was to stay up and is down", runs)
        strays = [target for target in others_down if now.is_up(target)]
        if strays:
            StopDevices(tuple(strays), self.devices, self.refresh).perform(host)

    def inverse(self) -> Step:
        return StopDevices(self.devices, self.others, self.refresh)

    def observe(self, host: Host) -> str:
        return tool.observed(host, self.devices)

    def _start(self, host: Host, down: list[str]) -> list[Completed]:
        # Without a name the script loads the driver and starts all devices, and restarts those that are up.
        if self.others or len(down) < len(self.devices):
            names = tool.device_names(host, down)
            if len(names) == len(down):
                return [tool.run(host, "start", names[target]) for target in down]
        return [tool.run(host, "start")]


@dataclass(frozen=True, slots=True)
class StopDevices:
    """Stop devices. ``refresh`` is how IPsec is made to do without them."""

    kind: ClassVar[str] = "qat-stop"

    devices: tuple[str, ...]
    others: tuple[str, ...]
    refresh: str

    @property
    def disturbs(self) -> Disturbance | None:
        return Disturbance("ipsec", self.refresh, enabling=False)

    def describe(self) -> str:
        return f"stop {tool.listed(self.devices)} ({tool.command('stop')})"

    def perform(self, host: Host) -> None:
        before = Observer(host)
        up = [target for target in self.devices if not before.is_down(target)]
        if not up:
            return
        others_up = [target for target in self.others if before.is_up(target)]
        alone = all(map(before.is_down, self.others))
        runs = self._stop(host, up, alone=alone)
        if not tool.settled(host, runs, lambda now: all(map(now.is_down, self.devices))):
            now = Observer(host)
            left = [target for target in self.devices if not now.is_down(target)]
            raise tool.failure(f"{tool.listed(left)} did not go down", runs)
        now = Observer(host)
        lost = [target for target in others_up if now.is_down(target)]
        if lost:
            raise tool.failure(f"{tool.listed(lost)} was to stay up and is down", runs)

    def inverse(self) -> Step:
        return StartDevices(self.devices, self.others, self.refresh)

    def observe(self, host: Host) -> str:
        return tool.observed(host, self.devices)

    def _stop(self, host: Host, up: list[str], *, alone: bool) -> list[Completed]:
        if alone:
            return [tool.run(host, "stop")]
        names = tool.device_names(host, up)
        unnamed = [target for target in up if target not in names]
        if unnamed:
            text = f"the driver's name of {tool.listed(unnamed)} can't be found out, and other devices are to stay up"
            raise tool.failure(text, ())
        return [tool.run(host, "stop", names[target]) for target in up]
