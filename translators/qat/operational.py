"""The live state of the subtree: each file is read once, and only when something that is wanted comes from it.

Leafs without a source are left out; a source that is broken leaves its leafs out and is a Fault.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from translators.base import Fault, Reading
from translators.qat import in_use
from translators.qat.device_source import Source, machine_state, overseen
from translators.qat.device_state import TYPES, device_entry
from translators.qat.devices import Inventory, inventory
from translators.qat.ids import DEVICE_IDS, INTEL
from translators.qat.model import PATH, device_path
from translators.qat.state import Observer
from translators.sources import SourceError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from translators.base import Selection, Tree
    from translators.host import Host
    from translators.qat.devices import Device
    from translators.qat.health import Supervision
    from translators.qat.model import QatConfig


@dataclass(frozen=True, slots=True)
class _Look:
    """One reading of the devices."""

    host: Host
    observer: Observer
    config: QatConfig
    supervision: Supervision
    in_use_of: Tree | None


def read(
    host: Host, wanted: Selection, config: QatConfig, supervision: Supervision, *, in_use_of: Tree | None = None
) -> Reading:
    """Return the state of what is wanted, with the configuration in use where running is given (``in_use_of``)."""
    faults: list[Fault] = []
    look = _Look(host, Observer(host), config, supervision, in_use_of)
    every = wanted.wants("active") or (in_use_of is not None and wanted.wants("enabled"))
    found = _found(host, wanted, faults, every=every)
    active = _active(look, found.devices) if every and found is not None else None
    tree: Tree = {}
    if found is not None and (entries := _entries(look, wanted, found, faults)):
        tree["device"] = [entries[address] for address in sorted(entries)]
    if wanted.wants("configured"):
        tree["configured"] = config.enabled
    if wanted.wants("active") and active is not None:
        tree["active"] = active
    if wanted.wants("fallback-active"):
        tree["fallback-active"] = supervision.fallback_active
    if supported := _supported(wanted):
        tree["supported-device"] = supported
    if in_use_of is not None:
        tree |= in_use.of_all(in_use_of, active=active, fallback=supervision.fallback_active)
    return Reading(tree, tuple(faults))


def _found(host: Host, wanted: Selection, faults: list[Fault], *, every: bool) -> Inventory | None:
    """Return the devices of which anything is wanted; None where the bus can't be listed."""
    if not every and not wanted.wants("device"):
        return Inventory(())
    try:
        found = inventory(host, lambda address: every or wanted.entry("device", {"address": address}) is not None)
    except SourceError as error:
        faults.append(Fault(f"{PATH}/device", str(error)))
        return None
    faults += [Fault(device_path(address), str(error)) for address, error in found.broken]
    return found


def _entries(look: _Look, wanted: Selection, found: Inventory, faults: list[Fault]) -> dict[str, Tree]:
    """Return the list entries of the devices that are there and of those that are configured and are not."""
    entries: dict[str, Tree] = {}
    for device in found.devices:
        if (selection := wanted.entry("device", {"address": device.address})) is not None:
            heart_failed = look.supervision.pulse.failed(device.address)
            source = Source(look.host, look.observer, device, look.config, look.supervision.measures, heart_failed)
            entry = device_entry(source, selection, faults) | _heartbeat(look.supervision, device.address, selection)
            entries[device.address] = entry | _in_use(look, source, faults)
    known = {device.address for device in found.devices} | {address for address, _ in found.broken}
    for address in {entry.address for entry in look.config.devices} - known:
        if (selection := wanted.entry("device", {"address": address})) is not None:
            entries[address] = _absent(address, selection)
    return entries


def _in_use(look: _Look, source: Source, faults: list[Fault]) -> Tree:
    if look.in_use_of is None:
        return {}
    address = source.device.address
    configured: Tree = next((e for e in look.in_use_of.get("device", ()) if e["address"] == address), {})
    try:
        return in_use.of_device(source, configured)
    except (SourceError, OSError) as error:
        faults.append(Fault(f"{device_path(address)}/services", str(error)))
        return {"enabled": True}


def _absent(address: str, selection: Selection) -> Tree:
    entry = {"address": address}
    if selection.wants("oper-status"):
        entry["oper-status"] = "unknown"
    if selection.wants("status-reason"):
        entry["status-reason"] = "the device is configured, and no supported device is at its address"
    return entry


def _heartbeat(supervision: Supervision, address: str, selection: Selection) -> Tree:
    """Return the heartbeat as it was last read: no client makes it be read more often."""
    beat = supervision.pulse.beats.get(address)
    return {"heartbeat": beat} if beat and selection.wants("heartbeat") else {}


def _active(look: _Look, devices: Sequence[Device]) -> bool | None:
    """Return whether a device is up; None where none is known to be and the state of one can't be told."""
    pulse = look.supervision.pulse
    statuses = {
        overseen(machine_state(look.observer, device), heart_failed=pulse.failed(device.address)).status
        for device in devices
    }
    if "up" in statuses:
        return True
    return None if "unknown" in statuses else False


def _supported(wanted: Selection) -> list[Tree]:
    return [
        {
            "vendor-id": INTEL,
            "device-id": entry.device_id,
            "family": f"{TYPES}:{entry.family}",
            "virtual-function": entry.virtual,
        }
        for entry in DEVICE_IDS
        if wanted.entry("supported-device", {"vendor-id": INTEL, "device-id": entry.device_id}) is not None
    ]
