"""``doctor`` from end to end, on simulated machines: what it finds, prints and exits with."""

from __future__ import annotations

import errno
import json
import re
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

import simulator
from agent import cli
from agent.cli import doctor_report
from translators.doctor.finding import OK, UNKNOWN, Check, Finding
from translators.real_host import RealHost

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.cli.conftest import Gateway, Result

    Build = Callable[..., Path]
    Capture = pytest.CaptureFixture[str]

CONFIGURATION = "etc/c3xxx_dev0.conf"
SERVICE = "etc/init.d/qat_service"


@pytest.fixture
def build(tmp_path: Path) -> Iterator[Build]:
    """Return the function that makes a machine; ``start``: with its devices up."""
    root = tmp_path / "machine"

    def made(*devices: str, start: bool = True, **options: Any) -> Path:
        simulator.build(root, [simulator.parse_device(device) for device in devices], **options)
        if start:
            carry_out(root / SERVICE, "start")
        return root

    yield made
    simulator.stop(root)


def carry_out(program: Path, verb: str) -> None:
    subprocess.run([program, verb], stdin=subprocess.DEVNULL, capture_output=True, timeout=30, check=True)


def write(root: Path, name: str, text: str = "") -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def doctor(root: Path, *words: str) -> int:
    return cli.main(["doctor", "--sysroot", str(root), *words])


def findings(capsys: Capture, root: Path, *words: str) -> tuple[int, dict[str, list[dict[str, str]]]]:
    """Return the exit status, and the findings by check."""
    status = doctor(root, "--format", "json", *words)
    captured = capsys.readouterr()
    tree = json.loads(captured.out)
    found: dict[str, list[dict[str, str]]] = {}
    for finding in tree["findings"]:
        found.setdefault(finding["check"], []).append(finding)
    problems = [finding for finding in tree["findings"] if finding["verdict"] == "problem"]
    assert (tree["problems"], status) == (len(problems), min(len(problems), 1))
    assert len(captured.err.splitlines()) == status
    return status, found


def problems(found: dict[str, list[dict[str, str]]]) -> set[str]:
    assert all(finding.get("action") for rows in found.values() for finding in rows if finding["verdict"] == "problem")
    return {check for check, rows in found.items() for finding in rows if finding["verdict"] == "problem"}


# ── what it finds ────────────────────────────────────────────────────────────────────────────────


def test_a_healthy_machine_has_no_problem(build: Build, capsys: Capture) -> None:
    status, found = findings(capsys, build("c3xxx"), "--heartbeat")

    assert status == 0
    well = {"hardware", "driver", "stack", "configuration-file", "device-state", "services", "kernel-algorithms"}
    well |= {"interrupts", "counters", "heartbeat", "aes-instructions", "iommu"}
    assert {check for check, rows in found.items() for finding in rows if finding["verdict"] == "ok"} >= well
    assert found["ipsec"][0]["text"].startswith("tunnels with AES_CBC with HMAC_SHA2_256_128 use QAT")


def test_no_device(build: Build, capsys: Capture) -> None:
    _, found = findings(capsys, build(start=False))

    assert problems(found) == {"hardware"}
    assert "8086:19e2" in found["hardware"][0]["text"]
    assert "BIOS" in found["firmware-setup"][0]["action"]


def test_no_device_in_a_virtual_machine(build: Build, capsys: Capture) -> None:
    _, found = findings(capsys, build(start=False, virtual=True))

    assert problems(found) == {"hardware", "passthrough"}


def test_a_device_that_is_down(build: Build, capsys: Capture) -> None:
    _, found = findings(capsys, build("c3xxx", start=False))

    assert problems(found) == {"device-state"}
    assert "qat_service start" in found["device-state"][0]["action"]


def test_a_missing_configuration_file_is_named(build: Build, capsys: Capture) -> None:
    root = build("c3xxx", start=False)
    (root / CONFIGURATION).unlink()
    _, found = findings(capsys, root)

    assert problems(found) == {"configuration-file", "device-state"}
    assert f"/{CONFIGURATION}" in found["configuration-file"][0]["text"]


def test_compression_only(build: Build, capsys: Capture) -> None:
    root = build("c3xxx", start=False)
    path = root / CONFIGURATION
    path.write_text(path.read_text().replace("ServicesEnabled = cy", "ServicesEnabled = dc"))
    carry_out(root / SERVICE, "start")
    _, found = findings(capsys, root)

    assert problems(found) == {"services", "kernel-algorithms", "ipsec"}
    assert "compression only" in found["services"][0]["text"]
    assert found["ipsec"][0]["text"].startswith("tunnels with AES_CBC with HMAC_SHA2_256_128: software")


def test_no_driver(build: Build, capsys: Capture) -> None:
    _, found = findings(capsys, build("c3xxx", start=False, driver=False))

    assert problems(found) == {"driver"}


def test_both_drivers(build: Build, capsys: Capture) -> None:
    root = build("c3xxx")
    write(root, "proc/sys/kernel/osrelease", "6.6.1\n")
    for folder in ("updates/drivers/crypto/qat", "kernel/drivers/crypto/intel/qat"):
        write(root, f"lib/modules/6.6.1/{folder}/qat_common/intel_qat.ko.xz")
    _, found = findings(capsys, root)

    assert problems(found) == {"both-drivers"}


def test_a_missing_firmware_file(build: Build, capsys: Capture) -> None:
    root = build("c3xxx", start=False)
    write(root, "lib/firmware/qat_c3xxx_mmp.bin")
    _, found = findings(capsys, root)

    assert problems(found) == {"firmware-file", "device-state"}
    assert "qat_c3xxx.bin" in found["firmware-file"][0]["text"]


def test_no_aes_instructions(build: Build, capsys: Capture) -> None:
    _, found = findings(capsys, build("c3xxx", aes=False))

    assert problems(found) == {"aes-instructions"}


def test_ipsec_is_stopped(build: Build, capsys: Capture) -> None:
    root = build("c3xxx")
    carry_out(root / "usr/sbin/ipsec", "stop")
    _, found = findings(capsys, root)

    assert problems(found) == {"ipsec"}


def test_the_kernel_log(build: Build, capsys: Capture) -> None:
    root = build("c3xxx")
    write(root, "dev/kmsg", "[   12.5] c3xxx 0000:01:00.0: Failed to load MMP firmware qat_c3xxx_mmp.bin\n")
    _, found = findings(capsys, root)

    assert problems(found) == {"kernel-log"}
    assert "/lib/firmware" in found["kernel-log"][0]["action"]


# ── the running configuration ────────────────────────────────────────────────────────────────────


def compared(gateway: Gateway) -> dict[str, str]:
    result = gateway("doctor", "--sysroot", gateway.ready["sysroot"], "--format", "json")
    finding: dict[str, str] = json.loads(result.stdout)["findings"][-1]
    assert finding["check"] == "intent"
    return finding


def test_a_machine_that_is_as_configured(up: Gateway) -> None:
    assert (compared(up)["verdict"], compared(up)["text"].endswith("QAT is on")) == ("ok", True)


def test_a_machine_that_is_not_as_configured(fresh: Gateway, tmp_path: Path) -> None:
    service = tmp_path / fresh.ready["sysroot"] / SERVICE
    assert compared(fresh)["verdict"] == "ok"
    carry_out(service, "start")
    extra = compared(fresh)
    assert (extra["verdict"], "does not want it" in extra["text"]) == ("problem", True)
    for words in (("set", "qat", "enabled", "true"), ("commit",)):
        assert fresh(*words).returncode == 0
    carry_out(service, "stop")
    down = compared(fresh)
    assert (down["verdict"], "wants 0000:3d:00.0 up" in down["text"]) == ("problem", True)


def test_a_device_that_is_disabled_in_the_configuration_is_down_and_well(fresh: Gateway) -> None:
    for words in (("set", "qat", "device", "0000:3d:00.0", "enabled", "false"), ("commit",)):
        assert fresh(*words).returncode == 0
    result = fresh("doctor", "--sysroot", fresh.ready["sysroot"], "--format", "json")

    (state,) = (found for found in json.loads(result.stdout)["findings"] if found["check"] == "device-state")
    assert (state["verdict"], "action" in state) == ("ok", False)
    assert state["text"].endswith("is down: it is disabled in the running configuration")
    assert compared(fresh)["verdict"] == "ok"


def advised(gateway: Gateway, check: str) -> tuple[str, list[list[str]]]:
    """Return what a check finds first, and the agent's commands in what it advises."""
    result = gateway("doctor", "--sysroot", gateway.ready["sysroot"], "--format", "json")
    finding = next(found for found in json.loads(result.stdout)["findings"] if found["check"] == check)
    commands = re.findall(r"accel-agent (.+?)(?=, then|; |\. |\.$)", finding.get("action", ""))
    return finding["verdict"], [shlex.split(command) for command in commands]


def test_what_is_advised_where_an_agent_serves_does_it(fresh: Gateway, tmp_path: Path) -> None:
    root = tmp_path / fresh.ready["sysroot"]
    path = root / "etc/c6xx_dev0.conf"
    path.write_text(path.read_text().replace("ServicesEnabled = cy", "ServicesEnabled = dc"))
    for check in ("device-state", "services"):
        verdict, commands = advised(fresh, check)
        assert (verdict, commands[-1:]) == ("problem", [["commit"]]), commands
        for command in commands:
            done = fresh(*command)
            assert done.returncode == 0, done.stderr
        assert advised(fresh, check)[0] == "ok"


def test_an_agent_that_does_not_answer_stops_nothing(build: Build, run: Callable[..., Result], tmp_path: Path) -> None:
    words = ("doctor", "--sysroot", str(build("c3xxx")), "--format", "json")
    write(tmp_path, "socket")
    for flags, verdict in (((), "not-applicable"), (("--unix-socket", str(tmp_path / "socket")), "unknown")):
        result = run(*words, *flags)
        assert result.returncode == 0, result.stderr
        assert json.loads(result.stdout)["findings"][-1]["verdict"] == verdict


# ── output and usage ─────────────────────────────────────────────────────────────────────────────


def test_the_table_is_for_people_and_without_colour_in_a_pipe(
    build: Build, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert doctor(build("c3xxx", start=False)) == 1

    captured = capsys.readouterr()
    assert "\x1b" not in captured.out
    rows = captured.out.splitlines()
    assert rows[0].split() == ["CHECK", "VERDICT", "FINDING"]
    at = next(number for number, row in enumerate(rows) if row.startswith("Device up"))
    assert "problem" in rows[at]
    assert rows[at + 1].strip().startswith("→ Start it: accel-agent set qat enabled true")
    assert "1 problem" in rows[-1]
    assert captured.err == "accel-agent: 1 problem; begin with the first one: Device up\n"


def test_the_fields_of_the_json_are_stable(build: Build, capsys: Capture) -> None:
    doctor(build("c3xxx"), "--format", "json")

    tree = json.loads(capsys.readouterr().out)
    assert list(tree) == ["sysroot", "needs-root", "problems", "findings"]
    allowed = {"check", "title", "verdict", "text", "action"}
    assert all({"check", "title", "verdict", "text"} <= set(finding) <= allowed for finding in tree["findings"])
    verdicts = {"ok", "problem", "not-applicable", "unknown"}
    assert {finding["verdict"] for finding in tree["findings"]} <= verdicts


@pytest.mark.parametrize("kept", [False, True])
def test_below_a_sysroot_too_an_ordinary_user_may_lack_something(
    build: Build, capsys: Capture, monkeypatch: pytest.MonkeyPatch, kept: bool
) -> None:
    read = RealHost.read

    def denied(host: RealHost, path: str, **options: int) -> bytes:
        if path.endswith("/fw_counters"):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return read(host, path, **options)

    monkeypatch.setattr("os.geteuid", lambda: 1000)
    if kept:
        monkeypatch.setattr(RealHost, "read", denied)
    doctor(build("c3xxx"), "--format", "json")

    tree = json.loads(capsys.readouterr().out)
    assert ("counters" in tree["needs-root"]) == kept
    assert bool(tree["needs-root"]) == kept
    assert ("Run this as root" in str(tree["findings"])) == kept


def test_an_ordinary_user_is_told_which_checks_need_root() -> None:
    found = [
        (Check("hardware", "QAT hardware", lambda _look: ()), Finding(UNKNOWN, "text")),
        (Check("kernel-log", "Kernel log", lambda _look: (), root=True), Finding(UNKNOWN, "text")),
        (Check("counters", "Requests", lambda _look: (), root=True), Finding(OK, "text")),
    ]
    assert doctor_report.tree(found, sysroot="/", root=False)["needs-root"] == ["kernel-log"]
    assert doctor_report.tree(found, sysroot="/", root=True)["needs-root"] == []
    *_, last = doctor_report.render(found, root=False)
    assert str(last) == "Not root: for all of Kernel log, run this as root."


@pytest.mark.parametrize(
    "words",
    [
        ("--sysroot", "nowhere"),
        ("--interval", "0"),
        ("--interval", "x"),
        ("--format", "xml"),
        ("qat",),
    ],
)
def test_wrong_usage(capsys: Capture, words: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(["doctor", *words])
    assert caught.value.code == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_the_help_has_examples(capsys: Capture) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(["doctor", "--help"])
    assert caught.value.code == 0
    assert "accel-agent doctor --sysroot ./gateway" in capsys.readouterr().out.partition("examples:\n")[2]


def test_no_server_and_no_client_is_loaded_for_it(build: Build) -> None:
    script = f"""
import sys
from agent import cli
from agent.cli import doctor_report
from translators.doctor.finding import OK, UNKNOWN, Check, Finding
cli.main(["doctor", "--sysroot", {str(build("c3xxx"))!r}, "--format", "json"])
print(*sys.modules, file=sys.stderr)
"""
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    heavy = {"asyncssh", "ncclient", "oopt_gnpy_libyang", "paramiko", "pyang", "agent.app", "agent.model", "simulator"}
    assert not heavy & set(result.stderr.split())
