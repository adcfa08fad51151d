"""What a device measures of itself: throughput, latency, and how busy its slices are.

The kernel's driver (generation 4 and later) has ``telemetry`` in the device's debugfs directory, the out-of-tree one
(QAT 2.0) in its sysfs directory. Form of device_data: ``name current`` or, in-tree with control 2 to 4, ``name current
minimum maximum average``; units in Linux, Documentation/ABI/testing/debugfs-driver-qat_telemetry. Which slices there
are, and how many, differs from device to device. While it is off, reading gives EPERM (adf_tl_debugfs.c) or a
sentence (adf_4xxx_tl.c). None of this was seen on hardware.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from translators.qat.devices import PCI_DEVICES
from translators.sources import ATTRIBUTE_LIMIT, SourceError, decoded, read_attribute, shown

if TYPE_CHECKING:
    from translators.host import Host

_STATES: Final = {"0": False, "off": False, "1": True, "2": True, "3": True, "4": True, "on": True}
_OFF_SENTENCE: Final = "Telemetry is turned off!"
_ROW: Final = re.compile(r"(?P<name>[A-Za-z]\w{0,63}) +(?P<values>[0-9]{1,20}(?: +[0-9]{1,20}){0,3})")
_COLUMNS: Final = (1, 4)
_SAMPLES: Final = "sample_cnt"
_UTILIZATION: Final = re.compile(r"util_(?P<kind>[a-z]+)(?P<number>[0-9]{1,3})")
# get to put; the second is QAT 2.0's spelling.
_LATENCY: Final = ("gp_lat_acc_avg", "lat_acc_avg")
_MAX: Final = 2**64 - 1
_HUNDRED: Final = 100


@dataclass(frozen=True, slots=True)
class Telemetry:
    """One look. ``on`` is whether the device measures; all else is None or empty where it does not, or not yet.

    Throughput in Mbit/s, latency in nanoseconds, use of slices (``cph0``) in percent; all of the last second.
    """

    on: bool
    throughput_in: int | None = None
    throughput_out: int | None = None
    latency: int | None = None
    slices: tuple[tuple[str, int], ...] = ()

    def kinds(self) -> dict[str, int]:
        """Return the average use of each kind of slice (``cph``), in percent."""
        found: dict[str, list[int]] = {}
        for name, percent in self.slices:
            found.setdefault(name.rstrip("0123456789"), []).append(percent)
        return {kind: round(sum(percents) / len(percents)) for kind, percents in found.items()}


def read(host: Host, address: str, debugfs_folder: str | None) -> Telemetry | None:
    """Return a device's telemetry, None where neither driver has it for the device. Raises SourceError."""
    for folder in (debugfs_folder, f"{PCI_DEVICES}/{address}"):
        if folder is None:
            continue
        control = f"{folder}/telemetry/control"
        state = read_attribute(host, control)
        if state is None:
            continue
        if state not in _STATES:
            raise SourceError(control, f"{shown(state)} is neither on nor off")
        return _data(host, f"{folder}/telemetry/device_data") if _STATES[state] else Telemetry(on=False)
    return None


def parse(text: str, source: str) -> Telemetry:
    """Return what device_data says. Raises SourceError for any other text, also for one that is cut off."""
    if text.strip() == _OFF_SENTENCE:
        return Telemetry(on=False)
    if not text.endswith("\n"):
        raise SourceError(source, "does not end with a line's end: it is empty or cut off")
    values: dict[str, int] = {}
    columns: set[int] = set()
    for row in text.splitlines():
        match = _ROW.fullmatch(row.strip())
        if match is None:
            raise SourceError(source, f"{shown(row)} is no row of telemetry")
        name, numbers = match["name"], match["values"].split()
        if name in values:
            raise SourceError(source, f"{name} comes twice: whose telemetry this is can't be told")
        if int(numbers[0]) > _MAX:
            raise SourceError(source, f"{name} does not fit a 64-bit counter")
        values[name] = int(numbers[0])
        if name != _SAMPLES:
            columns.add(len(numbers))
    if len(columns) > 1 or not columns <= set(_COLUMNS):
        raise SourceError(source, "has rows of different lengths: it is cut off")
    # Before the first sample every value is a 0 that nobody measured.
    return _measured(values, source) if values.get(_SAMPLES, 1) else Telemetry(on=True)


def _data(host: Host, path: str) -> Telemetry | None:
    try:
        data = host.read(path, limit=ATTRIBUTE_LIMIT)
    except PermissionError:  # switched off meanwhile
        return Telemetry(on=False)
    except (FileNotFoundError, NotADirectoryError):  # the device went down meanwhile
        return None
    except OSError as error:
        raise SourceError(path, error.strerror or str(error)) from error
    return parse(decoded(data.removesuffix(b"\0"), path), path)


def _measured(values: dict[str, int], source: str) -> Telemetry:
    slices = []
    for name, value in values.items():
        match = _UTILIZATION.fullmatch(name)
        if match is None:
            continue
        if value > _HUNDRED:
            raise SourceError(source, f"{name} is {value}, which is no percentage")
        slices.append((f"{match['kind']}{match['number']}", value))
    return Telemetry(
        on=True,
        throughput_in=values.get("bw_in"),
        throughput_out=values.get("bw_out"),
        latency=next((values[name] for name in _LATENCY if name in values), None),
        slices=tuple(slices),
    )
