"""A device's heartbeat: whether its firmware answers.

Reading it asks the firmware, and is not harmless: one that comes too often, or fails by mistake, can make the
out-of-tree driver stop the device's DMA (Intel, QAT release notes, QAT20-24970). So nothing here reads by itself,
the caller does so only for an operator who opted in, and never sooner than ``due`` says.

Files: out-of-tree ``heartbeat``, ``heartbeat_sent``, ``heartbeat_failed`` in the device's debugfs directory, in-tree
``heartbeat/status``, ``queries_sent``, ``queries_failed`` (Linux, Documentation/ABI/testing/debugfs-driver-qat), each
with a NUL after its newline (adf_heartbeat_dbgfs.c).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from translators.sources import ATTRIBUTE_LIMIT, SourceError, decoded, read_bytes, shown

if TYPE_CHECKING:
    from translators.host import Host

# Intel's Programmer's Guide, Heartbeat: no more often than every 1500 ms.
MINIMUM_SECONDS: Final = 1.5

_STATUS: Final = {"0": "healthy", "-1": "failed"}
_NUMBER: Final = re.compile(r"[0-9]{1,10}")
# Status, sent, failed. The in-tree names come first: there, "heartbeat" is a directory.
_FILES: Final = (
    ("heartbeat/status", "heartbeat/queries_sent", "heartbeat/queries_failed"),
    ("heartbeat", "heartbeat_sent", "heartbeat_failed"),
)


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """``status`` is healthy or failed; the other two are how often the driver asked, and was not answered."""

    status: str
    sent: int | None
    failed: int | None


def due(last: float | None, now: float) -> bool:
    """Return whether it may be read again; both are seconds of ``Host.monotonic``, ``last`` that of the last time."""
    return last is None or now - last >= MINIMUM_SECONDS


def read(host: Host, debugfs_folder: str) -> Heartbeat | None:
    """Ask the device once; None where its driver has no heartbeat, or it is down. Raises SourceError."""
    for status_name, sent_name, failed_name in _FILES:
        path = f"{debugfs_folder}/{status_name}"
        text = _text(host, path)
        if text is None:
            continue
        status = parse_status(text, path)
        # After the status: that question is counted too.
        return Heartbeat(status, _count(host, f"{debugfs_folder}/{sent_name}"),
                         _count(host, f"{debugfs_folder}/{failed_name}"))  # fmt: skip
    return None


def parse_status(text: str, source: str) -> str:
    """Return what the text of a status file means. Raises SourceError."""
    if text not in _STATUS:
        raise SourceError(source, f"{shown(text)} is neither 0 nor -1")
    return _STATUS[text]


def _count(host: Host, path: str) -> int | None:
    text = _text(host, path)
    if text is None:
        return None
    if _NUMBER.fullmatch(text) is None:
        raise SourceError(path, f"{shown(text)} is no count")
    return int(text)


def _text(host: Host, path: str) -> str | None:
    data = read_bytes(host, path, limit=ATTRIBUTE_LIMIT)
    return None if data is None else decoded(data.rstrip(b"\0"), path).strip()
