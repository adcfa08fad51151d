"""Measure the agent against the floor of its SSH library: ``python benchmarks``."""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import connection
import devices
import latency
import picture
import push
import report
import resources
import servers
import throughput
from measure import Counts
from rich.console import Console

if TYPE_CHECKING:
    from collections.abc import Callable

    from measure import Row
    from servers import Place

_RESULTS: Final = Path(__file__).resolve().parent / "RESULTS.md"
_MOST: Final = 235  # seconds; whatever hangs, the run ends
_FULL: Final = Counts(
    turns=40, slow_turns=15, rounds=7, starts=5, connects=40, requests=50, commits=5, fills=3, entries=20_000,
    rpcs=4_000, sessions=200, seconds=5, devices=8, cpus=256,
)  # fmt: skip
_QUICK: Final = Counts(
    turns=10, slow_turns=3, rounds=3, starts=2, connects=8, requests=30, commits=3, fills=1, entries=20_000,
    rpcs=1_500, sessions=50, seconds=2, devices=8, cpus=256,
)  # fmt: skip
_TRIAL: Final = Counts(
    turns=1, slow_turns=1, rounds=1, starts=1, connects=1, requests=2, commits=2, fills=1, entries=20,
    rpcs=20, sessions=3, seconds=0.1, devices=2, cpus=8,
)  # fmt: skip
_WORK: Final[dict[str, Callable[[Place, Counts], list[Row]]]] = {
    "start": resources.start,
    "idle": resources.idle,
    "push": push.subscribers,
    "connect": connection.connect,
    "read": latency.read,
    "throughput": throughput.throughput,
    "change": latency.change,
    "devices": devices.counters,
}


def main() -> int:
    """Measure, and show. Return 0, or 1 when something can't be measured."""
    options = _parser().parse_args()
    for number in (signal.SIGALRM, signal.SIGTERM):
        signal.signal(number, _give_up)
    signal.alarm(_MOST)
    errors = Console(stderr=True)
    if shutil.which("ssh") is None:
        errors.print("benchmarks: OpenSSH's client is needed: install openssh-client")
        return 1
    machine = report.this_machine()
    rows: list[Row] = []
    try:
        with tempfile.TemporaryDirectory(prefix="accel-agent-bench-", dir=options.folder) as folder:
            place = servers.prepare(Path(folder))
            for name in options.only or _WORK:
                started = time.perf_counter()
                with errors.status(f"measuring: {name} …"):
                    rows += _WORK[name](place, options.counts)
                errors.print(f"measured: {name} ({time.perf_counter() - started:.0f} s)", style="dim")
    except servers.BenchmarkError as error:
        errors.print(f"benchmarks: {error}", markup=False)
        return 1
    except KeyboardInterrupt:
        return 130
    Console(width=None if sys.stdout.isatty() else 160).print(report.table(rows, machine))
    if options.json:
        options.json.write_text(json.dumps(report.as_json(rows, machine), indent=1) + "\n")
    if options.plot:
        options.plot.write_text(picture.svg(rows, machine))
    if options.update:
        options.update.write_text(report.page(rows, machine))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="benchmarks",
        description="Measure the agent against a server of canned replies on the same SSH library.",
    )
    amount = parser.add_mutually_exclusive_group()
    amount.add_argument("--quick", dest="counts", action="store_const", const=_QUICK, help="fewer of everything")
    amount.add_argument(
        "--trial", dest="counts", action="store_const", const=_TRIAL, help="one of everything: the figures mean nothing"
    )
    parser.add_argument("--only", action="append", choices=_WORK, help="measure this; may be repeated")
    parser.add_argument("--folder", type=_folder, metavar="DIR", help="where durable is measured (a temporary folder)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures as JSON")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw them, as SVG")
    parser.add_argument(
        "--update", type=Path, nargs="?", const=_RESULTS, metavar="FILE", help="write the page (benchmarks/RESULTS.md)"
    )
    parser.set_defaults(counts=_FULL)
    return parser


def _folder(text: str) -> Path:
    path = Path(text).absolute()
    if not path.is_dir():
        raise argparse.ArgumentTypeError(f"{text} is no directory")
    return path


def _give_up(number: int, _frame: object) -> None:
    if number == signal.SIGALRM:
        raise servers.BenchmarkError(f"the run takes longer than {_MOST} s")
    sys.exit(1)


sys.exit(main())
