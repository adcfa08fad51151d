"""Traffic: the process in the background, and what it counts."""

from __future__ import annotations

import itertools
import os
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import simulator
from simulator.machine import activity, hardware, inventory

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.simulator.conftest import Gateway

    Make = Callable[..., Gateway]
    Until = Callable[[Callable[[], object], str], None]

C3XXX = "c3xxx_0000:01:00.0"


def _by_hand(make: Make, *devices: str, **options: int) -> tuple[Gateway, inventory.Machine]:
    """Return a machine with all devices up whose time only passes by ``hardware.turn``."""
    gateway = make(*devices, **options)
    gateway.qat_service("start")
    simulator.stop(gateway.root)
    gateway.qat_service("stop")
    machine = inventory.load(str(gateway.root))
    for device in machine.devices:
        activity.begin(machine, device, services="cy", kernel_instances=4, configuration="")
    return gateway, machine


def test_counters_advance_while_a_device_is_up_and_ipsec_runs(make: Make, until: Until) -> None:
    gateway = make("c3xxx")
    gateway.qat_service("start")
    seen = [gateway.counters(C3XXX)]
    for _ in range(2):
        until(lambda: gateway.counters(C3XXX) != seen[-1], "traffic")
        seen.append(gateway.counters(C3XXX))
    for before, after in itertools.pairwise(seen):
        assert all(now[0] > then[0] for then, now in zip(before, after, strict=True))
    gateway.ipsec("stop")
    until(lambda: all(asked == given for asked, given in gateway.counters(C3XXX)), "the last answers")
    rest = gateway.counters(C3XXX)
    gateway.ipsec("start")
    until(lambda: gateway.counters(C3XXX) != rest, "traffic again")


def test_answers_never_outnumber_requests_and_nothing_runs_backwards(make: Make) -> None:
    gateway, machine = _by_hand(make, "dh895xcc", "c3xxx@07:00.0")
    before = [(0, 0)] * 12
    in_flight = set()
    for turn in range(40):
        if turn == 20:
            gateway.ipsec("stop")
        if turn == 30:
            gateway.ipsec("start")
        assert hardware.turn(machine)
        now = gateway.counters("dh895xcc_0000:01:00.0")
        for (old_requests, old_responses), (requests, responses) in zip(before, now, strict=True):
            assert old_responses <= responses <= requests
            assert old_requests <= requests
            in_flight.add(requests - responses)
        before = now
    assert in_flight == {0, 1, 2, 3}
    assert len({requests for requests, _ in before}) > 1


def test_interrupts_of_a_bank_come_to_the_cpu_it_is_bound_to(make: Make) -> None:
    gateway, machine = _by_hand(make, "c3xxx", "c3xxx", "c6xx", "c6xxvf", cpus=6)
    for _ in range(3):
        hardware.turn(machine)
    table = gateway.interrupts()
    for number, bank in ((0, 0), (0, 3), (1, 0), (1, 2)):
        counts = table[f"qat{number}-bundle{bank}"]
        busy = [cpu for cpu, count in enumerate(counts) if count]
        assert busy == [(number * 16 + bank) % 6], (number, bank)
    # Four instances of the kernel: banks from the fifth on have nothing to do.
    assert sum(table["qat0-bundle4"]) == 0
    assert sum(table["qat0-ae-cluster"]) == 0
    assert [cpu for cpu, count in enumerate(table["qat_03:01.00"]) if count] == [3]


def _times(gateway: Gateway) -> list[list[int]]:
    """Return what /proc/stat counts: of all CPUs together, and of each."""
    lines = gateway.text("proc/stat").splitlines()
    return [[int(count) for count in line.split()[1:]] for line in lines if line.startswith("cpu")]


def test_the_time_of_the_cpus_passes_and_traffic_makes_them_busy(make: Make) -> None:
    gateway, machine = _by_hand(make, "c3xxx", cpus=3)
    before = _times(gateway)
    assert len(before) == 4
    shares: list[set[int]] = [set(), set()]
    for turn in range(10):
        if turn == 5:
            gateway.ipsec("stop")
            hardware.turn(machine)  # the last answers
            before = _times(gateway)
        assert hardware.turn(machine)
        now = _times(gateway)
        assert now[0] == [sum(column) for column in zip(*now[1:], strict=True)]
        grown = [new - old for old, new in zip(before[0], now[0], strict=True)]
        assert min(grown) >= 0
        assert sum(grown) == 150
        shares[turn >= 5].add(sum(grown) - grown[3])
        before = now
    assert min(shares[0]) > max(shares[1]) > 0
    assert len(shares[0]) > 1


def test_what_serves_no_symmetric_crypto_carries_no_traffic(make: Make) -> None:
    gateway, machine = _by_hand(make, "c3xxx")
    for services, instances in (("dc", 4), ("asym", 4), ("cy", 0)):
        activity.begin(machine, machine.devices[0], services=services, kernel_instances=instances, configuration="")
        assert hardware.turn(machine)
        assert activity.ticks(machine) == 0
    assert not (gateway.root / f"sys/kernel/debug/qat_{C3XXX}/fw_counters").exists()


def test_there_is_one_process_and_it_is_nobodys_child(make: Make) -> None:
    gateway = make("c3xxx", "c6xx")
    gateway.qat_service("start", "qat_dev0")
    (pid,) = gateway.processes()
    gateway.qat_service("start")
    gateway.qat_service("restart", "qat_dev1")
    gateway.qat_service("stop", "qat_dev0")
    assert gateway.processes() == [pid]
    assert gateway.text("run/simulator/hardware.pid") == f"{pid}\n"
    assert os.getsid(pid) == pid
    assert {Path(f"/proc/{pid}/fd/{number}").readlink().as_posix() for number in range(3)} == {"/dev/null"}
    gateway.qat_service("stop", "qat_dev1")
    assert gateway.processes() == []
    assert not (gateway.root / "run/simulator/hardware.pid").exists()


def test_files_of_the_caller_are_not_kept_open(make: Make, until: Until) -> None:
    gateway = make("c3xxx")
    reading, writing = os.pipe()
    try:
        os.set_inheritable(writing, True)
        gateway.run("etc/init.d/qat_service", "start", pass_fds=(writing,))
        os.close(writing)
        os.set_blocking(reading, False)
        until(lambda: _at_end(reading), "the end of the pipe")
    finally:
        os.close(reading)
    assert len(gateway.processes()) == 1


def _at_end(descriptor: int) -> bool:
    try:
        return os.read(descriptor, 1) == b""
    except BlockingIOError:
        return False


def test_it_ends_when_the_machine_is_gone(make: Make, until: Until) -> None:
    gateway = make("c3xxx")
    gateway.qat_service("start")
    gateway.root.rename(gateway.root.with_name("elsewhere"))
    until(lambda: not gateway.processes(), "the end of the hardware")
    assert not gateway.root.exists()


def test_it_ends_when_another_one_took_over(make: Make, until: Until) -> None:
    gateway = make("c3xxx")
    gateway.qat_service("start")
    (gateway.root / "run/simulator/hardware.pid").write_text("1\n")
    until(lambda: not gateway.processes(), "the end of the hardware")
    # What is written there is not its number, so it is started anew, and process 1 is left alone.
    gateway.qat_service("status")
    assert len(gateway.processes()) == 1


def test_stop_ends_it_and_the_next_command_starts_it_again(make: Make, tmp_path: Path) -> None:
    gateway = make("c3xxx")
    gateway.qat_service("start")
    link = tmp_path / "link"
    link.symlink_to(gateway.root)
    simulator.stop(link)
    assert gateway.processes() == []
    simulator.stop(gateway.root)
    simulator.stop(tmp_path / "nothing here")
    assert gateway.states() == {"0000:01:00.0": "up"}
    assert len(gateway.processes()) == 1


def test_it_puts_right_what_a_killed_program_left(make: Make, until: Until) -> None:
    gateway = make("c3xxx", "c6xx")
    gateway.qat_service("start")
    # As if `qat_service stop qat_dev1` had been killed after its first step.
    (gateway.root / "run/simulator/changing").touch()
    (gateway.root / "run/simulator/devices/0000:02:00.0").unlink()
    (gateway.root / "run/simulator/unfinished/4711").touch()
    until(lambda: not (gateway.root / "run/simulator/changing").exists(), "repair")
    assert "fw_counters" not in gateway.debugfs("c6xx_0000:02:00.0")
    assert [name for name in gateway.interrupts() if name.startswith("qat1")] == []
    assert not (gateway.root / "run/simulator/unfinished/4711").exists()


@pytest.mark.parametrize("name", [f"sys/kernel/debug/qat_{C3XXX}/fw_counters", "proc/interrupts"])
def test_a_reader_never_sees_half_a_file(make: Make, name: str) -> None:
    gateway = make("c3xxx", cpus=64)
    gateway.qat_service("start")
    whole = len(gateway.text(name))
    lines = gateway.text(name).count("\n")
    end = time.monotonic() + 1.2
    contents = set()
    while time.monotonic() < end:
        text = gateway.text(name)
        assert (len(text), text.count("\n")) == (whole, lines)
        contents.add(text)
    assert len(contents) > 1


def test_removing_the_directory_takes_the_process_with_it(make: Make, until: Until) -> None:
    gateway = make("c3xxx")
    gateway.qat_service("start")
    simulator.stop(gateway.root)
    shutil.rmtree(gateway.root)
    assert gateway.processes() == []
