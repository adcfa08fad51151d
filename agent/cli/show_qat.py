"""``show qat``: the devices on the PCI bus, one line each, as lspci and VyOS write them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent.cli.output import line
from agent.cli.pci import short
from agent.cli.query import query

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from lxml.etree import _Element as Element
    from rich.console import RenderableType

    from agent.cli.client import Client
    from agent.cli.reply import Tree

NOTHING: Final = "No QAT device found"
_DEVICES: Final = "qat/device", ("address", "name", "pci", "oper-status", "status-reason")
_CPU: Final = "cpu", ("model", "aes-ni")
# The PCI ID repository's word for a class, where it is one that accelerators have.
_CLASSES: Final = {"0b40": "Co-processor", "1200": "Processing accelerators"}


def read(client: Client, _options: argparse.Namespace) -> Element:
    """Ask for the devices; where there are none, for the CPU too."""
    found = client.get(query(_DEVICES))
    return found if found.find(".//{*}device/{*}pci") is not None else client.get(query(_DEVICES, _CPU))


def render(tree: Tree, _options: argparse.Namespace) -> Iterator[RenderableType]:
    """Return a line for each device, or what there is instead."""
    devices = tree.get("qat", {}).get("device", [])
    if not any(is_there(device) for device in devices):
        yield line(NOTHING)
    for device in devices:
        yield line(_described(device), status=device.get("oper-status"))
        if not is_there(device) and "status-reason" in device:
            yield line(f"  {device['status-reason']}")
    if not any(is_there(device) for device in devices):
        yield line(aes_ni(tree.get("cpu", {})))


def is_there(device: Tree) -> bool:
    """Return whether a device is on the PCI bus: one that is only configured has nothing of it."""
    return "pci" in device


def aes_ni(cpu: Tree) -> str:
    """Return in a line whether the CPU has AES instructions."""
    words = {True: "the CPU has it", False: "the CPU does not have it"}
    model = f" ({cpu['model']})" if "model" in cpu else ""
    return f"AES-NI: {words.get(cpu.get('aes-ni'), 'unknown')}{model}"  # type: ignore[arg-type]


def _described(device: Tree) -> str:
    pci = device.get("pci", {})
    kind = pci.get("class", "")[:4]
    parts = [short(device["address"])]
    if kind:
        parts.append(f"{_CLASSES.get(kind, 'Class')} [{kind}]:")
    if "description" in pci:
        parts.append(pci["description"])
    if {"vendor-id", "device-id"} <= pci.keys():
        parts.append(f"[{pci['vendor-id']}:{pci['device-id']}]")
    if "revision" in pci:
        parts.append(f"(rev {pci['revision']})")
    state = [device[leaf] for leaf in ("name", "oper-status") if leaf in device]
    return " ".join(parts) + ("  " + " ".join(state) if state else "")
