"""The action ``restart`` of a device: down and up again, one device, whatever it was that brought it up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from translators.base import Plan, StepError, TranslatorError
from translators.qat.device_source import machine_state
from translators.qat.devices import inventory
from translators.qat.model import PATH, QatConfig, device_path
from translators.qat.state import Observer
from translators.sources import SourceError

if TYPE_CHECKING:
    from translators.host import Host
    from translators.qat.backends import Choose


def restart(address: str, config: QatConfig, host: Host, choose: Choose) -> Plan:
    """Return the steps that restart a device. Raises TranslatorError where that can't be done."""
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
        backend = choose(host, listed.devices)
        usable, _notes = backend.usable(listed.devices, QatConfig())
        if device not in usable or not (observer.is_up(device.target) or state.status == "failed"):
            reason = state.reason or f"it is not driven by the {backend.kind} driver"
            raise TranslatorError(f"{device.label} can't be restarted, as it is not up: {reason}", path=path)
        backend.check(host, listed.devices, (device,))
        others = [other for other in usable if other is not device]
        return Plan(backend.restart(host, device, others, config.ipsec_refresh))
    except (SourceError, StepError, OSError) as error:
        raise TranslatorError(f"the machine can't be looked at: {error}", path=PATH) from error
