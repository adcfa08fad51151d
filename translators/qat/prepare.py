"""Which steps a change of the subtree needs on this machine, or why the machine can't take it.

- ``enabled`` is true: every device is to be up but those that are handed over (vfio-pci) and those whose own
  ``enabled`` is false, each with its settings. The machine is compared with the configuration, not the configuration
  with its former state.
- ``enabled`` was true and no longer is: the devices are brought down, their settings stay as they are.
- ``enabled`` was false and stays so, or is false at start-up: nothing is run and nothing is written. Settings take
  effect when acceleration is enabled; an agent does not stop what it did not start.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from translators.base import Plan, StepError, TranslatorError
from translators.qat import vyos
from translators.qat.backend import Wanted
from translators.qat.backend_vyos import VYOS
from translators.qat.devices import inventory
from translators.qat.drivers import is_virtual_machine
from translators.qat.ids import DEVICE_IDS
from translators.qat.model import ENABLED, PATH, parse
from translators.sources import SourceError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from translators.base import Change
    from translators.host import Host
    from translators.qat.backends import Choose
    from translators.qat.devices import Device
    from translators.qat.model import DeviceConfig, QatConfig

_BEHIND: Final = (
    "VyOS owns this system's configuration and is not told of this change: its next commit of "
    f"{vyos.words(vyos.QAT)} and its next boot go by what it has configured itself. Name its API in the settings "
    "([vyos] url), and it makes the change"
)


def prepare(change: Change, host: Host, choose: Choose) -> Plan:
    """Return the steps of a change by the backend that is chosen for the machine. Raises TranslatorError."""
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
        backend = choose(host, found)
        wanted = Wanted(after, before, found)
        if after.enabled:
            backend.check(host, found, backend.usable(found, after)[0])
        for device in found:
            backend.check_settings(after.device(device.address), device)
        if not after.enabled and not (before is not None and before.enabled):
            return Plan()
        plan = backend.enable(host, wanted) if after.enabled else backend.disable(host, wanted)
        behind = (_BEHIND,) if plan and backend.kind != VYOS and vyos.owns(host) else ()
    except (SourceError, StepError, OSError) as error:
        raise TranslatorError(f"the machine can't be looked at: {error}", path=PATH) from error
    listed_only = missing if after.enabled else ()
    absent = tuple(f"{config.address} is configured and is not on this machine" for config in listed_only)
    return replace(plan, notes=(*absent, *plan.notes, *behind))


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
