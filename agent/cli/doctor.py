"""``doctor``: the troubleshooting list, gone through on the machine itself. No agent is needed."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, Final

from agent.cli.connection import Target, within

_EXAMPLES = """\
Begin with the first problem: it may be the cause of those after it. Nothing is changed. Run it as root: without, the
checks that need root say so.

examples:
  sudo accel-agent doctor
  sudo accel-agent doctor --format json | jq '.findings[] | select(.verdict == "problem")'
  sudo accel-agent doctor --heartbeat --interval 5
  accel-agent doctor --sysroot ./gateway

exit status: 0 no problem was found, 1 one was, 2 wrong usage
"""
_ROOT: Final = Path("/")
_LONGEST_INTERVAL: Final = 60


def add(commands: Any) -> None:  # noqa: ANN401 - argparse's own type is private
    """Add the command's parser."""
    parser = commands.add_parser(
        "doctor",
        help="find out why QAT or IPsec does not work as it should",
        description="Go through the troubleshooting list on this machine, and say what to do.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--sysroot",
        type=Path,
        default=_ROOT,
        metavar="DIR",
        help="where the machine's files are (default /)",
    )
    parser.add_argument(
        "--format", choices=("table", "json"), default="table", help="table for people (default); json for programs"
    )
    parser.add_argument(
        "--heartbeat",
        action="store_true",
        help="ask the devices' firmware too, once; don't where the agent's own health checks do",
    )
    parser.add_argument(
        "--interval",
        type=within(1, _LONGEST_INTERVAL),
        default=1,
        metavar="SECONDS",
        help="how long to watch the counters (default 1)",
    )
    parser.add_argument(
        "--unix-socket",
        type=Path,
        metavar="PATH",
        help=f"local socket of an agent to compare with (default {Target().unix_socket}, and none with --sysroot)",
    )
    parser.set_defaults(run=_run, parser=parser)


def _run(options: argparse.Namespace) -> int:
    import os
    import sys

    from agent.cli import doctor_report, output
    from agent.cli.doctor_intent import Intent
    from translators.doctor.examination import CHECKS, examine
    from translators.doctor.finding import PROBLEM
    from translators.doctor.look import Look
    from translators.real_host import RealHost

    if not options.sysroot.is_dir():
        options.parser.error(f"--sysroot {options.sysroot}: no such directory")
    sysroot = options.sysroot.absolute()
    socket = options.unix_socket or (Target().unix_socket if sysroot == _ROOT else None)
    # Not Path.exists: this one says no as well where a folder may not be looked into.
    served = socket is not None and os.path.exists(socket)  # noqa: PTH110
    intent = Intent(socket)
    look = Look(
        RealHost(sysroot),
        interval=options.interval,
        heartbeat=options.heartbeat,
        agent=served,
        disabled=intent.disabled,
    )
    root = os.geteuid() == 0
    found = list(examine(look, root=root, checks=(*CHECKS, intent.check)))
    root = root or not look.denied
    if options.format == "json":
        output.show_json(doctor_report.tree(found, sysroot=str(sysroot), root=root))
    else:
        output.show(doctor_report.render(found, root=root))
    problems = [check.title for check, finding in found if finding.verdict == PROBLEM]
    if not problems:
        return 0
    told = f"{len(problems)} problem{'s' if len(problems) > 1 else ''}"
    print(f"accel-agent: {told}; begin with the first one: {problems[0]}", file=sys.stderr)
    return 1
