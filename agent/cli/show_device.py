"""``show qat device NAME``: a device's configuration, and its firmware counters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from agent.cli.errors import CommandError
from agent.cli.output import line, pairs, plain, table
from agent.cli.pci import canonical
from agent.cli.show_qat import NOTHING

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from lxml.etree import _Element as Element
    from rich.console import RenderableType

    from agent.cli.client import Client
    from agent.cli.reply import Tree

_STATE: Final = ("name", "oper-status", "status-reason")
_WANTED: Final = {
    "flows": ("flows",),
    "config": ("enabled", "services", "section", "active-services", "effective-config"),
}
_MEASURED: Final = {
    "requests": ("requests", ""),
    "responses": ("responses", ""),
    "in-flight": ("in flight", ""),
    "request-rate": ("request rate", " /s"),
    "throughput-in": ("throughput in", " Mbit/s"),
    "throughput-out": ("throughput out", " Mbit/s"),
    "latency": ("latency", " ns"),
    "discontinuity-time": ("counting since", ""),
}
_SECTION: Final = {
    "cy-instances": "cy instances",
    "dc-instances": "dc instances",
    "processes": "processes",
    "limit-device-access": "limit device access",
    "polling": "polling",
    "core-affinity": "core affinity",
}


def read(client: Client, options: argparse.Namespace) -> Element:
    """Ask for the one device. Raises CommandError where there is no such device."""
    from agent.cli.query import ask

    wanted = _WANTED[options.view]
    return ask(client, ("qat/device", (*_STATE, *wanted)), wanted[-1], device=address(client, options.device))


def address(client: Client, name: str) -> str:
    """Return the PCI address of the agent's device that has a name or address. Raises CommandError for none."""
    wanted = canonical(name)
    if wanted is not None and any(device["address"] == wanted for device in _devices(client, "address")):
        return wanted
    return _address(_devices(client), name)


def render(tree: Tree, options: argparse.Namespace) -> Iterator[RenderableType]:
    """Return what there is of the device; of one that is not up also that it is not, and why."""
    for device in tree.get("qat", {}).get("device", []):
        yield line(state(device), status=device.get("oper-status"))
        yield from _flows(device) if options.view == "flows" else _config(device)


def state(device: Tree) -> str:
    """Return a device's name, state and what keeps it from being up, in one line."""
    name = f"{device['name']} ({device['address']})" if "name" in device else device["address"]
    status = device.get("oper-status")
    if status is None:
        return f"{name}: the agent does not say what state it is in"
    if status == "up" or "status-reason" not in device:
        return f"{name} is {status}"
    return f"{name} is {status}: {device['status-reason']}"


def names(prefix: str, parsed_args: argparse.Namespace, **_: object) -> Sequence[str]:  # noqa: ARG001
    """Return the names and addresses of the agent's devices, for the shell's completion."""
    from agent.cli.client import connect
    from agent.cli.connection import target

    try:
        with connect(target(parsed_args, timeout=2)) as client:
            found = _devices(client)
    except CommandError:
        # The shell has no place for an error; what is typed is not completed then.
        return ()
    return [device[leaf] for device in found for leaf in ("name", "address") if leaf in device]


def _devices(client: Client, *leafs: str) -> list[Tree]:
    """Return the devices with some nodes, by default their addresses and names."""
    from agent.cli.query import query
    from agent.cli.reply import acceleration, data

    found = acceleration(data(client.get(query(("qat/device", leafs or ("address", "name"))))))
    devices: list[Tree] = found.get("qat", {}).get("device", [])
    return devices


def _address(devices: Sequence[Tree], name: str) -> str:
    """Return the address of the device that is called so, exactly."""
    wanted = canonical(name) or name
    for device in devices:
        if wanted in {device["address"], device.get("name")}:
            return str(device["address"])
    known = [f"{device['name']} ({device['address']})" if "name" in device else device["address"] for device in devices]
    if not known:
        raise CommandError(f"there is no device {plain(name)}: {NOTHING}")
    hint = "" if all("name" in device for device in devices) else "; one that is not up goes by its address only"
    raise CommandError(f"there is no device {plain(name)}: the devices are {', '.join(known)}{hint}")


def _flows(device: Tree) -> Iterator[RenderableType]:
    flows = device.get("flows", {})
    engines = flows.get("engine", [])
    if not flows:
        if device.get("oper-status") == "up":
            yield line("No counters: its driver has none, or this user may not see them.")
        return
    if engines:
        yield _engines(engines)
    yield pairs((label, f"{flows[leaf]}{unit}") for leaf, (label, unit) in _MEASURED.items() if leaf in flows)
    if "utilization" in flows:
        used = table("slice", "in use", right={"in use"})
        for entry in flows["utilization"]:
            used.add_row(plain(entry["slice"]), f"{entry['percent']} %" if "percent" in entry else "")
        yield used


def _engines(engines: Sequence[Tree]) -> RenderableType:
    """Return the counters of the engines. A column that no engine has is left out."""
    optional = [leaf for leaf in ("ras-events", "no-response") if any(leaf in engine for engine in engines)]
    columns = ["engine", "requests", "responses", *(leaf.replace("-", " ") for leaf in optional)]
    made = table(*columns, right=columns)
    for engine in engines:
        made.add_row(*(plain(engine.get(leaf)) for leaf in ("id", "requests", "responses", *optional)))
    return made


def _config(device: Tree) -> Iterator[RenderableType]:
    """Return what is configured, and below it what the driver has in force, in the form of its own dev_cfg."""
    services = {"services configured": device.get("services"), "services in force": device.get("active-services")}
    rows: list[tuple[str, Any]] = [("enabled", device["enabled"])] if "enabled" in device else []
    rows += [(label, value) for label, value in services.items() if value is not None]
    for section in device.get("section", []):
        for leaf, label in _SECTION.items():
            if leaf in section:
                value = section[leaf]
                shown = " ".join(str(one) for one in value) if isinstance(value, list) else value
                rows.append((f"section {section['name']} {label}", shown))
    if rows:
        yield pairs(rows)
    title = None
    for entry in device.get("effective-config", []):
        if entry["section"] != title:
            title = entry["section"]
            yield line(f"[{title}]")
        yield line(f"{entry['key']} = {entry.get('value', '')}")
    if title is None:
        yield line("The driver reports no configuration: it does so only while the device is up, or not at all.")
