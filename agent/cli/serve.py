"""``serve``: the daemon."""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent import app
from agent.cli.password import first_line
from agent.cli.streams import announce
from agent.settings import DEFAULT_PATH, LISTEN, UNIX, Address, Settings, StartError, load, parse_address

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_EXAMPLES = """\
examples:
  accel-agent serve
  accel-agent serve --config ./agent.toml --state-dir ./state --listen 127.0.0.1:8300
  accel-agent serve --sysroot ./gateway --state-dir ./state --listen 127.0.0.1:0 --unix-socket ./netconf.sock --json
"""


def add(commands: Any) -> None:  # noqa: ANN401 - argparse's own type is private
    """Add the command's parser."""
    parser = commands.add_parser(
        "serve",
        help="run the NETCONF agent",
        description="Run the NETCONF agent in the foreground until SIGINT or SIGTERM.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--config", type=Path, metavar="FILE", help=f"settings file (default: {DEFAULT_PATH} if there)")
    parser.add_argument(
        "--sysroot",
        type=Path,
        default=Path("/"),
        metavar="DIR",
        help="where the managed machine's files and programs are (default /)",
    )
    parser.add_argument(
        "--state-dir",
        type=Path,
        metavar="DIR",
        help=f"where running is kept, and the host key unless [ssh] host-keys is set (default {app.STATE_DIR})",
    )
    add_listen(parser)
    parser.add_argument("--unix-socket", type=Path, metavar="PATH", help="local socket, instead of the settings'")
    parser.add_argument("--user", metavar="NAME", help="a user who may log in with a password; needs --password-file")
    parser.add_argument("--password-file", type=Path, metavar="FILE", help="file whose first line is the password")
    parser.set_defaults(run=_run, parser=parser)


def add_listen(parser: argparse.ArgumentParser) -> None:
    """Add the flags that serve and demo share."""
    parser.add_argument(
        "--listen",
        action="append",
        type=_address,
        metavar="HOST:PORT",
        help="address to listen on, instead of the settings'; port 0 takes a free one",
    )
    parser.add_argument(
        "--module",
        action="append",
        type=Path,
        default=[],
        metavar="FILE",
        help="a further YANG module to serve: stored and validated, applied to nothing",
    )
    parser.add_argument("--json", action="store_true", help="print one line of JSON when sessions are accepted")


def serve(options: app.Options, ready: Callable[[app.Agent], None], *, given: Mapping[str, str]) -> None:
    """Run an agent until SIGINT or SIGTERM; ``ready`` is called once it accepts sessions. Raises StartError.

    ``given`` are settings that were not taken from a file, each with what they were given by: an option's name.
    """
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    # No line says from where in the code, or in which process, thread or task it was written: that is not looked up.
    logging._srcfile = None  # noqa: SLF001 - as Python's logging HOWTO says, "Optimization"
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    try:
        asyncio.run(_until_signal(options, ready))
    except StartError as error:
        raise error.named(given) from error


def ready_line(agent: app.Agent, options: app.Options, *, user: str | None, password: str | None = None) -> str:
    """Return the one line of JSON that says where the agent is."""
    address = agent.ssh_addresses[0] if agent.ssh_addresses else None
    return json.dumps(
        {
            "ready": True,
            "netconf": {"host": address.host, "port": address.port} if address else None,
            "user": user,
            **({"password": password} if password is not None else {}),
            "unix_socket": str(agent.unix_path.absolute()) if agent.unix_path else None,
            "state_dir": str(options.state_dir),
            "sysroot": str(options.sysroot),
            "pid": os.getpid(),
        }
    )


def with_listen(
    settings: Settings, addresses: list[Address] | None, socket: Path | None, state_dir: Path | None
) -> Settings:
    """Return settings changed by the command line.

    A state directory of one's own holds its own host key, unless the settings name host keys.
    """
    listen, keys = settings.listen, settings.ssh
    if addresses:
        listen = replace(listen, ssh=tuple(addresses))
    if socket is not None:
        listen = replace(listen, unix=socket)
    if state_dir is not None and keys.host_keys == Settings().ssh.host_keys:
        keys = replace(keys, host_keys=(state_dir / "ssh_host_ed25519_key",))
    return replace(settings, listen=listen, ssh=keys)


def _run(options: argparse.Namespace) -> int:
    if (options.user is None) != (options.password_file is None):
        options.parser.error("--user and --password-file belong together: give both or neither")
    password = None if options.password_file is None else first_line(options.password_file)
    file = options.config or (DEFAULT_PATH if DEFAULT_PATH.exists() else None)
    settings = load(file)
    state_dir = options.state_dir
    sysroot = options.sysroot.absolute()
    if not sysroot.is_dir():
        raise StartError(f"{sysroot}: no such directory: --sysroot names the folder of the managed machine")
    chosen = app.Options(
        settings=with_listen(settings, options.listen, options.unix_socket, state_dir),
        state_dir=(state_dir or app.STATE_DIR).absolute(),
        sysroot=sysroot,
        passwords={} if password is None else {options.user: password},
        modules=tuple(options.module),
    )

    def ready(agent: app.Agent) -> None:
        if options.json:
            announce(ready_line(agent, chosen, user=options.user))

    serve(chosen, ready, given=_given(options, file))
    return 0


def _given(options: argparse.Namespace, file: Path | None) -> dict[str, str]:
    """Return what settings were given by that no file says: an option, or its default where there is no file."""
    flags = {LISTEN: ("--listen", options.listen), UNIX: ("--unix-socket", options.unix_socket)}
    return {
        setting: flag if value else f"the default with {flag}"
        for setting, (flag, value) in flags.items()
        if value or file is None
    }


async def _until_signal(options: app.Options, ready: Callable[[app.Agent], None]) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    agent = await app.start(options)
    try:
        places = [f"{address.host} port {address.port}" for address in agent.ssh_addresses]
        places += [str(agent.unix_path)] if agent.unix_path is not None else []
        logging.getLogger("agent").info("sessions are accepted on %s", ", ".join(places) or "no address")
        ready(agent)
        await stop.wait()
    finally:
        await agent.close()


def _address(text: str) -> Address:
    try:
        return parse_address(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
