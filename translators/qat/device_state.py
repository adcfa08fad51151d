"""The live state of one device: a table of nodes, and where each comes from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from translators.base import Fault
from translators.qat import ras
from translators.qat.counted import counted
from translators.qat.device_flows import counters_of, errors, measured, metered
from translators.qat.device_source import configuration, services_of, state_of, text_of, without_none
from translators.qat.devices import pci_details
from translators.qat.drivers import loaded_kind, module_of, module_version
from translators.qat.interrupts import device_numbers
from translators.qat.model import device_path
from translators.qat.services import bits_text
from translators.sources import SourceError

if TYPE_CHECKING:
    from collections.abc import Callable

    from translators.base import Selection, Tree
    from translators.qat.device_source import Source

TYPES: Final = "hardware-acceleration-types"


def device_entry(source: Source, selection: Selection, faults: list[Fault]) -> Tree:
    """Return a device's list entry with the nodes that are wanted; broken sources are added to ``faults``."""
    entry: Tree = {"address": source.device.address}
    for part in _PARTS:
        if not part.is_wanted(selection):
            continue
        try:
            value = part.read(source)
        except SourceError as error:
            faults.append(Fault(f"{device_path(source.device.address)}/{part.node}", str(error)))
            continue
        except OSError as error:
            said = f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error)
            faults.append(Fault(f"{device_path(source.device.address)}/{part.node}", said))
            continue
        if isinstance(value, dict):
            value = {**entry.get(part.node, {}), **value} or None
        if value is not None:
            entry[part.node] = value
    return entry


def _oper_status(source: Source) -> str:
    return state_of(source).status


def _status_reason(source: Source) -> str | None:
    state = state_of(source)
    if state.status != "down":
        return state.reason
    if not source.config.enabled:
        return f"{state.reason}: QAT acceleration is not enabled"
    if not source.config.device(source.device.address).enabled:
        return f"{state.reason}: it is disabled in the configuration"
    has_file = source.observer.switch(source.device.target) is None
    where = "the kernel log and the device's configuration file" if has_file else "the kernel log"
    return f"{state.reason}, and is meant to be up: see {where}"


def _name(source: Source) -> str | None:
    address = source.device.address
    number = device_numbers(source.observer.vectors() or (), (address,)).get(address)
    return None if number is None else f"qat_dev{number}"


def _pci(source: Source) -> Tree:
    details = pci_details(source.host, source.device.address)
    return without_none(
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
    return without_none({"name": module, "kind": kind, "version": module_version(source.host, module)})


def _firmware_version(source: Source) -> str | None:
    return (text_of(source, "version/fw") or "").strip() or None


def _engines(source: Source) -> int | None:
    engines = counted(source.observer, source.device)
    return None if engines is None else len(engines)


def _active_services(source: Source) -> str | None:
    if _oper_status(source) != "up":
        return None
    services = services_of(source)
    return None if services is None else bits_text(services)


def _effective_config(source: Source) -> list[Tree] | None:
    entries = configuration(source)
    return [{"section": entry.section, "key": entry.key, "value": entry.value} for entry in entries] or None


def _interrupts(source: Source) -> list[Tree] | None:
    rows: list[Tree] = []
    for vector in source.observer.vectors() or ():
        if vector.belongs_to(source.device.address):
            counts = vector.counts()
            rows.append({"irq": vector.irq, "name": vector.name, "total": counts.total, "cpu": counts})
    return rows or None


@dataclass(frozen=True, slots=True)
class _Part:
    """A node, or a part of one (``below``, all where there is none), and the reader of what it is made of."""

    node: str
    read: Callable[[Source], Any]
    below: frozenset[str] = frozenset()

    def is_wanted(self, selection: Selection) -> bool:
        """Return whether anything of it is in a selection of the device."""
        within = selection.into(self.node)
        return within is not None and (not self.below or any(map(within.wants, self.below)))


_PARTS: Final = (
    _Part("name", _name),
    _Part("family", lambda source: f"{TYPES}:{source.device.id.family}"),
    _Part("virtual-function", lambda source: source.device.id.virtual),
    _Part("pci", _pci),
    _Part("driver", _driver),
    _Part("firmware-version", _firmware_version),
    _Part("oper-status", _oper_status),
    _Part("status-reason", _status_reason),
    _Part("engines", _engines),
    _Part("active-services", _active_services),
    _Part("effective-config", _effective_config),
    _Part("flows", counters_of, frozenset({"engine", "requests", "responses", "in-flight"})),
    _Part("flows", measured, frozenset({"throughput-in", "throughput-out", "latency", "utilization"})),
    _Part("flows", metered, frozenset({"request-rate", "discontinuity-time"})),
    _Part("errors", partial(errors, read=ras.read)),
    _Part("link-errors", partial(errors, read=ras.read_link)),
    _Part("interrupt", _interrupts),
)
