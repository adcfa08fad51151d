"""``show qat status``: the state of each device, in the words of the driver's own tool, which scripts read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent.cli.output import line
from agent.cli.query import query
from agent.cli.show_qat import NOTHING, is_there

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from lxml.etree import _Element as Element
    from rich.console import RenderableType

    from agent.cli.client import Client
    from agent.cli.reply import Tree

NOT_CONFIGURED: Final = "system acceleration qat is not configured"
SET_ELSEWHERE: Final = "VyOS has it all the same: something else has set it there"
DELETED_ELSEWHERE: Final = "system acceleration qat is not in VyOS: something else has deleted it there"
_WANTED: Final = (
    ("qat", ("configured", "system-configured")),
    (
        "qat/device",
        (
            "address",
            "name",
            "instance-id",
            "family",
            "virtual-function",
            "pci",
            "oper-status",
            "status-reason",
            "accelerators",
            "engines",
        ),
    ),
)


def read(client: Client, _options: argparse.Namespace) -> Element:
    """Ask for the devices' states and for the intent."""
    return client.get(query(*_WANTED))


def render(tree: Tree, _options: argparse.Namespace) -> Iterator[RenderableType]:
    """Return the intent where it is not to accelerate, and the hardware's state whatever it is."""
    qat = tree.get("qat", {})
    devices = qat.get("device", [])
    count = sum(is_there(device) for device in devices)
    if qat.get("configured") is False:
        yield line(NOT_CONFIGURED)
        if qat.get("system-configured") is True:
            yield line(SET_ELSEWHERE)
    elif qat.get("system-configured") is False:
        yield line(DELETED_ELSEWHERE)
    yield line("Checking status of all devices.")
    yield line(f"There is {count} QAT acceleration device(s) in the system:" if count else NOTHING)
    for device in devices:
        yield line(" " + _status(device), status=device.get("oper-status"))
        if device.get("oper-status") != "up" and "status-reason" in device:
            yield line(f"   {device['status-reason']}")


def _status(device: Tree) -> str:
    """Return adf_ctl's line for a device, without what isn't known."""
    pci = device.get("pci", {})
    kind = device.get("family", "").rpartition(":")[2].removeprefix("qat-")
    if kind and device.get("virtual-function"):
        kind += "vf"
    fields = {
        "type": kind or None,
        "inst_id": device.get("instance-id"),
        "node_id": pci.get("numa-node"),
        "bsf": device["address"],
    }
    numbers = [
        f"{label}: {device[leaf]}"
        for label, leaf in (("#accel", "accelerators"), ("#engines", "engines"), ("state", "oper-status"))
        if leaf in device
    ]
    known = [f"{label}: {value}" for label, value in fields.items() if value is not None]
    return f"{device.get('name', device['address'])} - " + ",  ".join([*known, " ".join(numbers)]).rstrip(", ")
