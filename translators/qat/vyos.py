"""What VyOS is asked about acceleration, by its HTTP API: whether it has it configured, to commit it, and to save.

``system acceleration qat`` has no value: it is there or not. With each change of it VyOS itself starts or stops
``qat_service``, between ``ipsec stop`` and ``ipsec start`` where it has ``vpn ipsec``, and looks at no exit status
(vyos-1x: src/conf_mode/system_acceleration.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from translators.sources import SourceError, read_text
from translators.vyos import VyosUnansweredError

if TYPE_CHECKING:
    from translators.host import Host

QAT: Final = ("system", "acceleration", "qat")
IPSEC: Final = ("vpn", "ipsec")
READ_SECONDS: Final = 10
_OS_RELEASE: Final = "/etc/os-release"
_BOOT_CONFIGURATION: Final = "/config/config.boot"

UNREACHABLE: Final = "vyos-unreachable"
REFUSED: Final = "vyos-refused"


@dataclass(frozen=True, slots=True)
class Router:
    """VyOS: a commit or a save has ``timeout`` seconds; each commit is saved with ``save``. All raises VyosError."""

    timeout: int
    save: bool

    def has(self, host: Host, path: tuple[str, ...]) -> bool:
        """Return whether a node is in VyOS's configuration."""
        message = {"op": "exists", "path": list(path)}
        found = host.vyos("/retrieve", message, timeout=min(READ_SECONDS, self.timeout))
        if not isinstance(found, bool):
            raise VyosUnansweredError("", f"VyOS answers neither true nor false to whether it has {words(path)}")
        return found

    def commit(self, host: Host, *, present: bool) -> None:
        """Have acceleration set or deleted, in one commit."""
        command = {"op": verb(present=present), "path": list(QAT)}
        host.vyos("/configure", {"commands": [command]}, timeout=self.timeout)

    def keep(self, host: Host) -> None:
        """Have VyOS's running configuration, all of it, saved as what it boots with."""
        host.vyos("/config-file", {"op": "save"}, timeout=self.timeout)


def owns(host: Host) -> bool:
    """Return whether the system is VyOS (os-release(5)) with a configuration to boot with, as far as it tells."""
    try:
        lines = (read_text(host, _OS_RELEASE) or "").splitlines()
    except SourceError:  # a remark rests on it, which must not refuse a change
        return False
    return any(line.replace('"', "").strip() == "ID=vyos" for line in lines) and host.exists(_BOOT_CONFIGURATION)


def verb(*, present: bool) -> str:
    """Return VyOS's word for having a node, or not."""
    return "set" if present else "delete"


def words(path: tuple[str, ...]) -> str:
    """Return a path as people write it."""
    return " ".join(path)
