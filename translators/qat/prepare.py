"""Which steps a change of the subtree needs on this machine, or why the machine can't take it.

- ``enabled`` is true: every device is to be up but those that are handed over (vfio-pci) and those whose own
  ``enabled`` is false. Settings of configured devices go into their files; a device that is up is restarted for
  them. The machine is compared with the configuration, not the configuration with its former state.
- ``enabled`` was true and no longer is: the devices are stopped, their files stay as they are.
- ``enabled`` was false and stays so, or is false at start-up: nothing is run and nothing is written. Settings take
  effect when acceleration is enabled; an agent does not stop what it did not start.

A device's file must be there to be changed: it comes with the driver, and a made-up one would be wrong on some
device. A setting that is no longer configured stays in the file as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from translators.base import Plan, StepError, TranslatorError
from translators.files import WriteFile
from translators.qat.devices import inventory
from translators.qat.drivers import is_virtual_machine
from translators.qat.eligible import check_drivers, usable_devices
from translators.qat.ids import DEVICE_IDS
from translators.qat.model import ENABLED, PATH, QatConfig, parse
from translators.qat.reconfigure import ReconfigureDevice, in_force
from translators.qat.render import check_services, rendered
from translators.qat.service import StartDevices, StopDevices
from translators.qat.state import Observer
from translators.sources import SourceError, read_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from translators.base import Change, Step
    from translators.host import Host
    from translators.qat.devices import Device
    from translators.qat.model import DeviceConfig

CONFIGURATION_LIMIT: Final = 1024 * 1024


def prepare(change: Change, host: Host) -> Plan:
    """Return the steps of a change. Raises TranslatorError."""
    after = parse(change.after)
    before = None if change.before is None else parse(change.before)
    if before is None and not after.enabled:
        return Plan()
    try:
        listed = inventory(host)
        for _address, error in listed.broken:
            raise error  # without it, it is not known which devices there are, nor which file is whose
        found = listed.devices
        if after.enabled and not found:
            raise TranslatorError(_no_device(host), path=ENABLED, app_tag="no-qat-device")
        missing = _missing(after, before, found)
        if after.enabled:
            return _enabled(host, after, before, found, missing)
        for device in found:
            check_services(after.device(device.address), device.id)
        return _disabled(host, after, found) if before is not None and before.enabled else Plan()
    except (SourceError, StepError, OSError) as error:
        raise TranslatorError(f"the machine can't be looked at: {error}", path=PATH) from error


def configuration_file(device: Device, found: Iterable[Device]) -> str:
    """Return the path of a device's file: it is named after the device's number within its type.

    The driver numbers devices as it meets them, by address; one that is handed over has no number.
    """
    peers = [other.address for other in found if other.id.type == device.id.type and not other.assigned]
    return f"/etc/{device.id.type}_dev{peers.index(device.address)}.conf"


def _enabled(
    host: Host, after: QatConfig, before: QatConfig | None, found: Sequence[Device], missing: list[DeviceConfig]
) -> Plan:
    usable, notes = usable_devices(found, after)
    notes += [f"{config.address} is configured and is not on this machine" for config in missing]
    check_drivers(host, found, usable)
    for device in found:
        check_services(after.device(device.address), device.id)
    notes += _kept_in_file(after, before)
    observer = Observer(host)
    wanted = [device for device in usable if after.device(device.address).enabled]
    stop = [device for device in usable if device not in wanted and not observer.is_down(device.target)]
    start = [device for device in wanted if _is_to_be_started(observer, device, after, before)]
    steps: list[Step] = []
    if stop:
        others = _targets(device for device in usable if device not in stop)
        steps.append(StopDevices(_targets(stop), others, after.ipsec_refresh))
    for device in usable:
        running = device in wanted and device not in start
        steps += _configured(host, after, device, found, running=running)
    if start:
        others = _targets(device for device in usable if device not in start)
        steps.append(StartDevices(_targets(start), others, after.ipsec_refresh))
        files = [configuration_file(device, found) for device in start]
        notes += [f"{path} is not there: the driver may need it to start" for path in files if not host.exists(path)]
    return Plan(tuple(steps), tuple(notes))


def _disabled(host: Host, after: QatConfig, found: Sequence[Device]) -> Plan:
    observer = Observer(host)
    usable, notes = usable_devices(found, QatConfig())
    stop = [device for device in usable if not observer.is_down(device.target)]
    if not stop:
        return Plan()
    check_drivers(host, found, stop)
    others = _targets(device for device in usable if device not in stop)
    return Plan((StopDevices(_targets(stop), others, after.ipsec_refresh),), tuple(notes))


def _is_to_be_started(observer: Observer, device: Device, after: QatConfig, before: QatConfig | None) -> bool:
    """Return whether a device that is to be up has to be started.

    One without any evidence of its state is started when it is being enabled, not again with each change.
    """
    if observer.is_up(device.target):
        return False
    was_wanted = before is not None and before.enabled and before.device(device.address).enabled
    return observer.is_down(device.target) or not was_wanted or not after.enabled


def _configured(host: Host, after: QatConfig, device: Device, found: Sequence[Device], *, running: bool) -> list[Step]:
    """Return the step that brings a device's settings into its file, none where they are in it."""
    config = after.device(device.address)
    if not config.in_file:
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


def _missing(after: QatConfig, before: QatConfig | None, found: Sequence[Device]) -> list[DeviceConfig]:
    """Return the configured devices that are not on this machine.

    Raises TranslatorError for them but at start-up, where the others are not to suffer from one that died, and for
    one that is unchanged when acceleration is off, so that it can be switched off.
    """
    addresses = {device.address for device in found}
    missing = [config for config in after.devices if config.address not in addresses]
    for config in missing:
        if before is not None and (after.enabled or config not in before.devices):
            there = ", ".join(sorted(addresses)) or "none"
            raise TranslatorError(
                f"there is no supported QAT device at {config.address}; devices that are there: {there}",
                path=config.path,
                app_tag="no-such-device",
            )
    return missing


def _no_device(host: Host) -> str:
    ids = ", ".join(entry.pci_id for entry in DEVICE_IDS)
    hint = " This is a virtual machine: give it a QAT function by PCI passthrough." if is_virtual_machine(host) else ""
    return f"no supported QAT device is on the PCI bus; these ids were looked for: {ids}.{hint}"


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
