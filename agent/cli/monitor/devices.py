"""The devices of a picture, as lines of text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.text import Text

from agent.cli.monitor.columns import GAP, Column, fitting, rows, used
from agent.cli.monitor.rates import sparkline
from agent.cli.monitor.words import UNKNOWN, styled, text, value
from agent.cli.output import STYLES, plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent.cli.monitor.picture import Device
    from agent.cli.reply import Tree

_NONE: Final = "no QAT device: there is none, or you have no right to read it"
_NO_FLOWS: Final = "no requests/s: its driver counts none, or you have no right to read them (docs/access-control.md)"
_ERRORS: Final = {"correctable": "yellow", "nonfatal": "red", "fatal": "bold red"}
# How wide the sparkline is, where it has room at all.
_NARROWEST: Final = 8
_WIDEST: Final = 60
_WITHOUT_LIMIT: Final = 30


def lines(devices: Sequence[Device], width: int | None) -> list[Text]:
    """Return a row for each device, and what there is to say of those that do not work; None is room for all."""
    if not devices:
        return [Text(_NONE)]
    spark = Column("", [Text(" " * _NARROWEST)] * len(devices), rank=3)
    columns = [
        Column("device", [Text(_name(one.data)) for one in devices]),
        Column("address", [Text(plain(one.data.get("address"))) for one in devices], rank=6),
        Column("state", [styled(one.data.get("oper-status"), STYLES) for one in devices]),
        Column("requests/s", [Text(_rate(one)) for one in devices], right=True),
        spark,
        Column("in flight", [text(one.flows.get("in-flight")) for one in devices], rank=5, right=True),
        Column("errors c/n/f", [_errors(one.data.get("errors", {})) for one in devices], rank=1),
        Column("link errors", [_errors(one.data.get("link-errors", {})) for one in devices], rank=4),
        Column("heartbeat", [text(one.data.get("heartbeat", {}).get("status")) for one in devices], rank=2),
    ]
    if all(rate is None for one in devices for rate in one.rates):
        columns.remove(spark)
    kept = fitting(columns, width)
    room = _WITHOUT_LIMIT if width is None else min(_WIDEST, width - used(kept) + _NARROWEST)
    drawn = Column("", [Text(sparkline(one.rates, room), style="cyan") for one in devices])
    made = rows([drawn if column is spark else column for column in kept])
    return [*made, *(Text(f"{' ' * GAP}{_name(one.data)}: {plain(why)}") for one in devices for why in _why(one))]


def _why(device: Device) -> list[str]:
    """Return what there is to say of a device that is not up, or of which is not known what it does."""
    if device.data.get("oper-status") == "up":
        return [] if device.flows else [_NO_FLOWS]
    return [device.data[leaf] for leaf in ("status-reason",) if leaf in device.data]


def _rate(device: Device) -> str:
    """Return the requests in a second; of the first picture, those that the agent has measured itself."""
    served = device.flows.get("request-rate") if len(device.rates) == 1 else None
    return value(served if device.rate is None else round(device.rate))


def _errors(counts: Tree) -> Text:
    """Return the three counts beside each other, in the colour of the gravest."""
    style = ""
    for leaf, colour in _ERRORS.items():
        style = colour if counts.get(leaf, 0) else style
    shown = "/".join(value(counts.get(leaf)) for leaf in _ERRORS) if counts else UNKNOWN
    return Text(shown, style=style)


def _name(data: Tree) -> str:
    return plain(data.get("name", data.get("address")))
