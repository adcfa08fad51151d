"""``demo``: a simulated gateway, served; no root, no hardware."""

from __future__ import annotations

import argparse
import secrets
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import simulator
from agent import app
from agent.cli.serve import add_listen, ready_line, serve, with_listen
from agent.cli.simulate import add_devices, build, devices_of
from agent.cli.streams import announce
from agent.settings import LISTEN, UNIX, Address, Settings, StartError

_EXAMPLES = """\
examples:
  accel-agent demo
  accel-agent demo --device c6xx@0000:3d:00.0 --device c6xx@0000:3f:00.0 --listen 127.0.0.1:8300
  accel-agent demo --device 4xxx@0000:6b:00.0 --device 4xxx --kernel 6.12
  accel-agent demo --no-device --json
"""
USER = "admin"


def add(commands: Any) -> None:  # noqa: ANN401 - argparse's own type is private
    """Add the command's parser."""
    parser = commands.add_parser(
        "demo",
        help="serve a simulated gateway",
        description="Make a simulated gateway with QAT and serve it until SIGINT or SIGTERM; nothing is left behind.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_listen(parser)
    parser.add_argument("--state-dir", type=Path, metavar="DIR", help="where running is kept; it stays")
    add_devices(parser)
    parser.add_argument("--no-device", action="store_true", help="a gateway without QAT hardware")
    parser.set_defaults(run=_run, parser=parser)


def _run(options: argparse.Namespace) -> int:
    if options.no_device and options.device:
        options.parser.error("--no-device and --device exclude each other")
    with tempfile.TemporaryDirectory(prefix="accel-agent-demo-") as name:
        folder = Path(name)
        machine = folder / "gateway"
        _make(machine, options)
        try:
            with simulator.serving(machine) as plain:
                if plain:
                    print(plain, end="", file=sys.stderr, flush=True)
                _serve(options, folder, machine)
        finally:
            simulator.stop(machine)
    return 0


def _make(machine: Path, options: argparse.Namespace) -> None:
    try:
        build(options, machine, () if options.no_device else devices_of(options))
    except simulator.SimulatorError as error:
        raise StartError(str(error)) from error


def _serve(options: argparse.Namespace, folder: Path, machine: Path) -> None:
    password = secrets.token_urlsafe(12)
    state_dir = (options.state_dir or folder / "state").absolute()
    addresses = options.listen or [Address("127.0.0.1", 0)]
    base = Settings()
    base = replace(base, ssh=replace(base.ssh, authorized_keys=str(folder / "authorized_keys" / "%u")))
    settings = with_listen(base, addresses, folder / "netconf.sock", None)
    keys = replace(settings.ssh, host_keys=(state_dir / "ssh_host_ed25519_key",))
    chosen = app.Options(
        settings=replace(settings, ssh=keys),
        state_dir=state_dir,
        sysroot=machine,
        passwords={USER: password},
        modules=tuple(options.module),
    )

    def ready(agent: app.Agent) -> None:
        if options.json:
            announce(ready_line(agent, chosen, user=USER, password=password))
            return
        address = agent.ssh_addresses[0]
        print(
            f"A simulated gateway is served over NETCONF.\n\n"
            f"  ssh -p {address.port} -s {USER}@{address.host} netconf     password {password}\n"
            f"  accel-agent show qat --unix-socket {agent.unix_path}\n\n"
            f"The machine is in {machine}. Ctrl-C ends it.",
            file=sys.stderr,
            flush=True,
        )

    serve(chosen, ready, given={LISTEN: "--listen", UNIX: "the environment variable TMPDIR"})
