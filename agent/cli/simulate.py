"""``simulate``: write a simulated machine."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import simulator
from agent.cli.errors import CommandError

_EXAMPLES = """\
While a device is up, a process in the background stands for its hardware. It ends when the devices are stopped
(DIR/etc/init.d/qat_service stop), or when DIR is removed.

examples:
  accel-agent simulate ./gateway
  accel-agent simulate ./gateway --device c6xx@0000:3d:00.0 --device c6xx
  accel-agent serve --sysroot ./gateway --state-dir ./state --listen 127.0.0.1:8300
"""
_DEFAULT = ("c3xxx",)


def add(commands: Any) -> None:  # noqa: ANN401 - argparse's own type is private
    """Add the command's parser."""
    parser = commands.add_parser(
        "simulate",
        help="write a simulated machine",
        description="Write a simulated gateway under DIR: files and programs that behave, for serve --sysroot DIR.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("directory", type=Path, metavar="DIR", help="where to write it")
    add_devices(parser)
    parser.set_defaults(run=_run)


def add_devices(parser: argparse.ArgumentParser) -> None:
    """Add the flag that says which devices a simulated machine has."""
    parser.add_argument(
        "--device",
        action="append",
        type=_device,
        metavar="TYPE[@PCI-ADDRESS]",
        help="a QAT device, such as c6xx@0000:3d:00.0; may be repeated (default c3xxx)",
    )


def devices_of(options: argparse.Namespace) -> list[simulator.DeviceSpec]:
    """Return the devices that were asked for, or the default."""
    return options.device or [simulator.parse_device(kind) for kind in _DEFAULT]


def _run(options: argparse.Namespace) -> int:
    try:
        simulator.build(options.directory, devices_of(options))
    except simulator.SimulatorError as error:
        raise CommandError(str(error)) from error
    return 0


def _device(text: str) -> simulator.DeviceSpec:
    try:
        return simulator.parse_device(text)
    except simulator.SimulatorError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
