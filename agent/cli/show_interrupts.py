"""``show qat interrupts``: the devices' interrupts, counted on each CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent.cli.output import line, plain, table, width
from agent.cli.query import ask
from agent.cli.show_device import state
from agent.cli.show_qat import NOTHING

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from lxml.etree import _Element as Element
    from rich.console import RenderableType

    from agent.cli.client import Client
    from agent.cli.reply import Tree

_WANTED: Final = "qat/device", ("address", "name", "oper-status", "status-reason", "interrupt")
_FIRST: Final = ("device", "irq", "name", "total")
_GAP: Final = 1


def read(client: Client, _options: argparse.Namespace) -> Element:
    """Ask for the devices' interrupts."""
    return ask(client, _WANTED, "interrupt")


def render(tree: Tree, _options: argparse.Namespace) -> Iterator[RenderableType]:
    """Return a table of all devices' interrupts, and below it the devices that have none."""
    devices = tree.get("qat", {}).get("device", [])
    if not devices:
        yield line(NOTHING)
    rows = [(device, interrupt) for device in devices for interrupt in device.get("interrupt", [])]
    if rows:
        yield from _table(rows)
    for device in devices:
        if "interrupt" not in device:
            yield line(state(device) + ("; no interrupts" if device.get("oper-status") == "up" else ""))


def _table(rows: Sequence[tuple[Tree, Tree]]) -> Iterator[RenderableType]:
    """Return a column for each CPU; where a terminal has no room, only for those that had an interrupt."""
    counts = [{entry["id"]: entry.get("count") for entry in interrupt.get("cpu", [])} for _, interrupt in rows]
    every = sorted({cpu for row in counts for cpu in row})
    cells = [
        [
            plain(device.get("name", device["address"])),
            plain(interrupt["irq"]),
            plain(interrupt.get("name")),
            plain(interrupt.get("total")),
        ]
        for device, interrupt in rows
    ]
    cpus = every
    if not _fits(cells, counts, every):
        cpus = [cpu for cpu in every if any(row.get(cpu) for row in counts)]
    columns = [*_FIRST, *(f"CPU{cpu}" for cpu in cpus)]
    made = table(*columns, right={"irq", *columns[3:]})
    for first, row in zip(cells, counts, strict=True):
        made.add_row(*first, *(plain(row.get(cpu)) for cpu in cpus))
    yield made
    if len(cpus) < len(every):
        yield line(f"{len(every) - len(cpus)} CPUs without interrupts are left out.")


def _fits(cells: Sequence[Sequence[str]], counts: Sequence[dict[int, int | None]], cpus: Sequence[int]) -> bool:
    limit = width()
    if limit is None:
        return True
    first = sum(max(len(name), *(len(row[n]) for row in cells)) + _GAP for n, name in enumerate(_FIRST))
    rest = (max(len(f"CPU{cpu}"), *(len(plain(row.get(cpu))) for row in counts)) + _GAP for cpu in cpus)
    return first + sum(rest) <= limit
