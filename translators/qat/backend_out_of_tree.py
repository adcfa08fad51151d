"""The out-of-tree driver's backend: ``qat_service`` and a configuration file for each device."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from translators.base import Plan, TranslatorError
from translators.files import WriteFile
from translators.qat.backend import Wanted, both_drivers, divided
from translators.qat.device_source import machine_state
from translators.qat.drivers import OUT_OF_TREE
from translators.qat.eligible import check_drivers, left_alone
from translators.qat.model import QatConfig
from translators.qat.reconfigure import ReconfigureDevice, in_force
from translators.qat.render import check_services, rendered
from translators.qat.restart_device import RestartDevice
from translators.qat.service import StartDevices, StopDevices
from translators.qat.state import Observer
from translators.sources import read_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from translators.base import Step
    from translators.host import Host
    from translators.qat.devices import Device
    from translators.qat.model import DeviceConfig

CONFIGURATION_LIMIT: Final = 1024 * 1024


class OutOfTree:
    """Devices under qat_service: their settings are in a file each, which the driver reads when it starts one.

    A device's file must be there to be changed: it comes with the driver, and a made-up one would be wrong on some
    device. A setting that is no longer configured stays in the file as it is. One that is up is restarted for them.
    """

    kind: ClassVar[str] = OUT_OF_TREE

    def usable(self, found: Sequence[Device], config: QatConfig) -> tuple[list[Device], list[str]]:
        return divided(found, config, left_alone)

    def check(self, host: Host, found: Sequence[Device], usable: Sequence[Device]) -> None:
        check_drivers(host, found, usable)

    def check_settings(self, config: DeviceConfig, device: Device) -> None:
        check_services(config, device.id)

    def enable(self, host: Host, wanted: Wanted) -> Plan:
        after, found = wanted.after, wanted.found
        usable, notes = self.usable(found, after)
        notes += _kept_in_file(after, wanted.before)
        observer = Observer(host)
        on = [device for device in usable if after.device(device.address).enabled]
        stop = [device for device in usable if device not in on and not observer.is_down(device.target)]
        start = [device for device in on if _is_to_be_started(observer, device, wanted)]
        steps: list[Step] = []
        if stop:
            others = _targets(device for device in usable if device not in stop)
            steps.append(StopDevices(_targets(stop), others, after.ipsec_refresh))
        for device in usable:
            running = device in on and device not in start
            steps += _configured(host, after, device, found, running=running)
        if start:
            others = _targets(device for device in usable if device not in start)
            steps.append(StartDevices(_targets(start), others, after.ipsec_refresh))
            files = [configuration_file(device, found) for device in start]
            absent = [path for path in files if not host.exists(path)]
            notes += [f"{path} is not there: the driver may need it to start" for path in absent]
        return Plan(tuple(steps), (*notes, *both_drivers(host)))

    def disable(self, host: Host, wanted: Wanted) -> Plan:
        observer = Observer(host)
        usable, notes = self.usable(wanted.found, QatConfig())
        stop = [device for device in usable if not observer.is_down(device.target)]
        if not stop:
            return Plan()
        self.check(host, wanted.found, stop)
        others = _targets(device for device in usable if device not in stop)
        return Plan((StopDevices(_targets(stop), others, wanted.after.ipsec_refresh),), tuple(notes))

    def restart(self, host: Host, device: Device, others: Sequence[Device], refresh: str) -> tuple[Step, ...]:
        was_up = machine_state(Observer(host), device).status != "failed"
        return (RestartDevice(device.target, _targets(others), refresh, was_up),)


def configuration_file(device: Device, found: Iterable[Device]) -> str:
    """Return the path of a device's file: it is named after the device's number within its type.

    The driver numbers devices as it meets them, by address; one that is handed over has no number.
    """
    peers = [other.address for other in found if other.id.type == device.id.type and not other.assigned]
    return f"/etc/{device.id.type}_dev{peers.index(device.address)}.conf"


def _is_to_be_started(observer: Observer, device: Device, wanted: Wanted) -> bool:
    """Return whether a device that is to be up has to be started.

    One without any evidence of its state is started when it is being enabled, not again with each change.
    """
    if observer.is_up(device.target):
        return False
    return observer.is_down(device.target) or not wanted.was_wanted(device.address)


def _configured(host: Host, after: QatConfig, device: Device, found: Sequence[Device], *, running: bool) -> list[Step]:
    """Return the step that brings a device's settings into its file, none where they are in it."""
    config = after.device(device.address)
    if not config.has_settings:
        return []
    path = configuration_file(device, found)
    data = read_bytes(host, path, limit=CONFIGURATION_LIMIT)
    if data is None:
        raise TranslatorError(
            f"{path} is not there, so that the settings of {device.label} can't go into it: "
            "copy the file that came with the driver for this type of device",
            path=config.path,
        )
    content = rendered(data, config, device.id)
    if content == data and (not running or in_force(Observer(host), device.target, content)):
        return []
    if running:
        return [ReconfigureDevice(device.target, path, content, data, after.ipsec_refresh)]
    return [WriteFile(path, content, data)]


def _kept_in_file(after: QatConfig, before: QatConfig | None) -> list[str]:
    return [
        f"settings of {former.address} that are no longer configured stay in its configuration file"
        for former in (() if before is None else before.devices)
        if _dropped(former, after.device(former.address))
    ]


def _dropped(former: DeviceConfig, config: DeviceConfig) -> bool:
    sections = {section.name for section in former.sections} - {section.name for section in config.sections}
    return bool(sections) or (former.services is not None and config.services is None)


def _targets(devices: Iterable[Device]) -> tuple[str, ...]:
    return tuple(device.target for device in devices)
