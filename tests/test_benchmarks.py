"""The benchmarks measure every row; with one of everything, as what the figures say is no test."""

import importlib
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from lxml import etree

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
SVG = "{http://www.w3.org/2000/svg}"
NAMES = [
    "start to ready, p50",
    "resident memory, 1 idle session",
    "resident memory, 3 idle sessions",
    "CPU, 3 idle sessions",
    "CPU, 3 subscribers to one device's flows, each second",
    "reads of the device, 3 subscribers to its flows, each second",
    "connect + hello, OpenSSH's client, p50",
    "connect + hello, asyncssh's client, p50",
    "get-config, subtree filter, p50",
    "get-config, subtree filter, p99",
    "get-config, 1 session, window 64",
    "get-config, 10 sessions, window 8",
    "edit-config + commit of one leaf, durable, p50",
    "edit-config + commit of one leaf, in memory, p50",
    "edit-config + commit of one leaf of acceleration, in memory, p50",
    "edit-config of 20 entries + commit, durable",
    "edit-config + commit of one leaf in 20 entries, durable, p50",
    "edit-config + commit of one leaf in 20 entries, in memory, p50",
    "get of 20 entries, p50",
]


@pytest.fixture
def measure(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return the module as the benchmarks see it: they are scripts, their folder is on the path."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("measure")


@pytest.fixture
def devices(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("devices")


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("servers")


def run(*options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(BENCHMARKS), *options]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=240)


@pytest.mark.needs("ssh")
def test_every_row_is_measured_and_no_process_stays(tmp_path: Path) -> None:
    done = run(
        "--trial", "--folder", str(tmp_path), "--json", str(tmp_path / "figures.json"),
        "--plot", str(tmp_path / "figures.svg"), "--update", str(tmp_path / "figures.md"),
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads((tmp_path / "figures.json").read_text())
    assert [row["name"] for row in result["rows"][: len(NAMES)]] == NAMES
    flows, interrupts, every, parsing = result["rows"][len(NAMES) :]
    assert flows["name"].startswith("get of one device's flows, 2 devices, 8 CPUs")
    assert interrupts["name"].startswith("get of one device's interrupts, 2 devices, 8 CPUs")
    assert every["name"].startswith("get of all interrupts, 2 devices, 8 CPUs")
    assert parsing["name"] == every["name"] + ", by parsing alone"
    assert parsing["agent"] == every["agent"]
    assert all(row["agent"] > 0 and row["floor"] > 0 for row in result["rows"] if not row["name"].startswith("CPU"))
    page = (tmp_path / "figures.md").read_text()
    assert all(row["name"] in done.stdout and f"| {row['name']} |" in page for row in result["rows"])
    bars = etree.parse(tmp_path / "figures.svg").findall(f"{SVG}rect")
    assert len(bars) == 2 + 2 * len(result["rows"])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["figures.json", "figures.md", "figures.svg"]
    assert not [line for line in command_lines() if str(tmp_path) in line]


def test_the_floor_of_all_interrupts_has_the_count_of_each_vector_and_cpu(devices: ModuleType) -> None:
    text = (
        b"       CPU0  CPU1  CPU3\n  8:  1 2 3  IO-APIC 8-edge rtc0\n130:  10  0  5  IR-PCI-MSIX-0000:01:00.0 0-edge "
        b"qat0-bundle0\n131:  0  7  0  PCI-MSI 524289-edge qat0-ae-cluster\nERR:  0\n"
    )

    assert devices._parsed(text) == {b"130": [10, 0, 5], b"131": [0, 7, 0]}


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("import sys; sys.exit('no port is free')", "a server does not start: no port is free"),
        ("print('{\"netconf\": {\"port\": 1}}', flush=True); exit('out of memory')", "ended .*: out of memory"),
    ],
)
def test_a_server_that_fails_is_told_of(servers: ModuleType, tmp_path: Path, program: str, said: str) -> None:
    with (
        pytest.raises(servers.BenchmarkError, match=said),
        servers.running([sys.executable, "-c", program], tmp_path / "log") as server,
    ):
        wait_for_end(server.pid)


@pytest.mark.parametrize(
    ("goal", "agent", "met"),
    [
        (None, 1.0, None),
        ((2.0,), 2.0, True),
        ((2.0,), 2.1, False),
        ((5000, False, True), 5000, True),
        ((5000, False, True), 4999, False),
        ((1.2, True), 12.0, True),
        ((1.2, True), 12.1, False),
    ],
)
def test_goals(measure: ModuleType, goal: tuple[Any, ...] | None, agent: float, met: bool | None) -> None:
    row = measure.Row("work", "ms", agent, 10.0, 1, goal and measure.Goal(*goal))

    assert row.met is met
    assert row.ratio == pytest.approx(agent / 10)


def test_a_goal_by_the_floor_needs_one(measure: ModuleType) -> None:
    row = measure.Row("work", "ms", 1.0, None, 1, measure.Goal(1.2, times_floor=True))

    assert (row.met, row.ratio) == (None, None)


def test_percentiles_are_samples(measure: ModuleType) -> None:
    samples = [float(number) for number in range(100, 0, -1)]

    assert [measure.percentile(samples, percent) for percent in (0, 50, 99, 100)] == [1, 50, 99, 100]
    assert measure.percentile([7.0], 99) == 7


def test_sides_take_turns(measure: ModuleType) -> None:
    order: list[str] = []

    def side(name: str) -> Callable[[], list[int]]:
        def once() -> list[int]:
            order.append(name)
            return [len(order)]

        return once

    assert measure.take_turns([side("a"), side("b")], rounds=3) == [[1, 4, 5], [2, 3, 6]]
    assert "".join(order) == "abbaab"


def wait_for_end(pid: int) -> None:
    deadline = time.monotonic() + 20
    while ") Z " not in Path(f"/proc/{pid}/stat").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def command_lines() -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(path.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue  # ended meanwhile
    return found
