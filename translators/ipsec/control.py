"""Who runs the IKE daemon charon, and whether it runs.

``ipsec stop`` and ``ipsec start`` act on a charon that strongSwan's starter runs, and only on that: where systemd
runs it (charon-systemd), ``stop`` says "starter is not running" and exits 0, and ``start`` makes a second charon that
takes the first one's control socket away. So the owner is found out first. That starter and charon run is seen in
their pid files and in /proc, no program is asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from translators.sources import SourceError, read_attribute, read_link_name, read_names

if TYPE_CHECKING:
    from collections.abc import Iterable

    from translators.host import Host

STARTER: Final = "starter"
PROGRAM: Final = "program"
IPSEC_PROGRAMS: Final = ("/usr/sbin/ipsec", "/usr/local/sbin/ipsec", "/usr/bin/ipsec", "/sbin/ipsec")

RUNNING: Final = "running"
STOPPED: Final = "stopped"
# One of starter and charon runs without the other: on the way up or down, or one of them died.
PARTLY: Final = "unknown"

_STARTER_PIDS: Final = ("/run/starter.charon.pid", "/var/run/starter.charon.pid")
_CHARON_PIDS: Final = ("/run/charon.pid", "/var/run/charon.pid")
_CHARON_NAMES: Final = frozenset({"charon", "charon-systemd"})
_STATUS_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class Control:
    """How the service is acted on: by ``kind`` starter or program, with ``program`` run with start or stop."""

    kind: str
    program: str

    @property
    def name(self) -> str:
        """What runs the daemon, for people."""
        return "strongswan-starter" if self.kind == STARTER else self.program


def parse_setting(text: str) -> Control | None:
    """Return the control that the settings name, None for auto: it is to be found; that of starter has no program yet.

    Raises ValueError.
    """
    if text == "auto":
        return None
    if text == STARTER:
        return Control(STARTER, "")
    kind, _, program = text.partition(":")
    if kind == PROGRAM and program.startswith("/"):
        return Control(PROGRAM, program)
    raise ValueError(f"{text}: it must be auto, starter, systemd:UNIT, or program:PATH with an absolute path")


def find_starter(host: Host) -> Control | None:
    """Return the control by starter, None where strongSwan's program is not installed. Raises OSError."""
    program = next((path for path in IPSEC_PROGRAMS if host.executable(path)), None)
    return None if program is None else Control(STARTER, program)


def state(control: Control, host: Host) -> str:
    """Return RUNNING, STOPPED or PARTLY. Raises SourceError, OSError, ProgramTimeoutError."""
    if control.kind == PROGRAM:
        return RUNNING if host.run((control.program, "status"), timeout=_STATUS_SECONDS).returncode == 0 else STOPPED
    starter = _is_alive(host, _STARTER_PIDS, frozenset({"starter"}))
    charon = _is_alive(host, _CHARON_PIDS, _CHARON_NAMES)
    if starter and charon:
        return RUNNING
    return PARTLY if starter else STOPPED


def charon_runs(host: Host) -> bool:
    """Return whether any charon runs in this machine's own process space, whoever runs it. Raises SourceError."""
    if _is_alive(host, _CHARON_PIDS, _CHARON_NAMES):
        return True
    own = read_link_name(host, "/proc/self/ns/pid")
    return any(
        name.isdigit()
        and read_attribute(host, f"/proc/{name}/comm") in _CHARON_NAMES
        # A container's charon is seen here too, and is none of this machine's business.
        and (own is None or read_link_name(host, f"/proc/{name}/ns/pid") in {own, None})
        for name in read_names(host, "/proc") or ()
    )


def starter_pid(host: Host) -> int | None:
    """Return the process that starter's pid file names, if it runs. Raises SourceError."""
    return _pid(host, _STARTER_PIDS, frozenset({"starter"}))


def charon_pid(host: Host) -> int | None:
    """Return the process that charon's pid file names, if it runs. Raises SourceError."""
    return _pid(host, _CHARON_PIDS, _CHARON_NAMES)


def _is_alive(host: Host, pid_files: Iterable[str], names: frozenset[str]) -> bool:
    return _pid(host, pid_files, names) is not None


def _pid(host: Host, pid_files: Iterable[str], names: frozenset[str]) -> int | None:
    """Return the process that a pid file names, if it runs and has one of these names."""
    for path in pid_files:
        pid = read_attribute(host, path)
        # Empty: about to be written.
        if not pid:
            continue
        if not (pid.isascii() and pid.isdigit()):
            raise SourceError(path, "has no process number")
        # A number that is in use again belongs to a process with another name.
        name = read_attribute(host, f"/proc/{pid}/comm")
        if name in names or (name is None and host.exists(f"/proc/{pid}")):
            return int(pid)
    return None
