"""The live state of one device: a table of nodes, and where each comes from."""

from __future__ import annotations

import errno
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from translators.base import Fault
from translators.qat import counters, dev_cfg
from translators.qat.devices import pci_details
from translators.qat.drivers import loaded_kind, module_of, module_version
from translators.qat.interrupts import device_numbers
from translators.qat.model import device_path
from translators.qat.render import GENERAL, SERVICES_KEY
from translators.qat.services import bits_text, services_in
from translators.qat.state import COUNTERS, DEV_CFG, Observer, State
from translators.sources import SourceError, decoded, shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from translators.base import Selection, Tree
    from translators.host import Host
    from translators.qat.counters import Engine
    from translators.qat.devices import Device
    from translators.qat.model import QatConfig

TYPES: Final = "hardware-acceleration-types"


@dataclass(frozen=True, slots=True)
class Source:
    """What a device's nodes are read from: ``config`` is the intent that its state is compared with."""

    host: Host
    observer: Observer
    device: Device
    config: QatConfig


def device_entry(source: Source, selection: Selection, faults: list[Fault]) -> Tree:
    """Return a device's list entry with the nodes that are wanted; broken sources are added to ``faults``."""
    entry: Tree = {"address": source.device.address}
    for name, reader in _READERS.items():
        if not selection.wants(name):
            continue
        try:
            value = reader(source)
        except SourceError as error:
            faults.append(Fault(f"{device_path(source.device.address)}/{name}", str(error)))
            continue
        except OSError as error:
            said = f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error)
            faults.append(Fault(f"{device_path(source.device.address)}/{name}", said))
            continue
        if value is not None:
            entry[name] = value
    return entry


def machine_state(observer: Observer, device: Device) -> State:
    """Return a device's state, without regard to what it is meant to be."""
    if device.assigned:
        return State("assigned", f"the device is handed over to {device.driver}")
    if device.driver is None and observer.state(device.target).status != "up":
        return State("unbound", f"the device has no driver: it needs {device.id.module}")
    return observer.state(device.target)


def _oper_status(source: Source) -> str:
    return machine_state(source.observer, source.device).status


def _status_reason(source: Source) -> str | None:
    state = machine_state(source.observer, source.device)
    if state.status != "down":
        return state.reason
    if not source.config.enabled:
        return f"{state.reason}: QAT acceleration is not enabled"
    if not source.config.device(source.device.address).enabled:
        return f"{state.reason}: it is disabled in the configuration"
    return f"{state.reason}, and is meant to be up: see the kernel log and the device's configuration file"


def _name(source: Source) -> str | None:
    address = source.device.address
    number = device_numbers(source.observer.vectors() or (), (address,)).get(address)
    return None if number is None else f"qat_dev{number}"


def _pci(source: Source) -> Tree:
    details = pci_details(source.host, source.device.address)
    return _without_none(
        {
            "vendor-id": source.device.id.pci_id.partition(":")[0],
            "device-id": source.device.id.device_id,
            "class": details.pci_class,
            "revision": details.revision,
            "numa-node": details.numa_node,
            "kernel-driver": source.device.driver,
            "physical-function": source.device.physical,
            "virtual-functions-total": details.functions_total,
            "virtual-functions-enabled": details.functions_enabled,
            "description": source.device.id.description,
        }
    )


def _driver(source: Source) -> Tree | None:
    module = None if source.device.assigned else module_of(source.host, source.device)
    if module is None:
        return None
    kind = loaded_kind(source.host)
    return _without_none({"name": module, "kind": kind, "version": module_version(source.host, module)})


def _firmware_version(source: Source) -> str | None:
    return (_text(source, "version/fw") or "").strip() or None


def _engines(source: Source) -> int | None:
    engines = _counted(source)
    return None if engines is None else len(engines)


def _active_services(source: Source) -> str | None:
    if _oper_status(source) != "up":
        return None
    words = dev_cfg.value(configuration(source), GENERAL, SERVICES_KEY)
    if words is None:
        return None
    services = services_in(words)
    if services is None:
        path = source.observer.path(source.device.target, DEV_CFG)
        raise SourceError(path, f"{SERVICES_KEY} has the unknown value {shown(words)}")
    return bits_text(services)


def _effective_config(source: Source) -> list[Tree] | None:
    entries = configuration(source)
    return [{"section": entry.section, "key": entry.key, "value": entry.value} for entry in entries] or None


def _flows(source: Source) -> Tree | None:
    engines = _counted(source)
    if engines is None:
        return None
    flows: Tree = {"engine": [_engine(engine) for engine in engines]}
    # Without the engines that did not answer, the sums would be made up.
    requests = [engine.requests for engine in engines if engine.requests is not None]
    responses = [engine.responses for engine in engines if engine.responses is not None]
    if len(requests) == len(responses) == len(engines):
        flows |= {"requests": sum(requests), "responses": sum(responses)}
        # The two are not read at one instant: responses may be ahead.
        flows["in-flight"] = max(0, sum(requests) - sum(responses))
    return flows


def _engine(engine: Engine) -> Tree:
    return _without_none(
        {
            "id": engine.number,
            "requests": engine.requests,
            "responses": engine.responses,
            "ras-events": engine.ras_events,
            "no-response": engine.no_response or None,
        }
    )


def _interrupts(source: Source) -> list[Tree] | None:
    rows: list[Tree] = []
    for vector in source.observer.vectors() or ():
        if vector.belongs_to(source.device.address):
            counts = vector.counts()
            cpus = [{"id": cpu, "count": count} for cpu, count in counts.items()]
            rows.append({"irq": vector.irq, "name": vector.name, "total": sum(counts.values()), "cpu": cpus})
    return rows or None


def _counted(source: Source) -> tuple[Engine, ...] | None:
    """Return the engines' counters; None where the device has none, or is not up."""
    try:
        data = source.observer.file(source.device.target, COUNTERS)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        # The out-of-tree driver's way to say that the device is stopped.
        if error.errno == errno.EFAULT and _oper_status(source) != "failed":
            return None
        raise
    path = source.observer.path(source.device.target, COUNTERS)
    return counters.parse(decoded(data, path), path)


def configuration(source: Source) -> tuple[dev_cfg.Entry, ...]:
    """Return the configuration that a device's driver reports, empty where it reports none.

    Raises SourceError, OSError.
    """
    text = _text(source, DEV_CFG)
    return () if text is None else dev_cfg.parse(text, source.observer.path(source.device.target, DEV_CFG))


def _text(source: Source, name: str) -> str | None:
    try:
        data = source.observer.file(source.device.target, name)
    except (FileNotFoundError, NotADirectoryError):
        return None
    # Some of the driver's read functions count the NUL at the end in (adf_ver_dbg.c).
    return decoded(data.removesuffix(b"\0"), source.observer.path(source.device.target, name))


def _without_none(tree: Tree) -> Tree:
    return {name: value for name, value in tree.items() if value is not None}


_READERS: Final[dict[str, Callable[[Source], Any]]] = {
    "name": _name,
    "family": lambda source: f"{TYPES}:{source.device.id.family}",
    "virtual-function": lambda source: source.device.id.virtual,
    "pci": _pci,
    "driver": _driver,
    "firmware-version": _firmware_version,
    "oper-status": _oper_status,
    "status-reason": _status_reason,
    "engines": _engines,
    "active-services": _active_services,
    "effective-config": _effective_config,
    "flows": _flows,
    "interrupt": _interrupts,
}
