"""``show``: what the acceleration hardware, the CPU and IPsec do, as VyOS shows it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from agent.cli import show_cpu, show_device, show_interrupts, show_ipsec, show_kernel_crypto, show_qat, show_status
from agent.cli.connection import add_connection, target
from agent.cli.parser import add_command

if TYPE_CHECKING:
    from types import ModuleType

_EXAMPLES = """\
examples:
  accel-agent show qat
  accel-agent show qat status
  accel-agent show qat device qat_dev0 flows
  accel-agent show qat device 0000:01:00.0 config
  accel-agent show qat interrupts --format json
  accel-agent show cpu --host gateway.example --user admin
  accel-agent show kernel-crypto
  accel-agent show ipsec
"""
_QAT_EXAMPLES = """\
examples:
  accel-agent show qat
  accel-agent show qat --format json | jq '."hardware-acceleration:acceleration".qat.device[].address'
  accel-agent show qat status --unix-socket ./netconf.sock
"""
_STATUS_EXAMPLES = """\
examples:
  accel-agent show qat status
  accel-agent show qat status | grep 'qat_dev0 .* state: up'
"""
_DEVICE_EXAMPLES = """\
examples:
  accel-agent show qat device qat_dev0 flows
  accel-agent show qat device 01:00.0 config
  accel-agent show qat device 0000:01:00.0 flows --format json
"""
_INTERRUPTS_EXAMPLES = """\
examples:
  accel-agent show qat interrupts
  accel-agent show qat interrupts --format json | jq '[.. | .total? // empty | tonumber] | add'
"""
_CPU_EXAMPLES = """\
examples:
  accel-agent show cpu
  accel-agent show cpu --format json
"""
_KERNEL_CRYPTO_EXAMPLES = """\
examples:
  accel-agent show kernel-crypto
  accel-agent show kernel-crypto --all
  accel-agent show kernel-crypto --format json
"""
_IPSEC_EXAMPLES = """\
examples:
  accel-agent show ipsec
  accel-agent show ipsec --format json | jq '."hardware-acceleration:acceleration".ipsec'
"""


def add(commands: Any) -> None:  # noqa: ANN401 - argparse's own type is private
    """Add the command's parsers."""
    show = _parser(
        commands, "show", "show devices, their work, the CPU and IPsec", "Show what an agent reports.", _EXAMPLES
    )
    subjects = show.add_subparsers(title="subjects", required=True, metavar="SUBJECT")
    qat = _parser(
        subjects,
        "qat",
        "QAT devices",
        "List the QAT devices of the gateway, each with its state.",
        _QAT_EXAMPLES,
        show_qat,
    )
    views = qat.add_subparsers(title="views", required=False, metavar="VIEW")
    _parser(views, "status", "state of each device", "Show each device's state.", _STATUS_EXAMPLES, show_status)
    device = _parser(
        views,
        "device",
        "configuration or counters of one device",
        "Show a device's configuration, or its firmware counters.",
        _DEVICE_EXAMPLES,
        show_device,
    )
    name: Any = device.add_argument("device", metavar="NAME", help="qat_devN, or a PCI address such as 0000:01:00.0")
    name.completer = show_device.names
    device.add_argument("view", choices=("config", "flows"), help="what to show")
    _parser(
        views,
        "interrupts",
        "interrupts of the devices",
        "Show the devices' interrupts, counted on each CPU.",
        _INTERRUPTS_EXAMPLES,
        show_interrupts,
    )
    _parser(
        subjects,
        "cpu",
        "the CPU's instructions for cryptography",
        "Show what the CPU has for cryptography.",
        _CPU_EXAMPLES,
        show_cpu,
    )
    kernel_crypto = _parser(
        subjects,
        "kernel-crypto",
        "the kernel's algorithms and their drivers",
        "Show what the kernel can compute for IPsec and what QAT registers there, and which drivers are selected.\n"
        "JSON and XML always have all algorithms.",
        _KERNEL_CRYPTO_EXAMPLES,
        show_kernel_crypto,
    )
    kernel_crypto.add_argument("--all", action="store_true", help="also what IPsec does not ask for")
    _parser(
        subjects,
        "ipsec",
        "the IPsec service and its tunnels",
        "Show the IPsec service, its security associations with their algorithms and traffic, and whether an\n"
        "accelerator does their work, why, and what would be better.",
        _IPSEC_EXAMPLES,
        show_ipsec,
    )


def _parser(
    commands: Any,  # noqa: ANN401
    name: str,
    summary: str,
    description: str,
    examples: str,
    view: ModuleType | None = None,
) -> argparse.ArgumentParser:
    """Add a parser; a ``view`` has ``read(client, options)`` and ``render(tree, options)``."""
    parser = add_command(commands, name, summary, description, examples)
    parser.add_argument(
        "--format",
        choices=("table", "json", "xml"),
        default=argparse.SUPPRESS,
        help="table for people (default); json (RFC 7951: 64-bit counters are strings) or xml for programs",
    )
    add_connection(parser)
    if view is not None:
        parser.set_defaults(run=_run, view_module=view)
    return parser


def _run(options: argparse.Namespace) -> int:
    from agent.cli import output, reply
    from agent.cli.client import connect

    with connect(target(options)) as client:
        found = options.view_module.read(client, options)
    form = getattr(options, "format", "table")
    if form == "xml":
        output.show_xml(found)
    elif form == "json":
        output.show_json(reply.data(found, wide_as_text=True))
    else:
        output.show(options.view_module.render(reply.acceleration(reply.data(found)), options))
    return 0
