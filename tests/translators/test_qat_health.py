"""Supervision: what a look finds, and when IPsec falls back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import simulator
from translators.qat.health import Supervision
from translators.qat.model import parse
from translators.real_host import RealHost

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from translators.base import Event, Tree

ADDRESS = "0000:01:00.0"


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Path]:
    simulator.build(tmp_path / "machine", [simulator.parse_device("c6xx")])
    yield tmp_path / "machine"
    simulator.stop(tmp_path / "machine")


def config(**health: object) -> Tree:
    return {"enabled": True, "health": health}


def run(machine: Path, verb: str) -> None:
    RealHost(machine).run(("/etc/init.d/qat_service", verb), timeout=20)


def say(machine: Path, heartbeat: bytes) -> None:
    (folder,) = (machine / "sys/kernel/debug").glob("qat_c6xx_*")
    (folder / "heartbeat").unlink()  # nobody but root may write to it
    (folder / "heartbeat").write_bytes(heartbeat)


def state_change(old: str, new: str, reason: str = "") -> Tree:
    why = {"reason": reason} if reason else {}
    content = {"address": ADDRESS, "old-status": old, "new-status": new, "name": "qat_dev0", **why}
    return {"hardware-acceleration:device-state-change": content}


def acceleration_change(*, active: bool, cause: str, fallback: bool = False) -> Tree:
    content = {"active": active, "fallback-active": fallback, "cause": cause}
    return {"hardware-acceleration:acceleration-change": content}


def test_the_first_look_finds_nothing_changed(machine: Path) -> None:
    assert Supervision().look(RealHost(machine), parse(config())).events == ()


def test_a_device_that_goes_down_by_itself_is_a_warning_with_both_states(machine: Path) -> None:
    run(machine, "start")
    supervision = Supervision()
    supervision.look(RealHost(machine), parse(config()))
    run(machine, "stop")
    event, acceleration = supervision.look(RealHost(machine), parse(config())).events
    assert event.severity == "warning"
    assert event.text == f"device {ADDRESS} went from up to down: the device is stopped"
    assert event.notification == state_change("up", "down", "the device is stopped")
    assert acceleration.notification == acceleration_change(active=False, cause="external")
    assert supervision.look(RealHost(machine), parse(config())).events == ()


def renamed(machine: Path, name: str) -> None:
    """Have the driver call its device something else, as after it was loaded anew."""
    table = machine / "proc/interrupts"
    table.write_text(table.read_text().replace("qat0-", f"{name}-"))


def names(events: Iterable[Event]) -> list[str | None]:
    """Return what the devices are called that are said to have changed."""
    told = [(event.notification or {}).get("hardware-acceleration:device-state-change") for event in events]
    return [change.get("name") for change in told if change]


def test_a_device_is_called_what_it_was_when_it_last_came_up(machine: Path) -> None:
    supervision = Supervision()
    host = RealHost(machine)
    supervision.look(host, parse(config()))
    run(machine, "start")
    simulator.stop(machine)
    renamed(machine, "qat11")
    assert names(supervision.changed(host, parse(config()), "commit")) == ["qat_dev11"]
    run(machine, "stop")
    assert names(supervision.look(host, parse(config())).events) == ["qat_dev11"]
    run(machine, "start")
    simulator.stop(machine)
    renamed(machine, "qat2")
    assert names(supervision.changed(host, parse(config()), "commit")) == ["qat_dev2"]
    run(machine, "stop")
    run(machine, "start")
    simulator.stop(machine)
    renamed(machine, "other")
    (machine / "sys/bus/pci/devices" / ADDRESS / "vendor").write_text("0x10ee\n")  # gone
    assert names(supervision.look(host, parse(config())).events) == ["qat_dev2"]


def test_a_device_whose_interrupts_tell_no_name_has_none(machine: Path) -> None:
    supervision = Supervision()
    host = RealHost(machine)
    run(machine, "start")
    simulator.stop(machine)
    (machine / "proc/interrupts").write_text("no table\n")
    supervision.look(host, parse(config()))
    run(machine, "stop")
    assert names(supervision.look(host, parse(config())).events) == [None]


def test_names_are_looked_for_only_when_a_device_comes_up(machine: Path) -> None:
    class Counting(RealHost):
        tables = 0

        def read(self, path: str, **options: int) -> bytes:
            self.tables += path == "/proc/interrupts"
            return super().read(path, **options)

    run(machine, "start")
    supervision, host = Supervision(), Counting(machine)
    for _ in range(3):
        supervision.look(host, parse(config()))
    assert host.tables == 1


def test_one_that_is_meant_to_be_down_is_no_warning(machine: Path) -> None:
    run(machine, "start")
    supervision = Supervision()
    supervision.look(RealHost(machine), parse({"enabled": False}))
    run(machine, "stop")
    assert [e.severity for e in supervision.look(RealHost(machine), parse({"enabled": False})).events] == ["info"] * 2


def test_ipsec_falls_back_once_and_comes_back_after_two_good_looks(machine: Path) -> None:
    host, wanted = RealHost(machine), parse(config(**{"on-failure": "fall-back"}))
    supervision = Supervision()
    run(machine, "start")
    assert supervision.look(host, wanted).refresh is None
    run(machine, "stop")
    gone = supervision.look(host, wanted).refresh
    assert gone is not None
    assert (gone.service, gone.method, gone.enabling, supervision.fallback_active) == ("ipsec", "restart", False, True)
    assert supervision.look(host, wanted).refresh is None
    run(machine, "start")
    assert supervision.look(host, wanted).refresh is None, "one good look is not trusted"
    back = supervision.look(host, wanted).refresh
    assert back is not None
    assert (back.enabling, supervision.fallback_active) == (True, False)
    assert supervision.look(host, wanted).refresh is None


def test_with_notify_ipsec_is_left_alone(machine: Path) -> None:
    supervision = Supervision()
    run(machine, "start")
    supervision.look(RealHost(machine), parse(config()))
    run(machine, "stop")
    assert supervision.look(RealHost(machine), parse(config())).refresh is None
    assert not supervision.fallback_active


def test_a_device_that_never_was_up_is_no_reason_to_fall_back(machine: Path) -> None:
    wanted = parse(config(**{"on-failure": "fall-back"}))
    assert Supervision().look(RealHost(machine), wanted).refresh is None


def test_heartbeats_are_read_only_on_request(machine: Path) -> None:
    run(machine, "start")
    supervision = Supervision()
    supervision.look(RealHost(machine), parse(config()))
    assert supervision.pulse.beats == {}
    supervision.look(RealHost(machine), parse(config(heartbeat=True)))
    assert supervision.pulse.beats == {ADDRESS: {"status": "healthy", "sent": 0, "failed": 0}}


def test_a_failing_heartbeat_is_told_once(machine: Path) -> None:
    run(machine, "start")
    say(machine, b"-1\n\0")
    supervision = Supervision()
    events = supervision.look(RealHost(machine), parse(config(heartbeat=True))).events
    assert [(e.severity, e.text.split(": ")[1]) for e in events] == [("error", "the firmware's heartbeat fails")]
    assert supervision.look(RealHost(machine), parse(config(heartbeat=True))).events == ()


def test_a_heartbeat_that_says_something_else_is_reported_and_not_guessed(machine: Path) -> None:
    run(machine, "start")
    say(machine, b"maybe\n")
    supervision = Supervision()
    (event,) = supervision.look(RealHost(machine), parse(config(heartbeat=True))).events
    assert "'maybe' is neither 0 nor -1" in event.text
    assert supervision.pulse.beats == {}


def test_what_a_commit_has_done_is_told_once_with_its_cause(machine: Path) -> None:
    host, wanted = RealHost(machine), parse(config(heartbeat=True))
    supervision = Supervision()
    assert supervision.changed(host, wanted, "start-up") == ()
    run(machine, "start")
    events = supervision.changed(host, wanted, "commit")
    assert [event.notification for event in events] == [
        state_change("down", "up"),
        acceleration_change(active=True, cause="commit"),
    ]
    assert supervision.pulse.beats == {}, "only a look reads heartbeats"
    assert supervision.look(host, wanted).events == ()


def test_falling_back_and_coming_back_are_changes_of_acceleration(machine: Path) -> None:
    host, wanted = RealHost(machine), parse(config(**{"on-failure": "fall-back"}))
    supervision = Supervision()
    run(machine, "start")
    supervision.look(host, wanted)
    run(machine, "stop")
    assert supervision.look(host, wanted).events[-1].notification == acceleration_change(
        active=False, fallback=True, cause="external"
    )
    run(machine, "start")
    assert supervision.look(host, wanted).events == (), "one good look is not trusted"
    assert [event.notification for event in supervision.look(host, wanted).events] == [
        state_change("down", "up"),
        acceleration_change(active=True, cause="recovery"),
    ]
