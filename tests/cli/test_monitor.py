"""``monitor`` with real agents: pictures printed, as JSON and on a screen, and agents that go away."""

from __future__ import annotations

import json
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import simulator.faults
from tests.cli.conftest import COMMAND, serving
from tests.system.client import DEADLINE, until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.cli.conftest import Gateway, Result, ScriptedAgent
    from tests.system.gateway import Gateway as Machine

    Run = Callable[..., Result]
    Start = Callable[..., ScriptedAgent]

ADDRESS = "0000:3d:00.0"
HA = "hardware-acceleration:acceleration"
QAT = '<acceleration xmlns="urn:accel-agent:hardware-acceleration"><qat>{}</qat></acceleration>'
RESTART = QAT.format(f"<device><address>{ADDRESS}</address><restart/></device>")
NO_ADMIN = (
    '<nacm xmlns="urn:ietf:params:xml:ns:yang:ietf-netconf-acm" xmlns:nc="urn:ietf:params:xml:ns:netconf:base:1.0">'
    '<groups><group nc:operation="delete"><name>admin</name></group></groups></nacm>'
)


def failed(result: Result) -> str:
    """Return the one line of a command that failed."""
    assert (result.returncode, result.stdout) == (1, ""), result
    (line,) = result.stderr.splitlines()
    return line.removeprefix("accel-agent: ")


def printed(result: Result) -> list[str]:
    """Return the lines of a command that succeeded."""
    assert (result.returncode, result.stderr) == (0, ""), result
    return result.stdout.splitlines()


class Lines:
    """The lines that a command prints, each as it comes; ``end`` says how it ended."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)

    def next(self) -> Any:
        """Return the next line's object."""
        return json.loads(self._lines.get(timeout=DEADLINE))

    def until(self, holds: Callable[[Any], object]) -> Any:
        """Return the next line's object of which something holds."""
        deadline = time.monotonic() + DEADLINE
        while not holds(found := self.next()):
            assert time.monotonic() < deadline, found
        return found


@contextmanager
def monitoring(machine: Machine, *flags: str) -> Iterator[Lines]:
    """Run monitor --format json; it is ended by Ctrl-C, and that is no failure."""
    words = ["monitor", "--format", "json", "--interval", "1", "--unix-socket", str(machine.socket), *flags]
    with subprocess.Popen(
        [*COMMAND, *words], cwd=machine.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield Lines(process)
            process.send_signal(signal.SIGINT)
            assert process.wait(DEADLINE) == 0
            assert process.stderr is not None
            assert process.stderr.read() == ""
        finally:
            process.kill()


def rate_of(line: Any) -> float | None:
    """Return the requests in a second of the only device."""
    (device,) = line["rates"]["device"]
    assert device["address"] == ADDRESS
    rate: float | None = device.get("requests")
    return rate


def requests_of(line: Any) -> int | None:
    """Return all requests of the only device."""
    (device,) = line[HA]["qat"]["device"]
    requests: int | None = device.get("flows", {}).get("requests")
    return requests


def test_once_prints_what_is_there(up: Gateway) -> None:
    lines = printed(up("monitor", "--once"))

    assert lines[0].endswith(f"  {up.ready['unix_socket']}")
    assert lines[1:5] == [
        "QAT: configured yes, active yes, fallen back to software no",
        "CPU: load –",
        "",
        "device    address       state  requests/s  in flight  errors c/n/f  link errors  heartbeat",
    ]
    assert lines[5].split()[:3] == ["qat_dev0", ADDRESS, "up"]
    assert lines[7:10] == [
        "IPsec: strongswan-starter running",
        "no tunnels: there are none, or you have no right to read them",
        "",
    ]
    # What was before the command was started is told, too.
    assert lines[10] == "last events"
    assert [line.split("  ", 1)[1] for line in lines[11:13]] == [
        "acceleration is on (commit)",
        f"qat_dev0 ({ADDRESS}): down → up",
    ]


def test_once_without_a_device(bare_gateway: Gateway) -> None:
    lines = printed(bare_gateway("monitor", "--once"))

    assert lines[1] == "QAT: configured no, active no, fallen back to software no"
    assert lines[4] == "no QAT device: there is none, or you have no right to read it"
    assert lines[-1] == "none"


def test_a_device_that_is_down_says_why(gateway: Gateway) -> None:
    lines = printed(gateway("monitor", "--once"))

    assert lines[5].split() == [ADDRESS, ADDRESS, "down", *"–––––"]
    assert lines[6].startswith(f"  {ADDRESS}: ")


def test_count_prints_that_many_pictures_with_the_rate_between_them(up: Gateway) -> None:
    lines = printed(up("monitor", "--count", "2", "--interval", "1"))

    assert lines.count("QAT: configured yes, active yes, fallen back to software no") == 2
    (row,) = [line.split() for line in lines if "█" in line]
    assert row[:3] == ["qat_dev0", ADDRESS, "up"]
    assert int(row[3]) > 0
    first, second = [line for line in lines if line.startswith("CPU: ")]
    assert first == "CPU: load –"
    assert re.fullmatch(r"CPU: load [1-9][0-9]? %", second)


def test_json_is_an_object_a_line(up: Gateway) -> None:
    first, second = (json.loads(line) for line in printed(up("monitor", "--format", "json", "--count", "2")))

    device = second[HA]["qat"]["device"][0]
    assert device["oper-status"] == "up"
    before = first[HA]["qat"]["device"][0]["flows"]["requests"]
    grown = device["flows"]["requests"] - before
    assert grown > 0
    assert rate_of(second) == pytest.approx(grown / second["seconds"], rel=0.01)
    assert rate_of(first) is None
    busy, total = (second[HA]["cpu"]["time"][leaf] - first[HA]["cpu"]["time"][leaf] for leaf in ("busy", "total"))
    assert 0 < busy < total
    assert second["rates"]["cpu"] == {"load": pytest.approx(100 * busy / total, abs=0.001)}
    assert "cpu" not in first["rates"]
    assert first["events"] == second["events"] == []


def test_json_tells_what_happens_and_no_rate_over_a_reset(machine: Machine) -> None:
    client = machine.connect()
    with monitoring(machine) as lines:
        before = requests_of(lines.until(rate_of)) or 0
        client.rpc(f'<action xmlns="urn:ietf:params:xml:ns:yang:1">{RESTART}</action>')
        told: list[str] = []

        def began_anew(line: Any) -> bool:
            told.extend(name for event in line["events"] for name in event)
            requests = requests_of(line)
            return requests is not None and requests < before

        assert rate_of(lines.until(began_anew)) is None
        lines.until(rate_of)

    assert "hardware-acceleration:ipsec-refresh" in told


def test_errors_are_shown(tmp_path: Path) -> None:
    with serving(tmp_path, "--device", "4xxx@0000:6b:00.0") as gateway:
        simulator.faults.errors(Path(gateway.ready["sysroot"]), "0000:6b:00.0", correctable=4)
        lines = printed(gateway("monitor", "--once"))

    headings, row = (line.split("  ") for line in lines[4:6])
    assert "4/0/0" in row, (headings, row)


def test_an_agent_that_was_away_is_found_again_with_what_happened_meanwhile(machine: Machine) -> None:
    with monitoring(machine) as lines:
        lines.until(rate_of)
        machine.kill()
        problem = lines.until(lambda line: "problem" in line)
        assert re.match(r"trying again in \d+ s: ", problem["problem"])
        assert HA not in problem
        simulator.faults.down(machine.root, ADDRESS)
        machine.start()
        back = lines.until(lambda line: "problem" not in line)
        assert rate_of(back) is None
        if not back["events"]:
            back = lines.until(lambda line: line.get("events"))
        # The agent brings a device up again that it finds down when it starts.
        (event,) = (event for event in back["events"] if "hardware-acceleration:device-state-change" in event)
        assert event["hardware-acceleration:device-state-change"]["new-status"] == "up"
        assert datetime.fromisoformat(event["eventTime"]) > datetime.fromisoformat(problem["time"])


def test_without_an_agent_it_fails_at_once(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "none.sock"
    told = f"there is no socket {path}: start accel-agent serve, or give --unix-socket or --host"

    for flags in (["--once"], ["--count", "3"], ["--format", "json"], []):
        assert failed(run("monitor", *flags, "--unix-socket", str(path))) == told


def test_once_fails_where_the_agent_hangs_up(run: Run, scripted: Start) -> None:
    path = scripted(replies={"get": None}).path

    assert failed(run("monitor", "--once", "--unix-socket", str(path))) == (
        f"the agent ended the session ({path}): see its log"
    )


ERROR = (
    "<rpc-error><error-type>application</error-type><error-tag>{}</error-tag>"
    "<error-severity>error</error-severity><error-message>{}</error-message></rpc-error>"
)


def test_once_fails_where_nothing_can_be_read(run: Run, scripted: Start) -> None:
    path = scripted(replies={"get": ERROR.format("operation-failed", "the bus can't be read")}).path

    line = failed(run("monitor", "--once", "--unix-socket", str(path)))

    assert line == "the bus can't be read (operation-failed)"


@pytest.mark.parametrize("form", ["table", "json"])
def test_nothing_that_an_agent_says_steers_the_terminal(run: Run, scripted: Start, form: str) -> None:
    device = f"<device><address>{ADDRESS}</address><status-reason>a\x9b2Jb\u202ec</status-reason></device>"
    path = scripted(replies={"get": f"<data>{QAT.format(device)}</data>"}).path

    lines = printed(run("monitor", "--once", "--format", form, "--unix-socket", str(path)))

    assert all(line.isprintable() for line in lines)
    assert any("2Jb" in line for line in lines)


def test_an_agent_without_subscriptions_is_shown_without_events(run: Run, scripted: Start) -> None:
    refused = ERROR.format("operation-not-supported", "there is no such operation")
    data = f"<data>{QAT.format('<active>true</active>')}</data>"
    agent = scripted(replies={"sn:establish-subscription": refused, "get": data})

    lines = printed(run("monitor", "--once", "--unix-socket", str(agent.path)))

    assert lines[1] == "QAT: configured –, active yes, fallen back to software –"
    assert lines[-2:] == ["last events", "no events: there is no such operation (operation-not-supported)"]


def test_a_user_sees_what_access_control_permits(tmp_path: Path) -> None:
    with serving(tmp_path, "--device", "c6xx@3d:00.0") as gateway:
        for words in (("set", "qat", "enabled", "true"), ("commit",)):
            assert gateway(*words).returncode == 0
        rules = tmp_path / "rules.xml"
        rules.write_text(NO_ADMIN)
        assert gateway("load", str(rules)).returncode == 0
        assert gateway("commit").returncode == 0

        lines = printed(gateway.ssh("monitor", "--once", "--accept-new-host-key", home=tmp_path))
        (line,) = printed(gateway.ssh("monitor", "--once", "--format", "json", home=tmp_path))

    assert "cpu" not in json.loads(line)[HA]
    assert lines[5].split()[:5] == ["qat_dev0", ADDRESS, "up", "–", "–"]
    assert lines[6].startswith("  qat_dev0: no requests/s: its driver counts none, or you have no right to read them")
    assert any(line.endswith("acceleration is on (commit)") for line in lines)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_an_encoding_without_dashes_is_no_fault(up: Gateway, encoding: str) -> None:
    result = subprocess.run(
        [*COMMAND, "monitor", "--once", "--unix-socket", up.ready["unix_socket"]],
        cwd=up.home,
        env={**os.environ, "PYTHONIOENCODING": encoding},
        capture_output=True,
        timeout=DEADLINE,
        check=True,
    )

    assert b"no tunnels: there are none" in result.stdout


@pytest.mark.needs("bash")
def test_who_reads_no_more_ends_it(up: Gateway) -> None:
    command = " ".join([*COMMAND, "monitor", "--interval", "1", "--unix-socket", up.ready["unix_socket"]])
    result = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command} | head -1"],
        cwd=up.home,
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
    )

    assert (result.returncode, result.stderr) == (0, "")


def test_ctrl_c_before_all_pictures_were_printed_is_no_success(machine: Machine) -> None:
    words = ["monitor", "--count", "1000", "--format", "json", "--unix-socket", str(machine.socket)]
    with subprocess.Popen([*COMMAND, *words], cwd=machine.folder, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(DEADLINE) == 130


def test_an_agent_that_hangs_is_tried_again_and_nothing_is_left_of_each_attempt(machine: Machine) -> None:
    with monitoring(machine, "--timeout", "1") as lines:
        lines.until(rate_of)
        os.kill(machine.pid, signal.SIGSTOP)
        try:
            told = [lines.until(lambda line: "problem" in line)["problem"] for _ in range(3)]
            tasks = Path(f"/proc/{lines.process.pid}/task")
            until(lambda: len(list(tasks.iterdir())) == 1, "the threads of the sessions end")
            sockets = Path(f"/proc/{lines.process.pid}/fd")
            until(
                lambda: not [fd for fd in sockets.iterdir() if "socket" in str(fd.readlink())],
                "their sockets are closed",
            )
        finally:
            os.kill(machine.pid, signal.SIGCONT)
        lines.until(rate_of)

    assert told[0].startswith("trying again in 1 s: the agent did not answer within 1 s")
    assert told[1].startswith("trying again in 2 s: what listens on")
    assert told[2].startswith("trying again in 4 s: what listens on")


def test_it_loads_nothing_of_the_server(up: Gateway) -> None:
    script = "import sys; from agent import cli; print(cli.main(sys.argv[1:])); print(*sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", script, "monitor", "--once", "--unix-socket", up.ready["unix_socket"]],
        cwd=up.home,
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=True,
    )

    *_, status, modules = result.stdout.splitlines()
    assert status == "0"
    assert not {"asyncssh", "paramiko", "oopt_gnpy_libyang", "pyang", "agent.app", "simulator"} & set(modules.split())
