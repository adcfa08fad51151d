"""The command ``accel-agent``."""
# PYTHON_ARGCOMPLETE_OK

from __future__ import annotations

import sys
from typing import Final

DEFAULT_SOCKET: Final = "/run/accel-agent/netconf.sock"


def main() -> int:
    """Run the command line and return the exit status."""
    if sys.argv[1:2] == ["relay"]:
        # One is started for each session that OpenSSH's server takes: it loads nothing that it does not need.
        from agent.relay import relay  # noqa: PLC0415

        return relay(sys.argv[3] if sys.argv[2:3] == ["--unix-socket"] and len(sys.argv) > 3 else DEFAULT_SOCKET)  # noqa: PLR2004
    from agent import cli  # noqa: PLC0415

    return cli.main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
