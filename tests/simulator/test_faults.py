"""The log of commands, and programs that fail, lie and dawdle."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

import simulator
from simulator import SimulatorError, faults

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.simulator.conftest import Gateway

    Make = Callable[..., Gateway]


def test_every_run_is_logged_as_two_words(make: Make) -> None:
    gateway = make("c6xx")
    assert simulator.commands(gateway.root) == ()
    gateway.ipsec("stop")
    gateway.qat_service("start", "qat_dev0")
    gateway.ipsec("start", "--nofork")
    gateway.qat_service("no such\nverb")
    gateway.qat_service()
    assert gateway.text("run/simulator/commands.log") == (
        "ipsec stop\nqat_service start\nipsec start\nqat_service no?such?verb\nqat_service -\n"
    )


def test_a_failing_program_changes_nothing_and_says_why(make: Make) -> None:
    gateway = make("c6xx")
    faults.fail(gateway.root, "qat_service", "start", "firmware does not answer")
    for _ in range(2):
        result = gateway.qat_service("start")
        assert (result.returncode, result.stdout) == (1, "")
        assert result.stderr == "firmware does not answer\n"
    assert gateway.states() == {"0000:01:00.0": "down"}
    faults.clear(gateway.root)
    assert gateway.qat_service("start").returncode == 0
    assert gateway.states() == {"0000:01:00.0": "up"}
    assert simulator.commands(gateway.root)[:2] == ("qat_service start",) * 2


def test_a_lying_program_does_the_same_and_exits_with_0(make: Make) -> None:
    gateway = make("c6xx")
    faults.lie(gateway.root, "ipsec", "stop", "busy\n")
    result = gateway.ipsec("stop")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "busy\n")
    assert gateway.ipsec("status").returncode == 0


def test_faults_are_of_one_program_and_one_verb(make: Make) -> None:
    gateway = make("c6xx")
    faults.fail(gateway.root, "qat_service", "stop", "no")
    faults.lie(gateway.root, "ipsec", "start", "no")
    assert gateway.qat_service("start").returncode == 0
    assert gateway.states() == {"0000:01:00.0": "up"}
    assert gateway.ipsec("stop").stderr == "Stopping strongSwan IPsec...\n"
    assert gateway.ipsec("start").stderr == "no\n"


def test_a_delay_comes_before_the_act(make: Make) -> None:
    gateway = make("c6xx")
    faults.delay(gateway.root, "qat_service", "start", 0.3)
    before = time.monotonic()
    gateway.qat_service("start")
    assert time.monotonic() - before >= 0.3
    assert gateway.states() == {"0000:01:00.0": "up"}


def test_a_fault_can_hold_for_some_runs_only(make: Make) -> None:
    gateway = make("c6xx")
    faults.fail(gateway.root, "ipsec", "start", "first line\nsecond line\n", times=2)
    gateway.ipsec("stop")
    assert [gateway.ipsec("start").returncode for _ in range(2)] == [1, 1]
    assert gateway.ipsec("status").returncode == 3
    assert not (gateway.root / "run/simulator/fail-ipsec-start").exists()
    assert gateway.ipsec("start").returncode == 0
    assert gateway.ipsec("status").returncode == 0


def test_the_text_is_printed_without_the_count(make: Make) -> None:
    gateway = make()
    (gateway.root / "run/simulator/lie-ipsec-start").write_text("times=1\nfirst\nsecond\n")
    assert gateway.ipsec("start").stderr == "first\nsecond\n"


def test_a_count_holds_for_delays_too(make: Make) -> None:
    gateway = make()
    faults.delay(gateway.root, "ipsec", "status", 0.2, times=1)
    before = time.monotonic()
    gateway.ipsec("status")
    assert time.monotonic() - before >= 0.2
    assert not (gateway.root / "run/simulator/delay-ipsec-status").exists()


@pytest.mark.parametrize("text", ["", "soon", "-1", "nan", "inf"])
def test_a_delay_that_is_no_number_is_named(make: Make, text: str) -> None:
    gateway = make()
    (gateway.root / "run/simulator/delay-ipsec-stop").write_text(text)
    result = gateway.ipsec("stop")
    assert result.returncode == 1
    assert "run/simulator/delay-ipsec-stop is not a number of seconds" in result.stderr
    assert gateway.ipsec("status").returncode == 0


def test_faults_that_can_not_be_are_refused(make: Make, tmp_path: Path) -> None:
    gateway = make()
    with pytest.raises(SimulatorError, match="has no program 'charon'"):
        faults.fail(gateway.root, "charon", "start")
    with pytest.raises(SimulatorError, match=r"'\.\./start' is not a verb"):
        faults.fail(gateway.root, "ipsec", "../start")
    with pytest.raises(SimulatorError, match="for 0 runs"):
        faults.fail(gateway.root, "ipsec", "start", times=0)
    with pytest.raises(SimulatorError, match="delayed by -1 seconds"):
        faults.delay(gateway.root, "ipsec", "start", -1)
    for call in (faults.clear, simulator.commands):
        with pytest.raises(SimulatorError, match="there is no simulated machine in"):
            call(tmp_path)
