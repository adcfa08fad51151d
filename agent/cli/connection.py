"""How a command reaches an agent: the flags."""

from __future__ import annotations

import argparse
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from agent.settings import Settings

NETCONF_PORT: Final = 830
TIMEOUT: Final = 60
_DEFAULT_SOCKET: Final = Settings().listen.unix
_LARGEST_PORT: Final = 65535
_LONGEST_TIMEOUT: Final = 86400
_WHERE: Final = ("unix_socket", "host", "port", "user", "key", "password_file")
_OF_SSH: Final = ("port", "user", "key", "password_file", "accept_new_host_key")


@dataclass(frozen=True, slots=True)
class Target:
    """Where an agent is: a local socket, or an SSH server if ``host`` is given. ``timeout`` is in seconds.

    ``ask``: where somebody sits there, a password may be asked for.
    """

    unix_socket: Path | None = _DEFAULT_SOCKET
    host: str | None = None
    port: int = NETCONF_PORT
    user: str | None = None
    key: Path | None = None
    password_file: Path | None = None
    accept_new_host_key: bool = False
    timeout: int = TIMEOUT
    ask: bool = True

    def __str__(self) -> str:
        return f"{self.host} port {self.port}" if self.host else str(self.unix_socket)


def add_connection(parser: argparse.ArgumentParser) -> None:
    """Add the flags that say where the agent is; ``parser`` then reports their wrong use.

    Flags that are not given are absent from the namespace: so the parser of a command and that of its subcommand
    can both have them, and the subcommand's default doesn't undo what was given to the command.
    """
    group = parser.add_argument_group("connection", "Without --host the agent's local socket is used.")

    def add(flag: str, **details: Any) -> None:  # noqa: ANN401 - what argparse takes
        group.add_argument(flag, default=argparse.SUPPRESS, **details)

    add("--unix-socket", type=Path, metavar="PATH", help=f"local socket (default {_DEFAULT_SOCKET})")
    add("--host", type=_host, metavar="HOST", help="agent's host name or IP address: connect over SSH")
    add("--port", type=within(1, _LARGEST_PORT), metavar="PORT", help=f"its port (default {NETCONF_PORT})")
    add("--user", metavar="NAME", help="who logs in (default: who you are here)")
    add("--key", type=Path, metavar="FILE", help="private key (default: those of ssh-agent, then ~/.ssh/id_*)")
    add("--password-file", type=Path, metavar="FILE", help="file whose first line is the password")
    add(
        "--accept-new-host-key",
        action="store_true",
        help="record the host key of a server that is not in ~/.ssh/known_hosts; a changed one is always refused",
    )
    add(
        "--timeout",
        type=within(1, _LONGEST_TIMEOUT),
        metavar="SECONDS",
        help=f"how long to wait for the agent (default {TIMEOUT}, more for commit)",
    )
    parser.set_defaults(parser=parser)


def target(options: argparse.Namespace, *, timeout: int = TIMEOUT) -> Target:
    """Return where the flags say that the agent is. Exits with 2 for flags that don't go together."""
    given = {name: getattr(options, name) for name in Target.__slots__ if hasattr(options, name)}
    if "host" in given and "unix_socket" in given:
        options.parser.error("--host and --unix-socket exclude each other")
    needless = [name for name in _OF_SSH if name in given and "host" not in given]
    if needless:
        options.parser.error(f"--{needless[0].replace('_', '-')} is for SSH: give --host too")
    return Target(**{"timeout": timeout, **given})


def repeated(options: argparse.Namespace) -> str:
    """Return the given flags that say where the agent is and who asks, for a shell: each with a blank before it."""
    given = ((name.replace("_", "-"), getattr(options, name)) for name in _WHERE if hasattr(options, name))
    return "".join(f" --{flag} {shlex.quote(str(value))}" for flag, value in given)


def _host(text: str) -> str:
    host = text.removeprefix("[").removesuffix("]")
    if not host or host.startswith("-") or any(letter.isspace() for letter in host):
        raise argparse.ArgumentTypeError(f"{text!r} is no host name and no IP address")
    return host


def within(least: int, most: int) -> Any:  # noqa: ANN401 - what argparse takes as type
    """Return a parser of whole numbers for argparse."""

    def number(text: str) -> int:
        if not text.isascii() or not text.isdigit() or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is no number from {least} to {most}")
        return int(text)

    return number
