r"""The lines of the kernel's log, and what they say of QAT devices.

Two forms: records of /dev/kmsg (Linux, Documentation/ABI/testing/dev-kmsg: ``3,812,80173462,-;text``, then lines with
a blank in front, ``\x`` escapes for what is not printable), and text as dmesg and syslog write it. A line is taken
for QAT's only where it begins as the drivers begin theirs, so that nobody who can have text logged (a login name,
say) makes a device look broken; records that did not come from the kernel are left aside for the same reason.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from translators.qat.ids import DEVICE_IDS
from translators.qat.kernel_log_rules import ERROR_LEVEL, UNKNOWN_ADVICE, rule_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LINE_LIMIT: Final = 4096  # the kernel's own lines have 1 KiB at most, escapes not counted
TEXT_LIMIT: Final = 1024

_RECORD: Final = re.compile(
    rb"(?P<priority>[0-9]{1,10}),(?P<sequence>[0-9]{1,20}),(?P<microseconds>[0-9]{1,20}),(?P<flags>[^;\n]{0,80});"
)
_LEVELS: Final = 8
_ESCAPE: Final = re.compile(rb"\\x([0-9a-f]{2})")
_UNPRINTABLE: Final = dict.fromkeys((*range(0x20), 0x7F, 0xFFFE, 0xFFFF), "\N{REPLACEMENT CHARACTER}")
# [   80.173461], [Wed Mar  4 11:23:26 2020], [    T1]; a priority, also in dmesg -x's words; syslog's date, host, tag.
_PREFIX: Final = re.compile(
    r"\s*(?:<(?P<priority>[0-9]{1,4})>)?"
    r"(?:kern\s*:(?P<level>\w+)\s*:\s*)?"
    r"(?:(?:(?:[A-Z][a-z]{2} [ 0-9]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT[0-9:.,+Z-]{8,28}) \S{1,255} )?kernel:\s*)?"
    r"(?:\[[^\[\]]{1,40}\]\s*){0,3}"
)
_LEVEL_WORDS: Final = {"emerg": 0, "alert": 1, "crit": 2, "err": 3}
_TYPES: Final = "|".join(sorted({re.escape(entry.type) for entry in DEVICE_IDS}, key=len, reverse=True))
_ADDRESS_PATTERN: Final = r"(?:[0-9a-f]{4}|[1-9a-f][0-9a-f]{4,7}):[0-9a-f]{2}:[01][0-9a-f]\.[0-7]"
_ADDRESS: Final = re.compile(rf"(?<![0-9a-f:.]){_ADDRESS_PATTERN}(?![0-9a-f])")
_DRIVER_LINE: Final = re.compile(rf"(?:{_TYPES}) (?P<address>{_ADDRESS_PATTERN}): ")
_OTHER_LINES: Final = re.compile(
    rf"(?:{_TYPES}): probe of {_ADDRESS_PATTERN} "
    r"|QAT: |[Qq]at |intel_qat: |qat_\w+: |qat_\w+ \d|usdm_drv: |cpa(?:Cy|Dc|Dcc)\w*\(\) - |icp_\w+\(\) - "
    r"|sysfs group 'qat_|remove_proc_entry: [^']*'irq/\d+', leaking at least 'qat\d+-|RIP: [0-9a-f]+:(?:adf|qat)_\w+"
)
# What each of QAT's lines has in it: of the other lines of a long log nothing more is looked at.
_HINT: Final = re.compile(rb"[Qq][Aa][Tt]|xx|xcc|usdm|cpa|icp_|adf_")
_DEVICE_KEY: Final = re.compile(rf"DEVICE=\+pci:(?P<address>{_ADDRESS_PATTERN})")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the log: ``level`` is 0 (emergency) to 7 where the source tells it, ``address`` a device that it names.

    ``sequence`` is the record's number in /dev/kmsg, None for a line of text.
    """

    text: str
    level: int | None = None
    address: str | None = None
    sequence: int | None = None
    from_kernel: bool = True


@dataclass(frozen=True, slots=True)
class DeviceError:
    """What the log says is wrong. ``kind`` and ``severity`` are words of hardware-acceleration-types.

    ``address`` is the device's PCI address, None where the line names none; ``advice`` what an operator can do.
    """

    address: str | None
    kind: str
    severity: str
    message: str
    advice: str


def record_line(record: bytes, *, after: int = -1) -> Line | None:
    """Return a record of /dev/kmsg that comes after a number, with the lines that belong to it; None for any other."""
    match = _RECORD.match(record)
    if match is None or int(match["sequence"]) <= after:
        return None
    text, _, rest = record[match.end() :].partition(b"\n")
    priority = int(match["priority"])
    device = _DEVICE_KEY.search(rest[:LINE_LIMIT].decode("ascii", "replace"))
    return Line(
        text=_unescaped(text),
        level=priority % _LEVELS,
        address=device["address"] if device else None,
        sequence=int(match["sequence"]),
        from_kernel=priority < _LEVELS,
    )


def text_lines(data: bytes) -> Iterator[Line]:
    """Yield the lines of a text that may be QAT's: as dmesg or syslog write them, or records of /dev/kmsg."""
    pending: bytes | None = None
    for raw in data.split(b"\n"):
        line = raw.rstrip(b"\r")
        if pending is not None and line.startswith(b" ") and len(pending) < LINE_LIMIT:
            pending += b"\n" + line
            continue
        yield from _pending_line(pending)
        pending = None
        if len(line) > LINE_LIMIT or _HINT.search(line) is None:
            continue
        if _RECORD.match(line):
            pending = line
        else:
            yield _plain_line(line)
    yield from _pending_line(pending)


def error_of(line: Line) -> DeviceError | None:
    """Return the error that a line tells of; None for a line that tells of none, or is not QAT's."""
    if not line.from_kernel:
        return None
    driver = _DRIVER_LINE.match(line.text)
    if driver is None and _OTHER_LINES.match(line.text) is None:
        return None
    named = _ADDRESS.search(line.text)
    address = driver["address"] if driver else named[0] if named else line.address
    # Without the driver's name and address, which could have words of a rule in them.
    rule = rule_of(line.text[driver.end() :] if driver else line.text)
    if rule is not None:
        return None if rule.kind is None else DeviceError(address, rule.kind, rule.severity, line.text, rule.advice)
    if driver is None or line.level is None or line.level > ERROR_LEVEL:
        return None
    severity = "minor" if line.level == ERROR_LEVEL else "critical"
    return DeviceError(address, "other", severity, line.text, UNKNOWN_ADVICE)


def errors_in(lines: Iterable[Line]) -> tuple[DeviceError, ...]:
    """Return the errors that lines tell of, in their order."""
    return tuple(error for line in lines if (error := error_of(line)) is not None)


def _pending_line(record: bytes | None) -> Iterator[Line]:
    line = None if record is None else record_line(record)
    if line is not None:
        yield line


def _plain_line(data: bytes) -> Line:
    text = _printable(data)
    prefix = _PREFIX.match(text)
    if prefix is None:
        return Line(text)
    priority = None if prefix["priority"] is None else int(prefix["priority"])
    level = _LEVEL_WORDS.get(prefix["level"] or "") if priority is None else priority % _LEVELS
    return Line(text[prefix.end() :], level, from_kernel=priority is None or priority < _LEVELS)


def _unescaped(text: bytes) -> str:
    return _printable(_ESCAPE.sub(lambda match: bytes((int(match[1], 16),)), text[:LINE_LIMIT]))


def _printable(data: bytes) -> str:
    return data.decode("utf-8", "replace").translate(_UNPRINTABLE).strip()[:TEXT_LIMIT]
