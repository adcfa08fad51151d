"""The IPsec tunnels of a picture, as lines of text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.text import Text

from agent.cli.monitor.columns import Column, fitting, rows
from agent.cli.monitor.rates import bits
from agent.cli.monitor.words import styled, text, value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent.cli.monitor.picture import Association
    from agent.cli.reply import Tree

_NONE: Final = "no tunnels: there are none, or you have no right to read them"
_STATES: Final = {"INSTALLED": "green"}
_OFFLOADS: Final = {"offloaded": "green", "partial": "yellow", "registered-not-selected": "yellow", "unknown": "dim"}


def lines(associations: Sequence[Association], width: int | None) -> list[Text]:
    """Return a row for each security association, those first that carry no traffic; None is room for all."""
    if not associations:
        return [Text(_NONE)]
    shown = sorted(associations, key=lambda one: one.data.get("state") in _STATES)
    offloads = [one.data.get("offload", {}) for one in shown]
    columns = [
        Column("tunnel", [Text(_name(one.data)) for one in shown]),
        Column("id", [text(one.data.get("id")) for one in shown], rank=6, right=True),
        Column("state", [styled(one.data.get("state"), _STATES, "yellow") for one in shown]),
        Column("peer", [text(one.data.get("remote-address")) for one in shown], rank=4),
        Column("encryption", [text(one.data.get("encryption")) for one in shown], rank=5),
        Column("in", [text(bits(one.rates.get("bytes-in"))) for one in shown], rank=2, right=True),
        Column("out", [text(bits(one.rates.get("bytes-out"))) for one in shown], rank=2, right=True),
        Column("bytes in", [text(one.data.get("bytes-in")) for one in shown], rank=7, right=True),
        Column("bytes out", [text(one.data.get("bytes-out")) for one in shown], rank=7, right=True),
        Column("offload", [styled(one.get("state"), _OFFLOADS) for one in offloads], rank=1),
        Column("by", [text(one.get("provider")) for one in offloads], rank=3),
    ]
    return rows(fitting(columns, width))


def _name(data: Tree) -> str:
    """Return a tunnel's name; access control may keep the keys of the list from a user, too."""
    return "/".join(value(data.get(leaf)) for leaf in ("connection", "child"))
