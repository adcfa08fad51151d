"""The errors of devices that the kernel's log tells of, as notifications: each line once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from translators.base import Event
from translators.qat.kernel_log import KernelLog
from translators.sources import SourceError

if TYPE_CHECKING:
    from translators.base import Memory
    from translators.host import Host
    from translators.qat.kernel_log import Position
    from translators.qat.kernel_log_lines import DeviceError

POSITION: Final = "kernel-log"
_SEVERITIES: Final = {"critical": "error", "major": "error"}


class LogWatch:
    """Follows the log at a path from where it was left, also by an earlier agent."""

    def __init__(self, memory: Memory, path: str) -> None:
        self._memory = memory
        self._path = path
        self._position: Position | None = None
        self._recalled = False
        self._trouble = ""

    def look(self, host: Host) -> tuple[Event, ...]:
        """Return what the log tells since the last look; that it can't be followed is told once."""
        try:
            if not self._recalled:
                self._position, self._recalled = self._memory.recall(POSITION), True
            errors, after = KernelLog(host, self._path).read(self._position)
            # Before anybody is told: a line is rather left out than told twice, whenever the agent dies.
            if after is not None and after != self._position:
                self._memory.remember(POSITION, after)
            self._position = after
        except ValueError as error:
            self._recalled = True  # read anew from the beginning
            return self._failed(f"where the kernel log was left is not known any more: {error}")
        except (SourceError, OSError) as error:
            return self._failed(f"the kernel log is not followed: {error}")
        self._trouble = ""
        return tuple(map(_event, errors))

    def _failed(self, text: str) -> tuple[Event, ...]:
        told, self._trouble = self._trouble, text
        return () if told == text else (Event("warning", text),)


def _event(error: DeviceError) -> Event:
    address = {} if error.address is None else {"address": error.address}
    content = {
        **address, "kind": error.kind, "severity": error.severity, "message": error.message, "advice": error.advice
    }  # fmt: skip
    text = f"kernel log: {error.message} ({error.advice})"
    return Event(_SEVERITIES.get(error.severity, "warning"), text, {"hardware-acceleration:device-error": content})
