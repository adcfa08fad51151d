"""The live state of the subtree: each file is read once, and only when something that is wanted comes from it.

Leafs without a source are left out; a source that is broken leaves its leafs out and is a Fault.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from translators.base import Fault, Reading
from translators.qat.device_state import TYPES, Source, device_entry, machine_state
from translators.qat.devices import inventory
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


def read(host: Host, wanted: Selection, config: QatConfig, supervision: Supervision) -> Reading:
    """Return the state of what is wanted."""
    faults: list[Fault] = []
    tree: Tree = {}
    observer = Observer(host)
    devices, broken = _devices(host, wanted, faults)
    entries = {
        device.address: device_entry(Source(host, observer, device, config), selection, faults)
        | _heartbeat(supervision, device.address, selection)
        for device in devices
        if (selection := wanted.entry("device", {"address": device.address})) is not None
    }
    for address in {entry.address for entry in config.devices} - {device.address for device in devices} - broken:
        if (selection := wanted.entry("device", {"address": address})) is not None:
            entries[address] = _absent(address, selection)
    if entries:
        tree["device"] = [entries[address] for address in sorted(entries)]
    if wanted.wants("configured"):
        tree["configured"] = config.enabled
    if wanted.wants("active") and (active := _active(observer, devices)) is not None:
        tree["active"] = active
    if wanted.wants("fallback-active"):
        tree["fallback-active"] = supervision.fallback_active
    if supported := _supported(wanted):
        tree["supported-device"] = supported
    return Reading(tree, tuple(faults))


def _devices(host: Host, wanted: Selection, faults: list[Fault]) -> tuple[Sequence[Device], set[str]]:
    """Return the devices of which anything is wanted, and the addresses that could not be looked at."""
    every = wanted.wants("active")
    if not every and not wanted.wants("device"):
        return (), set()
    try:
        found = inventory(host, lambda address: every or wanted.entry("device", {"address": address}) is not None)
    except SourceError as error:
        faults.append(Fault(f"{PATH}/device", str(error)))
        return (), set()
    faults += [Fault(device_path(address), str(error)) for address, error in found.broken]
    return found.devices, {address for address, _ in found.broken}


def _absent(address: str, selection: Selection) -> Tree:
    entry = {"address": address}
    if selection.wants("oper-status"):
        entry["oper-status"] = "unknown"
    if selection.wants("status-reason"):
        entry["status-reason"] = "the device is configured, and no supported device is at its address"
    return entry


def _heartbeat(supervision: Supervision, address: str, selection: Selection) -> Tree:
    """Return the heartbeat as it was last read: no client makes it be read more often."""
    beat = supervision.heartbeats.get(address)
    return {"heartbeat": beat} if beat and selection.wants("heartbeat") else {}


def _active(observer: Observer, devices: Sequence[Device]) -> bool | None:
    """Return whether a device is up; None where none is known to be and the state of one can't be told."""
    statuses = {machine_state(observer, device).status for device in devices}
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
