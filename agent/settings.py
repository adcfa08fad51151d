"""The settings file: parsed once, at start, into frozen values; what can't be honoured is refused."""

from __future__ import annotations

import difflib
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from agent.settings_values import (
    AUTO,
    LARGEST_PORT,
    MIB,
    Address,
    Control,
    list_of,
    one_of,
    only,
    parse_absolute,
    parse_address,
    parse_api,
    parse_control,
    parse_flag,
    parse_mode,
    parse_name,
    parse_optional_path,
    parse_path,
    parse_sha256,
    parse_size,
    parse_user_pattern,
    within,
)
from agent.toml_lines import KeyPath, key_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

__all__ = [
    "DEFAULT_PATH",
    "LISTEN",
    "UNIX",
    "Address",
    "Control",
    "Datastore",
    "Ipsec",
    "Limits",
    "Listen",
    "Notifications",
    "Qat",
    "Settings",
    "SettingsError",
    "Ssh",
    "StartError",
    "Vyos",
    "load",
    "parse_address",
]

DEFAULT_PATH: Final = Path("/etc/accel-agent/agent.toml")
LISTEN: Final = "[listen] ssh"
UNIX: Final = "[listen] unix"
LARGEST_FILE: Final = MIB
_DAY: Final = 86400


class StartError(Exception):
    """The agent can't start. The text is one sentence: what is wrong, where, and what to do about it.

    ``setting`` is what the text ends in, where a setting is to be changed: LISTEN or UNIX.
    """

    def __init__(self, text: str, *, setting: str | None = None) -> None:
        super().__init__(text if setting is None else f"{text} {setting}")
        self.text = text
        self.setting = setting

    def named(self, names: Mapping[str, str]) -> StartError:
        """Return the error with another name for its setting, where there is one: the option that it was given by."""
        return StartError(self.text, setting=names.get(self.setting, self.setting) if self.setting else None)


class SettingsError(StartError):
    """The settings file can't be used. The text names file, line and key."""


@dataclass(frozen=True, slots=True)
class Listen:
    """Where clients connect.

    ``unix`` is None for no local socket; ``unix_mode`` are its permission bits, to which ``unix_group`` adds
    reading and writing for that group.
    """

    ssh: tuple[Address, ...] = (Address("0.0.0.0", 830), Address("::", 830))  # noqa: S104 - RFC 6242
    unix: Path | None = Path("/run/accel-agent/netconf.sock")
    unix_mode: int = 0o600
    unix_group: str | None = None
    tls: tuple[Address, ...] = ()
    call_home: tuple[Address, ...] = ()


@dataclass(frozen=True, slots=True)
class Ssh:
    """The SSH server: key files, ``%u`` for the user's name, and seconds between keep-alives (0: none)."""

    host_keys: tuple[Path, ...] = (Path("/var/lib/accel-agent/ssh_host_ed25519_key"),)
    authorized_keys: str = "/etc/accel-agent/authorized_keys/%u"
    password_authentication: Literal["off"] = "off"  # noqa: S105 - whether, not which
    keepalive: int = 60


@dataclass(frozen=True, slots=True)
class Limits:
    """What clients may take of the server. Sizes are bytes, times seconds; an ``idle_timeout`` of 0 is none.

    ``sessions_per_connection`` counts the channels of an SSH connection; ``pending_connections`` counts, on
    each address, the SSH connections that have no session, which end after ``login_timeout``.
    """

    sessions: int = 256
    sessions_per_user: int = 64
    sessions_per_connection: int = 16
    message_size: int = 16 * MIB
    hello_timeout: int = 10
    idle_timeout: int = 0
    login_timeout: int = 30
    pending_connections: int = 64


@dataclass(frozen=True, slots=True)
class Datastore:
    """How running is kept: ``running`` makes each commit durable, ``startup`` offers :startup instead.

    ``writable_running`` offers :writable-running beside candidate.
    """

    persistence: Literal["running", "startup"] = "running"
    writable_running: bool = False


@dataclass(frozen=True, slots=True)
class Qat:
    """Which driver the QAT devices are managed by (``auto``: by evidence), and the kernel's log that is followed."""

    driver: Literal["auto", "out-of-tree", "in-tree", "vyos"] = "auto"
    kernel_log: str = "/dev/kmsg"


@dataclass(frozen=True, slots=True)
class Ipsec:
    """Who starts and stops IPsec, and the socket at which strongSwan is asked; paths are the managed machine's.

    ``return_timeout`` is seconds for tunnels to return after a restart.
    """

    control: Control = AUTO
    vici: str = "/run/charon.vici"
    return_timeout: int = 15


@dataclass(frozen=True, slots=True)
class Vyos:
    """The HTTP API of the VyOS that owns the machine's configuration; no ``url``: there is none.

    ``key_file`` holds its key; the certificate is checked by its ``fingerprint`` (SHA-256, 64 hex digits) or by the
    authorities in ``ca_file``. ``timeout`` is seconds for a commit, ``save`` whether VyOS saves after each.
    """

    url: str | None = None
    key_file: Path = Path("/etc/accel-agent/vyos.key")
    fingerprint: str | None = None
    ca_file: Path | None = None
    timeout: int = 120
    save: bool = False


@dataclass(frozen=True, slots=True)
class Notifications:
    """What the log of past notifications may hold, in events and in bytes; the oldest are dropped."""

    log_entries: int = 10_000
    log_size: int = 8 * MIB


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that the settings file says; without arguments the built-in defaults."""

    listen: Listen = Listen()
    ssh: Ssh = Ssh()
    limits: Limits = Limits()
    datastore: Datastore = Datastore()
    notifications: Notifications = Notifications()
    qat: Qat = Qat()
    ipsec: Ipsec = Ipsec()
    vyos: Vyos = Vyos()


_SECTIONS: Final[Mapping[str, tuple[Callable[..., Any], Mapping[str, Callable[[object], Any]]]]] = {
    "listen": (
        Listen,
        {
            "ssh": list_of(parse_address),
            "unix": parse_optional_path,
            "unix-mode": parse_mode,
            "unix-group": parse_name,
            "tls": only((), instead_of="NETCONF over TLS"),
            "call-home": only((), instead_of="call home"),
        },
    ),
    "ssh": (
        Ssh,
        {
            "host-keys": list_of(parse_path, at_least=1),
            "authorized-keys": parse_user_pattern,
            "password-authentication": only("off", instead_of="password authentication by PAM"),
            "keepalive": within(0, _DAY),
        },
    ),
    "limits": (
        Limits,
        {
            "sessions": within(1, LARGEST_PORT),
            "sessions-per-user": within(1, LARGEST_PORT),
            "sessions-per-connection": within(1, LARGEST_PORT),
            "message-size": within(4096, 1024 * MIB, parse=parse_size),
            "hello-timeout": within(1, 3600),
            "idle-timeout": within(0, 30 * _DAY),
            "login-timeout": within(1, 3600),
            "pending-connections": within(1, LARGEST_PORT),
        },
    ),
    "datastore": (Datastore, {"persistence": one_of("running", "startup"), "writable-running": parse_flag}),
    "notifications": (
        Notifications,
        {"log-entries": within(4, 1_000_000), "log-size": within(4096, 1024 * MIB, parse=parse_size)},
    ),
    "qat": (Qat, {"driver": one_of("auto", "out-of-tree", "in-tree", "vyos"), "kernel-log": parse_absolute}),
    "ipsec": (
        Ipsec,
        {"control": parse_control, "vici": parse_absolute, "return-timeout": within(1, 600)},
    ),
    "vyos": (
        Vyos,
        {
            "url": parse_api,
            "key-file": parse_path,
            "fingerprint": parse_sha256,
            "ca-file": parse_optional_path,
            "timeout": within(1, 600),
            "save": parse_flag,
        },
    ),
}
"""Each section's class, and the parser of each key; the field has the key's name with ``_`` for ``-``."""


def load(path: Path | None) -> Settings:
    """Return the settings of a TOML file, or the defaults where ``path`` is None. Raises SettingsError."""
    if path is None:
        return Settings()
    text = _read(path)
    document = _parse(text, path)
    refuse = _Refusal(path, key_lines(text))
    sections: dict[str, Any] = {}
    for name, table in document.items():
        if name not in _SECTIONS:
            raise refuse((name,), f"there is no such section{_nearest(name, _SECTIONS)}")
        if not isinstance(table, dict):
            raise refuse((name,), f"is a section: write [{name}] and its keys below")
        make, parsers = _SECTIONS[name]
        values: dict[str, Any] = {}
        for key, value in table.items():
            if key not in parsers:
                raise refuse((name, key), f"[{name}] has no such key{_nearest(key, parsers)}")
            try:
                values[key.replace("-", "_")] = parsers[key](value)
            except ValueError as exc:
                raise refuse((name, key), str(exc)) from None
        sections[name] = make(**values)
    settings = Settings(**sections)
    _agree(settings, refuse)
    return settings


def _agree(settings: Settings, refuse: _Refusal) -> None:
    """Raise SettingsError for keys that can't be followed together."""
    vyos = settings.vyos
    if settings.qat.driver == "vyos" and vyos.url is None:
        raise refuse(("qat", "driver"), "vyos needs [vyos] url, where VyOS's HTTP API is")
    if vyos.fingerprint is not None and vyos.ca_file is not None:
        raise refuse(("vyos", "ca-file"), "the certificate is checked by its fingerprint already: take one of them out")


@dataclass(frozen=True, slots=True)
class _Refusal:
    """Makes the error for a key: file, line where it stands, key, problem."""

    path: Path
    lines: Mapping[KeyPath, int]

    def __call__(self, key: KeyPath, problem: str) -> SettingsError:
        # A key of an inline table stands where the table does.
        line = next((self.lines[key[:n]] for n in range(len(key), 0, -1) if key[:n] in self.lines), None)
        where = f"{self.path}:{line}" if line else str(self.path)
        return SettingsError(f"{where}: {'.'.join(key)}: {problem}")


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
    except OSError as exc:
        raise SettingsError(f"cannot read the settings file {path}: {exc.strerror}") from None
    if len(data) > LARGEST_FILE:
        raise SettingsError(f"{path} is larger than {LARGEST_FILE} bytes: it can't be a settings file")
    try:
        return data.decode()
    except UnicodeDecodeError as exc:
        line = data.count(b"\n", 0, exc.start) + 1
        raise SettingsError(f"{path}:{line}: is not UTF-8 text: save it as UTF-8") from None


def _parse(text: str, path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as exc:
        raise SettingsError(f"{path} is not TOML: {exc}") from None


def _nearest(name: str, known: Collection[str]) -> str:
    found = difflib.get_close_matches(name, known, n=1)
    return f": did you mean {found[0]}?" if found else f": there are {', '.join(known)}"
