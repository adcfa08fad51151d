"""The firmware's counters: ``fw_counters`` in a device's debugfs directory.

Two forms: the out-of-tree driver draws a box with two or, with RAS events, three rows for each engine
(adf_fw_counters.c of QAT 1.7 and 2.0); the kernel's driver prints a table (Linux, Documentation/ABI/testing/
debugfs-driver-qat). Engine numbers may skip. Neither names the device.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from translators.sources import SourceError, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_COUNTER: Final = 2**64 - 1
MAX_ENGINE: Final = 2**16 - 1

_BORDER: Final = re.compile(r"\+-+\+")
_BANNER: Final = re.compile(r"\| FW Statistics for Qat Device +\|")
_BOX_ROW: Final = re.compile(
    r"\| *(?P<what>Firmware Requests|Firmware Responses|RAS [Ee]vents) *"
    r"\[AE +(?P<engine>[0-9]{1,9})\]: *(?P<value>[0-9]{1,20}|No Response) *\|"
)
_TABLE_HEADER: Final = re.compile(r"AE +Requests +Responses")
_TABLE_ROW: Final = re.compile(r"(?P<engine>[0-9]{1,9}): +(?P<requests>[0-9]{1,20}) +(?P<responses>[0-9]{1,20})")
_FIELDS: Final = {"Firmware Requests": "requests", "Firmware Responses": "responses"}


@dataclass(frozen=True, slots=True)
class Engine:
    """One acceleration engine's counters. Where it gave ``no_response``, it did not answer and has none."""

    number: int
    requests: int | None
    responses: int | None
    ras_events: int | None = None
    no_response: bool = False


def parse(text: str, source: str) -> tuple[Engine, ...]:
    """Return the engines of one device, by number.

    Raises SourceError for any other text, also for two devices one after the other: they can't be told apart.
    """
    values: dict[int, dict[str, int | None]] = {}
    heads = 0
    framed = closed = False
    for line in text.splitlines():
        row = line.strip()
        if not row:
            continue
        closed = _BORDER.fullmatch(row) is not None
        framed = framed or closed
        if closed:
            continue
        if _BANNER.fullmatch(row) or _TABLE_HEADER.fullmatch(row):
            heads += 1
            continue
        for number, field, value in _cells(row, source):
            engine = values.setdefault(number, {})
            if field in engine:
                raise SourceError(source, f"engine {number} comes twice: whose counters these are can't be told")
            engine[field] = value
    if heads > 1:
        raise SourceError(source, f"has {heads} tables: whose counters these are can't be told")
    if heads == 0 or not values:
        raise SourceError(source, f"{shown(text)} is no table of firmware counters")
    engines = tuple(_engine(number, values[number], source) for number in sorted(values))
    if not text.endswith("\n") or closed != framed:
        raise SourceError(source, "does not end as it must: the table is cut off, and its last number may be")
    return engines


def _cells(row: str, source: str) -> Iterator[tuple[int, str, int | None]]:
    if table := _TABLE_ROW.fullmatch(row):
        yield _engine_number(table["engine"], source), "requests", _counter(table["requests"], source)
        yield _engine_number(table["engine"], source), "responses", _counter(table["responses"], source)
    elif box := _BOX_ROW.fullmatch(row):
        value = None if box["value"] == "No Response" else _counter(box["value"], source)
        yield _engine_number(box["engine"], source), _FIELDS.get(box["what"], "ras_events"), value
    else:
        raise SourceError(source, f"{shown(row)} is no row of firmware counters")


def _engine(number: int, values: dict[str, int | None], source: str) -> Engine:
    missing = {"requests", "responses"} - values.keys()
    if missing:
        raise SourceError(source, f"engine {number} has no {missing.pop()}: the table is cut off")
    if None in values.values():
        return Engine(number, None, None, no_response=True)
    return Engine(number, values["requests"], values["responses"], values.get("ras_events"))


def _engine_number(digits: str, source: str) -> int:
    if int(digits) > MAX_ENGINE:
        raise SourceError(source, f"{digits} is no number of an engine")
    return int(digits)


def _counter(digits: str, source: str) -> int:
    if int(digits) > MAX_COUNTER:
        raise SourceError(source, f"{digits} does not fit a 64-bit counter")
    return int(digits)
