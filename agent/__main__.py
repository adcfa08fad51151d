"""The command ``accel-agent``."""
# PYTHON_ARGCOMPLETE_OK

from __future__ import annotations

import sys

TYPE_CHECKING = False  # what typing has; relay would wait for it
if TYPE_CHECKING:
    from collections.abc import Sequence


def main() -> int:
    """Run the command line and return the exit status."""
    try:
        return _run(sys.argv[1:])
    except KeyboardInterrupt:
        # While modules are loaded, nothing has begun that would have to be ended.
        return 130


def _run(arguments: Sequence[str]) -> int:
    # One relay is started for each session that OpenSSH's server takes: it loads nothing that it does not need.
    match arguments:
        case ["relay"]:
            path: str | None = None
        case ["relay", "--unix-socket", given] if not given.startswith("-"):
            path = given
        case ["relay", flag] if flag.startswith("--unix-socket="):
            path = flag.partition("=")[2]
        case _:
            from agent import cli  # noqa: PLC0415

            return cli.main(arguments)
    from agent.relay import DEFAULT_SOCKET, relay  # noqa: PLC0415

    return relay(DEFAULT_SOCKET if path is None else path)


if __name__ == "__main__":
    sys.exit(main())
