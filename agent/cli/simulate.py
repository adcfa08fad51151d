"""``simulate``: write a simulated machine."""

from __future__ import annotations

import argparse
import shlex
import signal
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import simulator
from agent.cli.errors import CommandError

if TYPE_CHECKING:
    from collections.abc import Sequence

_EXAMPLES = """\
While a device of the out-of-tree driver is up, a process stands for its hardware. It ends when the devices are stopped
(DIR/etc/init.d/qat_service stop), or when DIR is removed.

Devices of generation 4 and later (4xxx, 401xx, 402xx, 420xx, 6xxx) have the kernel's own driver, whose files in sys
answer what is written to them. That takes a process, --serve, and a file system in user space: libfuse 3 and the extra
simulate-fuse (pip install 'accel-agent[simulate-fuse]'). Without them the files are plain ones that don't answer.

examples:
  accel-agent simulate ./gateway
  accel-agent simulate ./gateway --device c6xx@0000:3d:00.0 --device c6xx
  accel-agent simulate ./gateway --device 4xxx@0000:6b:00.0 --device 4xxxvf --serve
  accel-agent simulate ./gateway --host big --kernel 6.12 --serve
  accel-agent simulate ./gateway --device c6xx@0000:3d:00.0 --driver in-tree
  accel-agent serve --sysroot ./gateway --state-dir ./state --listen 127.0.0.1:8300 --unix-socket ./netconf.sock
"""
_DEFAULT = ("c3xxx",)
_CPUS = 4
_DRIVERS = {"in-tree": True, "out-of-tree": False}


@dataclass(frozen=True, slots=True)
class _Host:
    """Devices and CPUs of a machine."""

    devices: tuple[str, ...]
    cpus: int


_HOSTS = {"gateway": _Host(_DEFAULT, _CPUS), "big": _Host(("4xxx",) * 8, 256)}


def add(commands: Any) -> None:  # noqa: ANN401 - argparse's own type is private
    """Add the command's parser."""
    parser = commands.add_parser(
        "simulate",
        help="write a simulated machine",
        description="Write a simulated gateway under DIR: files and programs that behave, for serve --sysroot DIR.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "directory",
        type=Path,
        metavar="DIR",
        help="where to write it: a new or empty directory, or one with a simulated machine, which is replaced",
    )
    add_devices(parser)
    parser.add_argument(
        "--host",
        choices=_HOSTS,
        help="gateway (default): 4 CPUs; big: 256 CPUs and eight 4xxx, each with 65 interrupts",
    )
    parser.add_argument("--serve", action="store_true", help="stay and have the devices behave until SIGINT or SIGTERM")
    parser.set_defaults(run=_run, parser=parser)


def add_devices(parser: argparse.ArgumentParser) -> None:
    """Add the flag that says which devices a simulated machine has."""
    parser.add_argument(
        "--device",
        action="append",
        type=_device,
        metavar="TYPE[@PCI-ADDRESS]",
        help="a QAT device, such as c6xx@0000:3d:00.0 or 4xxx@0000:6b:00.0; may be repeated (default c3xxx)",
    )
    parser.add_argument(
        "--driver",
        choices=_DRIVERS,
        help="whose driver the devices have: in-tree, the kernel's own, or out-of-tree (default: in-tree for generation"
        " 4 and later, out-of-tree for earlier ones)",
    )
    parser.add_argument(
        "--kernel",
        type=_kernel,
        default="6.16",
        metavar="VERSION",
        help="the Linux whose own driver is played, such as 6.12 (default %(default)s)",
    )
    parser.add_argument(
        "--priority",
        type=int,
        metavar="N",
        help="priority of that driver's algorithms: 4001, 100, or 0 for a driver without (default: that Linux's own)",
    )


def devices_of(options: argparse.Namespace) -> list[simulator.DeviceSpec]:
    """Return the devices that were asked for, or the default."""
    return options.device or [simulator.parse_device(kind) for kind in _DEFAULT]


def build(
    options: argparse.Namespace, directory: Path, devices: Sequence[simulator.DeviceSpec], *, cpus: int = _CPUS
) -> None:
    """Write a machine with the driver that was asked for; what does not go together is wrong usage.

    Raises SimulatorError.
    """
    try:
        simulator.build(
            directory,
            devices,
            cpus=cpus,
            in_tree=None if options.driver is None else _DRIVERS[options.driver],
            kernel_release=options.kernel,
            priority=options.priority,
        )
    except simulator.SpecificationError as error:
        options.parser.error(str(error))


def _run(options: argparse.Namespace) -> int:
    if options.host and options.device:
        options.parser.error("--host and --device exclude each other")
    host = _HOSTS[options.host or "gateway"]
    devices = options.device or [simulator.parse_device(kind) for kind in host.devices]
    directory = options.directory
    # What is no simulated machine is not written over.
    replaced = directory.is_dir() and any(directory.iterdir())
    before = "The simulated machine that was there is replaced. " if replaced else ""
    try:
        build(options, directory, devices, cpus=host.cpus)
        if options.serve:
            _serve(directory, before)
        else:
            print(simulator.description(directory) or "", end="", file=sys.stderr)
            print(f"{before}A simulated machine is in {directory}. To serve it: {_command(directory)}", file=sys.stderr)
    except simulator.SimulatorError as error:
        raise CommandError(str(error)) from error
    return 0


def _command(directory: Path) -> str:
    return (
        f"accel-agent serve --sysroot {shlex.quote(str(directory))} --state-dir ./state --listen 127.0.0.1:8300"
        " --unix-socket ./netconf.sock"
    )


def _serve(directory: Path, before: str) -> None:
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda _number, _frame: ended.set())
    with simulator.serving(directory) as plain:
        said = plain or f"The machine in {directory} is served. Ctrl-C ends it.\n"
        print(f"{before}{said}", end="", file=sys.stderr, flush=True)
        ended.wait()


def _kernel(text: str) -> str:
    try:
        simulator.parse_release(text)
    except simulator.SimulatorError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def _device(text: str) -> simulator.DeviceSpec:
    try:
        return simulator.parse_device(text)
    except simulator.SimulatorError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
