"""A picture as lines of text for people, as many and as long as a terminal has room for."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Final

from rich.text import Text

from agent.cli.monitor import devices, events, tunnels
from agent.cli.monitor.words import UNKNOWN, value
from agent.cli.output import plain

if TYPE_CHECKING:
    from agent.cli.monitor.picture import Picture
    from agent.cli.reply import Tree

_NO_QAT: Final = "QAT: the agent shows nothing: there is none, or you have no right to read it"
_INTENT: Final = {"configured": "configured", "active": "active", "fallback-active": "fallen back to software"}
# The fewest lines that a part keeps on a low terminal: a blank one, a heading, and two below it.
_FEWEST: Final = 4
_EVENTS_WITHOUT_LIMIT: Final = 10


def draw(picture: Picture, heading: str, *, width: int | None = None, height: int | None = None) -> list[Text]:
    """Return the lines of a picture, no more and no longer than there is room for; None is no limit."""
    tree = picture.tree or {}
    first = [Text(plain(heading)), *_problem(picture), _acceleration(tree), _load(picture.load)]
    above = [Text(), *devices.lines(picture.devices, width)]
    below = [Text(), _service(tree), *tunnels.lines(picture.associations, width)]
    last = [Text(), Text("last events", style="bold"), *_events(picture)]
    if height is None:
        last = last[: 2 + _EVENTS_WITHOUT_LIMIT]
    else:
        room = height - len(first)
        last = last[: max(_FEWEST, room - len(above) - len(below))]
        below = _cropped(below, max(_FEWEST, room - len(above) - len(last)))
        above = _cropped(above, max(_FEWEST, room - len(below) - len(last)))
    lines = [*first, *above, *below, *last][:height]
    for line in lines if width is not None else ():
        line.truncate(width or 0, overflow="ellipsis")
    return lines


def clock(moment: datetime) -> str:
    """Return a time as this machine's clock shows it."""
    return moment.astimezone().strftime("%H:%M:%S")


def _problem(picture: Picture) -> list[Text]:
    if picture.problem is None:
        return []
    below = "" if picture.known_at is None else f" (below: as of {clock(picture.known_at)})"
    return [Text(plain(picture.problem) + below, style="bold red")]


def _acceleration(tree: Tree) -> Text:
    if "qat" not in tree:
        return Text(_NO_QAT)
    return Text("QAT: " + ", ".join(f"{label} {value(tree['qat'].get(leaf))}" for leaf, label in _INTENT.items()))


def _load(percent: float | None) -> Text:
    return Text(f"CPU: load {UNKNOWN if percent is None else f'{percent:.0f} %'}")


def _service(tree: Tree) -> Text:
    service = tree.get("ipsec", {}).get("service", {})
    version = f" (strongSwan {plain(service['version'])})" if "version" in service else ""
    return Text(f"IPsec: {value(service.get('name'))} {value(service.get('state'))}{version}")


def _events(picture: Picture) -> list[Text]:
    """Return the events, the last one first, after what there is to say about them."""
    notes = [] if picture.note is None else [Text(plain(picture.note))]
    told = [Text(f"{_when(one.time, picture.time)}  {plain(events.text(one))}") for one in reversed(picture.events)]
    return notes + told or [Text("none")]


def _when(time: str, now: datetime) -> str:
    """Return an event's time, with its day unless that is today."""
    try:
        moment = datetime.fromisoformat(time).astimezone()
    except (ValueError, OverflowError):
        return plain(time)
    return clock(moment) if moment.date() == now.astimezone().date() else moment.strftime("%Y-%m-%d %H:%M:%S")


def _cropped(lines: list[Text], room: int) -> list[Text]:
    if len(lines) <= room:
        return lines
    more = f"… {len(lines) - room + 1} more: make the terminal higher, or see accel-agent show"
    return [*lines[: room - 1], Text(more)]
