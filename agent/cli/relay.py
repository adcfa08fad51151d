"""``relay``: its help and what is wrong with its flags; ``agent.__main__`` starts it without this where it can."""

from __future__ import annotations

import argparse
from typing import Any

from agent.relay import DEFAULT_SOCKET, relay

_EXAMPLES = """\
examples:
  accel-agent relay --unix-socket ./netconf.sock
  in sshd_config: Subsystem netconf /usr/bin/accel-agent relay
"""


def add(commands: Any) -> None:  # noqa: ANN401 - argparse's own type is private
    """Add the command's parser."""
    parser = commands.add_parser(
        "relay",
        help="join standard input and output with the agent's socket, for OpenSSH's server",
        description="Carry a NETCONF session between standard input and output and the agent's local socket.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--unix-socket", default=DEFAULT_SOCKET, metavar="PATH", help=f"local socket (default {DEFAULT_SOCKET})"
    )
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    return relay(options.unix_socket)
