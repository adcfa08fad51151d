"""The figures as a table for people, as JSON for programs, and as the page that stays."""

from __future__ import annotations

import os
import platform
import subprocess
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import asyncssh
from rich import box
from rich.table import Table

from agent import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    from measure import Goal, Row

_PAGE = """\
# Benchmarks: the last figures

{machine}

{table}

{goals}

The floor is a server that answers everything with the same bytes, on the agent's SSH library and algorithms, in one
process: what no server on that library can beat. Agent and floor take turns, round by round, with one client: a raw one
over OpenSSH's `ssh -s netconf`, which frames and counts and parses nothing. Times are medians, or the 99th percentile
where it says so. The ratio holds on other machines, the figures do not.

- *In memory*: the state directory is on a file system where a durable commit costs nothing. *Durable*: it is on disk,
  and the floor has one durable write of a file of that size (write, fsync, rename, fsync of the directory) in it.
- The floor of a device's counters has one reading of the file behind them in it, and nothing that would parse it.
- The floor of all interrupts has one reading of /proc/interrupts in it, and parsing it into a number for each interrupt
  of a device and CPU, by the least that does that. *By parsing alone* the floor is only that, while the agent's figure
  still has in it what it takes to carry the reply to the client.
- The floor of subscribers answers each of as many requests a second with the same update; nobody reads the device less
  than once a second.
- Idle sessions are SSH connections of their own. CPU time has a resolution of 10 ms; memory is the resident set.

`make bench` measures again; `make bench ARGS=--update` also rewrites this page.
"""


@dataclass(frozen=True, slots=True)
class Machine:
    """Where and when it was measured, and with what; ``load`` is the load average of the minute before."""

    date: str
    cpu: str
    cores: int
    load: float
    kernel: str
    python: str
    openssh: str
    asyncssh: str
    agent: str

    def __str__(self) -> str:
        return (
            f"{self.date}, {self.cpu}, {self.cores} cores (load before {self.load:.1f}), Linux {self.kernel}, "
            f"Python {self.python}, {self.openssh}, asyncssh {self.asyncssh}, accel-agent {self.agent}"
        )


def this_machine() -> Machine:
    """Return what is known of this machine."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    said = subprocess.run(["ssh", "-V"], capture_output=True, text=True, timeout=10, check=True)  # noqa: S607
    return Machine(
        date=datetime.now(UTC).strftime("%Y-%m-%d"),
        cpu=models[0] if models else platform.machine(),
        cores=len(os.sched_getaffinity(0)),
        load=os.getloadavg()[0],
        kernel=platform.release().partition("-")[0],
        python=platform.python_version(),
        openssh=said.stderr.partition(",")[0].strip(),
        asyncssh=asyncssh.__version__,
        agent=__version__,
    )


def table(rows: Sequence[Row], machine: Machine) -> Table:
    """Return the table for a terminal."""
    shown = Table(box=box.SIMPLE_HEAD, caption=str(machine), caption_justify="left")
    shown.add_column("work")
    for heading in ("agent", "floor", "ratio", "goal", ""):
        shown.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        *cells, met = _cells(row)
        shown.add_row(*cells, met, style={True: "green", False: "red", None: ""}[row.met])
    return shown


def as_json(rows: Sequence[Row], machine: Machine) -> dict[str, Any]:
    """Return everything as plain data."""
    return {
        "machine": asdict(machine),
        "rows": [{**asdict(row), "ratio": row.ratio, "met": row.met} for row in rows],
    }


def page(rows: Sequence[Row], machine: Machine) -> str:
    """Return the page in Markdown."""
    lines = ["| work | agent | floor | ratio | goal | |", "|---|--:|--:|--:|--:|---|"]
    lines += [f"| {' | '.join(_cells(row))} |" for row in rows]
    judged = [row for row in rows if row.met is not None]
    missed = [row.name for row in judged if not row.met]
    goals = f"{len(judged) - len(missed)} of {len(judged)} goals are met."
    if missed:
        goals += "".join(["\nMissed:\n", *(f"\n- {name}" for name in missed)])
    return _PAGE.format(machine=machine, table="\n".join(lines), goals=goals)


def figure(value: float, unit: str) -> str:
    """Return a figure with its unit, three digits or more."""
    if value >= 100:  # noqa: PLR2004
        return f"{value:,.0f} {unit}"
    return f"{value:.1f} {unit}" if value >= 10 or unit.startswith("%") else f"{value:.2f} {unit}"  # noqa: PLR2004


def _cells(row: Row) -> tuple[str, ...]:
    return (
        row.name,
        figure(row.agent, row.unit),
        figure(row.floor, row.unit) if row.floor is not None else "",
        f"{row.ratio:.2f}" if row.ratio is not None else "",
        _goal(row.goal, row.unit) if row.goal is not None else "",
        {True: "met", False: "missed", None: ""}[row.met],
    )


def _goal(goal: Goal, unit: str) -> str:
    sign = "≥" if goal.at_least else "≤"
    return f"{sign} {goal.limit:g} × floor" if goal.times_floor else f"{sign} {goal.limit:,g} {unit}"
