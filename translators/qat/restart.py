"""The action ``restart`` of a device: down and up again, one device, whatever it was that brought it up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from translators.base import Disturbance, Plan, StepError, TranslatorError
from translators.qat import tool
from translators.qat.device_state import machine_state
from translators.qat.devices import inventory
from translators.qat.eligible import check_drivers, usable_devices
from translators.qat.model import PATH, QatConfig, device_path
from translators.qat.service import StartDevices, StopDevices
from translators.qat.state import Observer
from translators.sources import SourceError

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


def restart(address: str, config: QatConfig, host: Host) -> Plan:
    """Return the step that restarts a device. Raises TranslatorError where that can't be done."""
    path = device_path(address)
    try:
        listed = inventory(host)
        for broken, error in listed.broken:
            if broken == address:
                raise error
        device = next((device for device in listed.devices if device.address == address), None)
        if device is None:
            raise TranslatorError(f"there is no supported QAT device at {address}: nothing is restarted", path=path)
        observer = Observer(host)
        state = machine_state(observer, device)
        usable, _notes = usable_devices(listed.devices, QatConfig())
        if device not in usable or not (observer.is_up(device.target) or state.status == "failed"):
            reason = state.reason or "it is not driven by qat_service"
            raise TranslatorError(f"{device.label} can't be restarted, as it is not up: {reason}", path=path)
        check_drivers(host, listed.devices, (device,))
    except (SourceError, StepError, OSError) as error:
        raise TranslatorError(f"the machine can't be looked at: {error}", path=PATH) from error
    others = tuple(other.target for other in usable if other is not device)
    return Plan((RestartDevice(device.target, others, config.ipsec_refresh, state.status != "failed"),))
