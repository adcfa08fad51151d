"""The init script of the out-of-tree driver, run for real."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

import simulator
from simulator.machine import hardware, qat_service

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.simulator.conftest import Gateway

    Make = Callable[..., Gateway]
    Until = Callable[[Callable[[], object], str], None]

DOWN_FILES = {"dev_cfg", "version/hw", "version/fw", "version/mmp"}
UP_FILES = DOWN_FILES | {"fw_counters", "heartbeat", "heartbeat_sent", "heartbeat_failed"}
QAT_DRIVERS = {
    "qat_aes_cbc": 4001,
    "qat_aes_ctr": 4001,
    "qat_aes_xts": 4001,
    "qat_aes_cbc_hmac_sha1": 4001,
    "qat_aes_cbc_hmac_sha256": 4001,
    "qat_aes_cbc_hmac_sha512": 4001,
    "qat-rsa": 1000,
    "qat-dh": 1000,
}


def _qat_algorithms(gateway: Gateway) -> dict[str, int]:
    return {driver: priority for driver, priority in gateway.algorithms().items() if driver.startswith("qat")}


def _edit(gateway: Gateway, name: str, old: str, new: str) -> None:
    path = gateway.root / "etc" / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_start_brings_every_device_up_and_says_so(make: Make) -> None:
    gateway = make("c3xxx@01:00.0", "dh895xcc@02:00.0")
    result = gateway.qat_service("start")
    assert result.returncode == 0
    assert result.stderr == ""
    assert result.stdout.splitlines() == [
        "Restarting all devices.",
        "Processing /etc/c3xxx_dev0.conf",
        "Processing /etc/dh895xcc_dev0.conf",
        "Checking status of all devices.",
        "There is 2 QAT acceleration device(s) in the system:",
        " qat_dev0 - type: c3xxx,  inst_id: 0,  node_id: 0,  bsf: 0000:01:00.0,  #accel: 3 #engines: 6 state: up",
        " qat_dev1 - type: dh895xcc,  inst_id: 0,  node_id: 0,  bsf: 0000:02:00.0,  #accel: 6 #engines: 12 state: up",
    ]


def test_files_come_and_go_with_the_device(make: Make) -> None:
    gateway = make("c6xx@5e:00.0")
    device = "c6xx_0000:5e:00.0"
    assert gateway.debugfs(device) == DOWN_FILES
    assert gateway.text(f"sys/kernel/debug/qat_{device}/dev_cfg") == ""
    assert _qat_algorithms(gateway) == {}
    gateway.qat_service("start")
    assert gateway.debugfs(device) == UP_FILES
    assert _qat_algorithms(gateway) == QAT_DRIVERS
    names = [name for name in gateway.interrupts() if name.startswith("qat")]
    assert names == [*(f"qat0-bundle{bank}" for bank in range(16)), "qat0-ae-cluster"]
    assert len(gateway.counters(device)) == 10
    gateway.qat_service("stop")
    assert gateway.debugfs(device) == DOWN_FILES
    assert _qat_algorithms(gateway) == {}
    assert [name for name in gateway.interrupts() if name.startswith("qat")] == []


def test_files_in_debugfs_have_the_drivers_form(make: Make) -> None:
    gateway = make("c3xxx")
    gateway.ipsec("stop")
    gateway.qat_service("start")
    folder = gateway.root / "sys/kernel/debug/qat_c3xxx_0000:01:00.0"
    # These come with a NUL, as the driver's read functions give them.
    assert (folder / "version/hw").read_bytes() == b"17\n\0"
    assert re.fullmatch(rb"\d+\.\d+\.\d+\n\0", (folder / "version/fw").read_bytes())
    assert (folder / "heartbeat").read_bytes() == b"0\n\0"
    lines = (folder / "fw_counters").read_text().splitlines()
    assert lines[:6] == [
        "+------------------------------------------------+",
        "| FW Statistics for Qat Device                   |",
        "+------------------------------------------------+",
        "| Firmware Requests [AE  0]:                   0 |",
        "| Firmware Responses[AE  0]:                   0 |",
        "+------------------------------------------------+",
    ]
    assert len(lines) == 3 + 6 * 3
    assert (folder / "fw_counters").stat().st_mode & 0o777 == 0o400


def test_dev_cfg_is_what_the_driver_made_of_the_file(make: Make) -> None:
    gateway = make("c3xxx")
    _edit(gateway, "c3xxx_dev0.conf", "NumberCyInstances = 8", "NumberCyInstances = 2")
    _edit(gateway, "c3xxx_dev0.conf", "NumProcesses = 1\nLimitDevAccess = 0", "NumProcesses = 2\nLimitDevAccess = 1")
    gateway.qat_service("start")
    text = gateway.text("sys/kernel/debug/qat_c3xxx_0000:01:00.0/dev_cfg")
    sections = {part.partition("]")[0]: part.splitlines()[1:] for part in text.split("[")[1:]}
    assert list(sections) == ["GENERAL", "KERNEL", "SSL_DEV0_INT_0", "SSL_DEV0_INT_1", "Accelerator0"]
    assert "ServicesEnabled = cy" in sections["GENERAL"]
    assert "Cy1BankNumberSym = 1" in sections["KERNEL"]
    assert "Cy2BankNumberSym = 2" not in sections["KERNEL"]
    assert "Cy1IsPolled = 1" in sections["SSL_DEV0_INT_1"]


def test_a_virtual_function_has_few_files_and_one_interrupt(make: Make) -> None:
    gateway = make("c6xx@5e:00.0", "c6xxvf", "c6xxvf@5e:02.1")
    gateway.qat_service("start")
    assert gateway.debugfs("c6xxvf_0000:5e:01.0") == {"dev_cfg"}
    # With virtual functions the physical one has no interrupts of banks.
    names = [name for name in gateway.interrupts() if name.startswith("qat")]
    assert names == ["qat0-ae-cluster", "qat_5e:01.00", "qat_5e:02.01"]


def test_one_device_is_started_and_stopped_alone(make: Make) -> None:
    gateway = make(*[f"c6xx@{bus:02x}:00.0" for bus in range(0x10, 0x1C)])
    assert set(gateway.states().values()) == {"down"}
    result = gateway.qat_service("start", "qat_dev1")
    assert result.stdout.splitlines() == [
        "Restarting device qat_dev1",
        "Processing /etc/c6xx_dev1.conf",
        "Checking status of device qat_dev1",
        " qat_dev1 - type: c6xx,  inst_id: 1,  node_id: 0,  bsf: 0000:11:00.0,  #accel: 5 #engines: 10 state: up",
    ]
    assert [address for address, state in gateway.states().items() if state == "up"] == ["0000:11:00.0"]
    gateway.qat_service("start", "qat_dev10")
    gateway.qat_service("stop", "qat_dev1")
    assert [address for address, state in gateway.states().items() if state == "up"] == ["0000:1a:00.0"]


def test_restarting_one_device_leaves_the_counters_of_others(make: Make, until: Until) -> None:
    gateway = make("c6xx@5e:00.0", "c6xx@5f:00.0")
    gateway.qat_service("start")
    until(lambda: gateway.counters("c6xx_0000:5f:00.0")[0][0] > 0, "traffic")
    gateway.ipsec("stop")
    before = [requests for requests, _ in gateway.counters("c6xx_0000:5f:00.0")]
    gateway.qat_service("restart", "qat_dev0")
    assert gateway.counters("c6xx_0000:5e:00.0") == [(0, 0)] * 10
    assert [requests for requests, _ in gateway.counters("c6xx_0000:5f:00.0")] == before


def test_start_restarts_devices_that_are_up(make: Make, until: Until) -> None:
    gateway = make("c3xxx")
    gateway.qat_service("start")
    until(lambda: gateway.counters("c3xxx_0000:01:00.0")[0][0] > 0, "traffic")
    gateway.ipsec("stop")
    gateway.qat_service("start")
    assert gateway.counters("c3xxx_0000:01:00.0") == [(0, 0)] * 6
    assert gateway.states() == {"0000:01:00.0": "up"}


def test_a_missing_file_leaves_the_device_down(make: Make) -> None:
    gateway = make("c3xxx", "c6xx")
    (gateway.root / "etc/c3xxx_dev0.conf").unlink()
    result = gateway.qat_service("start")
    assert result.returncode == 0
    assert result.stderr == ("QAT Error: Filename /etc/c3xxx_dev0.conf cannot be read\nFailed to configure qat_dev0\n")
    assert gateway.states() == {"0000:01:00.0": "down", "0000:02:00.0": "up"}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("ConfigVersion = 2", "ConfigVersion = 1", "Only version 2 config file supported"),
        ("ConfigVersion = 2", "", "Key ConfigVersion missing in GENERAL section"),
        ("[GENERAL]", "[GENERIC]", "No GENERAL section found"),
        ("= cy\n", f"= {'cy;' * 30}\n", "Maximum allowed: 64, current value: 90"),
        ("= cy\n", "= cy;asym\n", "Failed to load config data to device"),
        ("= cy\n", "= sym;asym\n", "Failed to load config data to device"),
        ("= cy\n", "= crypto\n", "Failed to load config data to device"),
        ("ServicesEnabled = cy\n", "\n", "Failed to load config data to device"),
        ("NumberCyInstances = 8", "NumberCyInstances = 31", "Failed to load config data to device"),
        ("NumberCyInstances = 8", "NumberCyInstances = -1", "Failed to load config data to device"),
        ("NumProcesses = 1", "NumProcesses = 4000000000", "Failed to load config data to device"),
    ],
)
def test_a_bad_file_leaves_the_device_down(make: Make, old: str, new: str, message: str) -> None:
    gateway = make("c3xxx")
    gateway.qat_service("start")
    _edit(gateway, "c3xxx_dev0.conf", old, new)
    result = gateway.qat_service("restart")
    assert result.returncode == 0
    assert message in result.stderr
    assert result.stderr.endswith("Failed to configure qat_dev0\n")
    assert gateway.states() == {"0000:01:00.0": "down"}
    assert gateway.processes() == []


@pytest.mark.parametrize(
    ("services", "registered"),
    [
        ("cy", {"qat_aes_cbc", "qat-rsa"}),
        ("sym", {"qat_aes_cbc"}),
        ("asym", {"qat-rsa"}),
        ("dc", set()),
        ("cy;dc", {"qat_aes_cbc", "qat-rsa"}),
        ("dc;cy", {"qat_aes_cbc", "qat-rsa"}),
        ("sym;dc", {"qat_aes_cbc"}),
        ("dc;sym", {"qat_aes_cbc"}),
        ("asym;dc", {"qat-rsa"}),
        ("dc;asym", {"qat-rsa"}),
    ],
)
def test_each_service_word_is_taken_and_decides_what_is_registered(
    make: Make, services: str, registered: set[str]
) -> None:
    gateway = make("c3xxx")
    _edit(gateway, "c3xxx_dev0.conf", "= cy\n", f"= {services}\n")
    gateway.qat_service("start")
    assert gateway.states() == {"0000:01:00.0": "up"}
    assert _qat_algorithms(gateway).keys() & {"qat_aes_cbc", "qat-rsa"} == registered


def test_shutdown_unloads_and_start_loads_again(make: Make) -> None:
    gateway = make("c6xx")
    link = gateway.root / "sys/bus/pci/devices/0000:01:00.0/driver"
    gateway.qat_service("start")
    result = gateway.qat_service("shutdown")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert not link.is_symlink()
    assert gateway.debugfs("c6xx_0000:01:00.0") == set()
    assert not (gateway.root / "sys/module/intel_qat").exists()
    assert gateway.processes() == []
    assert "No devices found. Please start the driver using:" in gateway.qat_service("status").stdout
    gateway.qat_service("start")
    assert gateway.states() == {"0000:01:00.0": "up"}
    assert link.resolve().name == "c6xx"


@pytest.mark.parametrize("arguments", [(), ("reload",), ("",), ("start;stop",)])
def test_what_it_does_not_know_gets_the_usage(make: Make, arguments: tuple[str, ...]) -> None:
    gateway = make("c6xx")
    result = gateway.qat_service(*arguments)
    assert result.returncode == 1
    assert f"#  {gateway.root}/etc/init.d/qat_service start||stop||status||restart||shutdown" in result.stdout


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("qat_dev7", "Failed to stop device \n"),
        ("qat_devx", "QAT Error: invalid param dev_id<n>: stoi\n"),
        ("0000:01:00.0", ""),
    ],
)
def test_a_device_that_is_not_there_changes_nothing(make: Make, name: str, message: str) -> None:
    gateway = make("c6xx")
    gateway.qat_service("start")
    result = gateway.qat_service("stop", name)
    assert result.returncode == 0
    assert result.stderr == message
    assert gateway.states() == {"0000:01:00.0": "up"}


def test_a_second_run_at_the_same_time_is_refused(make: Make, until: Until) -> None:
    gateway = make("c6xx")
    simulator.faults.delay(gateway.root, "qat_service", "start", 30)
    program = gateway.root / "etc/init.d/qat_service"
    with subprocess.Popen([program, "start"], stdout=subprocess.DEVNULL) as first:
        lock = gateway.root / "run/simulator/qat_service.pid"
        until(lambda: lock.exists() and lock.read_text() != "", "the first run")
        try:
            second = gateway.qat_service("status")
        finally:
            first.kill()
    assert second.returncode == 1
    assert re.fullmatch(rf"\[.+\] : qat_service : Process is already running with PID {first.pid}\n", second.stdout)
    # The one that was killed is in nobody's way, though its number is still there.
    assert gateway.text("run/simulator/qat_service.pid") == f"{first.pid}\n"
    assert gateway.states() == {"0000:01:00.0": "down"}


class _KilledError(BaseException):
    """The program is no more."""


def _kill_at_call(patch: pytest.MonkeyPatch, last: int) -> None:
    """Let ``last`` calls that change a directory pass, and none after these."""
    calls = itertools.count()

    def limited(change: Callable[..., None]) -> Callable[..., None]:
        def call(*arguments: Any, **options: Any) -> None:
            if next(calls) >= last:
                raise _KilledError
            change(*arguments, **options)

        return call

    for name in ("rename", "unlink", "mkdir", "rmdir", "symlink"):
        patch.setattr(os, name, limited(getattr(os, name)))


@pytest.mark.parametrize("verb", ["start", "stop", "restart", "shutdown"])
def test_a_run_that_ends_at_any_point_leaves_a_machine_that_the_next_one_puts_right(
    make: Make, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    gateway = make("c6xx@5e:00.0", "c3xxx@5f:00.0")
    monkeypatch.setattr(hardware, "settle", lambda _machine: None)

    def run(*arguments: str) -> int:
        return qat_service.main(str(gateway.root), "qat_service", arguments[0], arguments[1:])

    def files() -> dict[str, str | bytes]:
        return {
            str(path): str(path.readlink()) if path.is_symlink() else path.read_bytes()
            for path in gateway.root.rglob("*")
            if (path.is_symlink() or path.is_file()) and path.name != "qat_service.pid"
        }

    run("start")
    all_up = files()
    points = 0
    for last in itertools.count():
        run("stop", "qat_dev0")
        with monkeypatch.context() as patch:
            _kill_at_call(patch, last)
            try:
                run(verb)
            except _KilledError:
                points += 1
            else:
                break
        run("status")
        addresses = {path.name for path in (gateway.root / "run/simulator/devices").iterdir()}
        counted = {path.parent.name for path in (gateway.root / "sys/kernel/debug").glob("*/fw_counters")}
        assert {name.rpartition("_")[2] for name in counted} == addresses, last
        run("start")
        assert files() == all_up, last
    assert points > 10


@pytest.mark.parametrize("verb", ["start", "stop"])
def test_a_run_that_is_killed_leaves_a_machine_that_works(make: Make, verb: str) -> None:
    gateway = make("c6xx@5e:00.0", "c6xx@5f:00.0")
    program = gateway.root / "etc/init.d/qat_service"
    gateway.qat_service("start", "qat_dev1")
    for step in range(8):
        with subprocess.Popen([program, verb], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
            try:
                run.wait(timeout=0.02 + step * 0.005)
            except subprocess.TimeoutExpired:
                run.kill()
        result = gateway.qat_service("start")
        assert (result.returncode, result.stderr) == (0, ""), step
        assert gateway.states() == {"0000:5e:00.0": "up", "0000:5f:00.0": "up"}, step
        assert len(gateway.processes()) == 1, step
        assert gateway.debugfs("c6xx_0000:5e:00.0") == UP_FILES, step
    gateway.qat_service("stop")
    assert gateway.processes() == []


def test_a_caller_that_does_not_listen_does_not_stop_the_work(make: Make) -> None:
    gateway = make("c6xx")
    program = gateway.root / "etc/init.d/qat_service"
    with subprocess.Popen([program, "start"], stdout=subprocess.PIPE) as run:
        assert run.stdout is not None
        run.stdout.close()
    assert run.returncode == 0
    assert gateway.states() == {"0000:01:00.0": "up"}


def test_a_state_file_that_is_broken_is_named(make: Make) -> None:
    gateway = make("c6xx")
    gateway.qat_service("start")
    gateway.ipsec("stop")
    path = gateway.root / "run/simulator/devices/0000:01:00.0"
    simulator.stop(gateway.root)
    path.write_text("{")
    result = gateway.qat_service("status")
    assert result.returncode == 1
    assert f"{path} is not a device's state" in result.stderr
