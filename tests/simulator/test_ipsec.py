"""The program ipsec, and the processes that it starts and stops."""

from __future__ import annotations

import itertools
import os
from typing import TYPE_CHECKING, Any

import pytest

import simulator
from simulator.machine import ipsec

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.simulator.conftest import Gateway

    Make = Callable[..., Gateway]


def _running(gateway: Gateway) -> set[str]:
    return {path.read_text().strip() for path in (gateway.root / "proc").glob("[0-9]*/comm")}


def test_stop_stops_both_and_status_tells(make: Make) -> None:
    gateway = make()
    assert gateway.ipsec("status").returncode == 0
    assert "Security Associations (1 up, 0 connecting):" in gateway.ipsec("status").stdout
    result = gateway.ipsec("stop")
    assert (result.returncode, result.stderr) == (0, "Stopping strongSwan IPsec...\n")
    assert _running(gateway) == set()
    assert not (gateway.root / "run/starter.charon.pid").exists()
    assert not (gateway.root / "run/charon.pid").exists()
    assert not (gateway.root / "run/charon.ctl").exists()
    result = gateway.ipsec("status")
    assert (result.returncode, result.stdout) == (3, "")


def test_stopping_what_does_not_run_is_no_failure(make: Make) -> None:
    gateway = make()
    gateway.ipsec("stop")
    result = gateway.ipsec("stop")
    assert result.returncode == 0
    assert result.stderr == "Stopping strongSwan IPsec failed: starter is not running\n"


def test_start_starts_new_processes(make: Make) -> None:
    gateway = make()
    before = gateway.text("run/charon.pid")
    gateway.ipsec("stop")
    assert gateway.ipsec("start").returncode == 0
    after = gateway.text("run/charon.pid")
    assert after != before
    assert gateway.text(f"proc/{int(after)}/comm") == "charon\n"
    assert _running(gateway) == {"starter", "charon"}


def test_starting_what_runs_says_so_and_changes_nothing(make: Make) -> None:
    gateway = make()
    before = gateway.text("run/starter.charon.pid")
    result = gateway.ipsec("start")
    assert result.returncode == 0
    assert "starter is already running (/run/starter.charon.pid exists) -- no fork done\n" in result.stderr
    assert gateway.text("run/starter.charon.pid") == before


def test_restart_is_stop_and_start(make: Make) -> None:
    gateway = make()
    before = gateway.text("run/charon.pid")
    result = gateway.ipsec("restart")
    assert result.returncode == 0
    assert result.stderr.startswith("Stopping strongSwan IPsec...\nStarting strongSwan")
    assert gateway.text("run/charon.pid") != before
    assert simulator.commands(gateway.root) == ("ipsec restart",)


def test_reload_needs_a_starter(make: Make) -> None:
    gateway = make()
    assert gateway.ipsec("reload").returncode == 0
    gateway.ipsec("stop")
    result = gateway.ipsec("reload")
    assert result.returncode == 7
    assert result.stderr == "Reloading strongSwan IPsec failed: starter is not running\n"


def test_a_stale_pid_file_is_not_a_running_starter(make: Make) -> None:
    gateway = make()
    gateway.ipsec("stop")
    (gateway.root / "run/starter.charon.pid").write_text("4242\n")
    assert gateway.ipsec("status").returncode == 1
    gateway.ipsec("start")
    assert gateway.ipsec("status").returncode == 0
    assert _running(gateway) == {"starter", "charon"}


def test_a_charon_that_died_alone_is_started_again(make: Make) -> None:
    gateway = make()
    pid = int(gateway.text("run/charon.pid"))
    (gateway.root / f"proc/{pid}/comm").unlink()
    gateway.ipsec("start")
    assert _running(gateway) == {"starter", "charon"}


class _KilledError(BaseException):
    """The program is no more."""


@pytest.mark.parametrize("verb", ["start", "stop", "restart"])
def test_a_run_that_ends_at_any_point_leaves_a_machine_that_works(
    make: Make, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    gateway = make()
    root = str(gateway.root)
    points = 0
    for last in itertools.count():
        ipsec.main(root, "ipsec", "stop" if verb == "start" else "start")
        calls = itertools.count()

        def limited(change: Callable[..., None]) -> Callable[..., None]:
            def call(*arguments: Any, **options: Any) -> None:
                if next(calls) >= last:  # noqa: B023 - used up within one turn
                    raise _KilledError
                change(*arguments, **options)

            return call

        with monkeypatch.context() as patch:
            for name in ("rename", "unlink", "mkdir", "rmdir"):
                patch.setattr(os, name, limited(getattr(os, name)))
            try:
                ipsec.main(root, "ipsec", verb)
            except _KilledError:
                points += 1
            else:
                break
        ipsec.main(root, "ipsec", "start")
        assert gateway.ipsec("status").returncode == 0, last
        processes = [path for path in (gateway.root / "proc").iterdir() if path.name.isdigit()]
        assert sorted((path / "comm").read_text() for path in processes) == ["charon\n", "starter\n"], last
        ipsec.main(root, "ipsec", "stop")
        assert gateway.ipsec("status").returncode == 3, last
    assert points > 5


def test_what_it_does_not_know_is_refused(make: Make) -> None:
    gateway = make()
    result = gateway.ipsec("restore")
    assert result.returncode == 2
    assert "unknown IPsec command `restore'" in result.stderr
    assert gateway.ipsec("version").stdout.startswith("Linux strongSwan U5.9.8/")
