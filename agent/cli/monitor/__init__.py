"""``monitor``: the live view of the devices, their requests and errors, of the CPU's load and of the IPsec tunnels."""

from __future__ import annotations

import argparse
from typing import Any

from agent.cli.connection import add_connection, target, within

_EXAMPLES = """\
In a terminal the picture fills the screen: q or Ctrl-C leaves, Ctrl-Z suspends. Elsewhere, and with --once or --count,
pictures are printed one after another. What is not known is a dash (–): there is none, or access control keeps it from
you. An agent that goes away is waited for.

examples:
  accel-agent monitor
  accel-agent monitor --interval 5 --host gateway.example --user admin
  accel-agent monitor --once
  accel-agent monitor --count 60 --interval 1 > minute.txt
  accel-agent monitor --format json | jq -c '.rates.device[]?'

exit status: 0 somebody left, or all pictures were printed; 1 there is no agent, at first or with --once; 2 wrong usage
"""
_INTERVAL = 2
_LONGEST_INTERVAL = 3600
_MOST = 1_000_000_000


def add(commands: Any) -> None:  # noqa: ANN401 - argparse's own type is private
    """Add the command's parser."""
    parser = commands.add_parser(
        "monitor",
        help="watch devices, requests, errors and tunnels",
        description="Show, again and again, the state of each QAT device, its requests a second and its errors, the\n"
        "CPU's load, the IPsec tunnels with their traffic and whether an accelerator does their work, and the last\n"
        "events.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--interval",
        type=within(1, _LONGEST_INTERVAL),
        default=_INTERVAL,
        metavar="SECONDS",
        help="time between two pictures (default %(default)s)",
    )
    many = parser.add_mutually_exclusive_group()
    many.add_argument("--once", action="store_true", help="print one picture")
    many.add_argument("--count", type=within(1, _MOST), metavar="N", help="print so many pictures")
    parser.add_argument(
        "--format",
        choices=("table", "json"),
        default="table",
        help="table for people (default); json for programs: an object for each picture, each on a line of its own",
    )
    add_connection(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    from agent.cli.monitor import show

    count = 1 if options.once else options.count
    if options.format == "json":
        return show.as_json(target(options), options.interval, count)
    if count is None and show.is_screen():
        return show.on_screen(target(options), options.interval)
    return show.printed(target(options), options.interval, count)
