"""Machines with devices of the kernel's own driver: what is in them, who keeps them alive, and what is left of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import simulator
from simulator import SimulatorError, server
from simulator.machine import intree

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.simulator.conftest import Gateway

    Make = Callable[..., Gateway]
    Until = Callable[[Callable[[], object], str], None]

ADDRESS = "0000:6b:00.0"
DEVICE = f"4xxx@{ADDRESS}"
PCI = f"sys/bus/pci/devices/{ADDRESS}"
DEBUGFS = f"sys/kernel/debug/qat_4xxx_{ADDRESS}"


def _mounted(gateway: Gateway) -> bool:
    return f"{gateway.root}/run/simulator/kernel" in Path("/proc/self/mounts").read_text()


@pytest.mark.parametrize(
    ("kind", "device_id", "driver", "module", "firmware"),
    [
        ("4xxx", "0x4940", "4xxx", "qat_4xxx", "qat_4xxx.bin"),
        ("401xx", "0x4942", "4xxx", "qat_4xxx", "qat_4xxx.bin"),
        ("402xx", "0x4944", "4xxx", "qat_4xxx", "qat_402xx.bin"),
        ("420xx", "0x4946", "420xx", "qat_420xx", "qat_420xx.bin"),
        ("6xxx", "0x4948", "6xxx", "qat_6xxx", "qat_6xxx.bin"),
    ],
)
def test_a_machine_has_what_the_kernels_driver_brings(
    make: Make, kind: str, device_id: str, driver: str, module: str, firmware: str
) -> None:
    gateway = make(f"{kind}@{ADDRESS}")
    assert gateway.text(f"{PCI}/device") == f"{device_id}\n"
    assert (gateway.root / PCI / "driver").resolve() == gateway.root / f"sys/bus/pci/drivers/{driver}"
    assert (gateway.root / f"sys/bus/pci/drivers/{driver}/module").resolve() == gateway.root / f"sys/module/{module}"
    assert gateway.text(f"{PCI}/driver/{ADDRESS}/device") == f"{device_id}\n"
    assert gateway.text("sys/module/intel_qat/taint") == "\n"
    assert gateway.names("dev") == {"qat_adf_ctl"}
    assert firmware in gateway.names("lib/firmware")
    assert gateway.names("etc").isdisjoint({"init.d"})
    assert gateway.names("sys/kernel/debug") == {f"qat_{driver}_{ADDRESS}"}
    assert "(OE)" not in gateway.text("proc/modules")


def test_plain_files_read_the_same_and_take_everything(make: Make, serve: Make) -> None:
    plain, served = make(DEVICE, cpus=2), serve(DEVICE, cpus=2, ipsec=False)

    def files(gateway: Gateway) -> set[str]:
        tops = [gateway.root / PCI, gateway.root / DEBUGFS]
        return {str(path.relative_to(top)) for top in tops for path in top.rglob("*")}

    assert files(plain) == files(served)
    for name in ("qat/state", "qat/cfg_services", "qat_ras/errors_fatal", "vendor"):
        assert plain.text(f"{PCI}/{name}") == served.text(f"{PCI}/{name}")
    for name in ("dev_cfg", "fw_counters", "heartbeat/status"):
        assert plain.text(f"{DEBUGFS}/{name}") == served.text(f"{DEBUGFS}/{name}")
    plain.write(f"{PCI}/qat/state", "sideways")
    assert plain.text(f"{PCI}/qat/state") == "sideways"
    assert "plain files" in plain.text(server.README)
    assert "plain files" not in served.text(server.README)


def test_where_there_is_no_file_system_the_counters_move_and_that_is_said(
    make: Make, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FUSE_LIBRARY_PATH", "/nowhere/libfuse3.so")
    gateway = make(DEVICE)
    before = gateway.text(f"{DEBUGFS}/fw_counters")
    with simulator.serving(gateway.root) as plain:
        assert plain is not None
        assert "are plain files (" in plain
        assert gateway.text(server.README) == plain
        gateway.write(f"{PCI}/qat/state", "down\n")
        until(lambda: gateway.text(f"{DEBUGFS}/fw_counters") != before, "traffic")
        assert gateway.text(f"{PCI}/qat/state") == "down\n"
    assert gateway.processes() == []


def test_serving_ends_with_nothing_left_but_plain_files(make: Make, require: Callable[..., None]) -> None:
    gateway = make(DEVICE)
    with simulator.serving(gateway.root) as plain:
        if plain:
            require(f"a file system in user space: {plain.splitlines()[0]}")
        gateway.ipsec("stop")
        gateway.write(f"{PCI}/qat/state", "down")
        gateway.write(f"{PCI}/qat/cfg_services", "dc")
        assert _mounted(gateway)
    assert not _mounted(gateway)
    assert gateway.processes() == []
    assert gateway.text(f"{PCI}/qat/state") == "down\n"
    assert gateway.text(f"{PCI}/qat/cfg_services") == "dc\n"
    assert gateway.names(DEBUGFS) == {"dev_cfg"}
    with simulator.serving(gateway.root):
        assert gateway.text(f"{PCI}/qat/cfg_services") == "dc\n"


def test_a_file_that_is_open_does_not_keep_the_file_system(make: Make) -> None:
    gateway = make(DEVICE)
    with simulator.serving(gateway.root):
        descriptor = os.open(gateway.root / PCI / "qat/state", os.O_RDONLY)
    assert not _mounted(gateway)
    assert gateway.processes() == []
    with suppress(OSError):  # there is nobody who could be told
        os.close(descriptor)


def test_a_machine_that_is_served_can_be_stopped_and_built_anew(serve: Make) -> None:
    gateway = serve(DEVICE)
    simulator.build(gateway.root, [simulator.parse_device("420xx")])
    assert not _mounted(gateway)
    assert gateway.processes() == []
    assert gateway.names("sys/kernel/debug") == {"qat_420xx_0000:01:00.0"}


def test_a_file_system_whose_process_was_killed_is_taken_away(serve: Make, until: Until) -> None:
    gateway = serve(DEVICE)
    pid = int(gateway.text(intree.SERVED))
    os.kill(pid, signal.SIGKILL)
    until(lambda: not intree.served(str(gateway.root)), "the end of the process")
    assert _mounted(gateway)
    simulator.stop(gateway.root)
    assert not _mounted(gateway)
    assert gateway.text(f"{PCI}/qat/state") == "up\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_the_command_serves_until_it_is_ended_and_leaves_no_process(
    make: Make, serve: Make, until: Until, number: signal.Signals
) -> None:
    serve(DEVICE)  # or this test is skipped
    gateway = make()
    command = [sys.executable, "-m", "agent", "simulate", str(gateway.root), "--device", DEVICE, "--serve"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert "is served" in process.stderr.readline()
        assert gateway.text(f"{PCI}/qat/state") == "up\n"
        os.kill(process.pid, number)
        assert process.wait(timeout=30) == (-number if number is signal.SIGKILL else 0)
    until(lambda: not _mounted(gateway), "the end of the file system")
    until(lambda: not gateway.processes(), "the end of its processes")
    assert gateway.text(f"{PCI}/qat/state") == "up\n"


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["--device", DEVICE], 0, "The devices' files are plain files."),
        (["--device", "c6xx"], 0, "A simulated machine is in "),
        (["--device", DEVICE, "--host", "big"], 2, "--host and --device exclude each other"),
        (["--device", "c6xx", "--driver", "in-tree"], 0, "The devices' files are plain files."),
        (["--device", DEVICE, "--kernel", "5.4"], 2, "a 4xxx is simulated with Linux 6.0 and later only, not with 5.4"),
    ],
)
def test_the_command_says_what_it_made_and_why_not(
    tmp_path: Path, arguments: list[str], status: int, said: str
) -> None:
    command = [sys.executable, "-m", "agent", "simulate", str(tmp_path / "machine"), *arguments]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    assert (result.returncode, result.stdout) == (status, "")
    assert said in result.stderr
    served = "To serve it: accel-agent serve --sysroot" in result.stderr
    assert served == (status == 0)


def test_the_command_says_that_it_replaces_a_machine_and_how_to_serve_it(tmp_path: Path) -> None:
    root = tmp_path / "a machine"
    for before in ("", "The simulated machine that was there is replaced. "):
        command = [sys.executable, "-m", "agent", "simulate", str(root), "--device", "c6xx"]
        result = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30)
        assert result.stderr == (
            f"{before}A simulated machine is in {root}. To serve it: accel-agent serve --sysroot '{root}'"
            " --state-dir ./state --listen 127.0.0.1:8300 --unix-socket ./netconf.sock\n"
        )


def test_a_machine_without_the_driver_has_only_the_device(make: Make) -> None:
    gateway = make(DEVICE, driver=False)
    with simulator.serving(gateway.root) as plain:
        assert plain is None
        assert {name for name in gateway.names(PCI) if name.startswith(("qat", "driver"))} == set()
        assert gateway.names("sys/kernel/debug") == set()
        assert not (gateway.root / "sys/module/intel_qat").exists()


def test_a_big_host_has_more_interrupts_than_anybody_reads(serve: Make) -> None:
    gateway = serve(*["4xxx"] * 8, cpus=256)
    head, *lines = gateway.text("proc/interrupts").splitlines()
    assert len(head.split()) == 256
    assert sum("qat" in line for line in lines) == 8 * 65
    assert len({line.split()[0] for line in lines}) == len(lines)
    assert len(gateway.names("sys/kernel/debug")) == 8


def test_a_machine_has_one_driver_and_one_that_its_kernel_has(make: Make) -> None:
    with pytest.raises(SimulatorError, match="one driver: c6xx is driven by the out-of-tree one here, 4xxx by the"):
        make("c6xx", "4xxx")
    with pytest.raises(SimulatorError, match=r"a 6xxx is simulated with Linux 6\.16 and later only, not with 6\.12"):
        make("6xxx", kernel_release="6.12")
    with pytest.raises(SimulatorError, match=r"a 4xxx is simulated with Linux 6\.0 and later"):
        make("4xxx", kernel_release="5.15")
    with pytest.raises(SimulatorError, match=r"'six' is not a version of Linux such as 6\.12"):
        make("4xxx", kernel_release="six")
    with pytest.raises(SimulatorError, match="there is no accelerator"):
        simulator.faults.down(make("4xxx").root, ADDRESS)
