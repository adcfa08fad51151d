"""The agent's readers and steps for the kernel's own driver, on a simulated machine."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

import simulator
from simulator import faults
from translators.apply import apply, unwind
from translators.base import Invocation, Plan, StepError
from translators.qat import counters, heartbeat, intree, ras, ratelimit, telemetry
from translators.qat.devices import inventory
from translators.qat.drivers import IN_TREE, loaded_kind, module_is_missing
from translators.qat.intree_steps import BringDown, BringUp, SetAttribute
from translators.qat.ratelimit import Limit
from translators.qat.translator import QatTranslator
from translators.real_host import RealHost

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.simulator.conftest import Gateway

    Make = Callable[..., Gateway]
    Until = Callable[[Callable[[], object], str], None]

ADDRESS = "0000:6b:00.0"
DEBUGFS = f"/sys/kernel/debug/qat_4xxx_{ADDRESS}"


def _change(switch: intree.Switch, services: str) -> Plan:
    settings = switch.settings()
    return Plan(
        (
            BringDown(ADDRESS, settings, "none"),
            SetAttribute(ADDRESS, "cfg_services", services, switch.services or ""),
            BringUp(ADDRESS, settings, "none"),
        )
    )


def _switch(host: RealHost) -> intree.Switch:
    switch = intree.read(host, ADDRESS)
    assert switch is not None
    return switch


def test_a_device_gets_other_services_and_counts(serve: Make, until: Until) -> None:
    gateway = serve(f"4xxx@{ADDRESS}", "4xxxvf")
    host = RealHost(gateway.root)
    assert [(device.id.type, device.driver) for device in inventory(host).devices] == [
        ("4xxx", "4xxx"),
        ("4xxxvf", None),
    ]
    assert loaded_kind(host) == IN_TREE
    assert not module_is_missing(host, "qat_4xxx")

    with pytest.raises(StepError, match="in use or being reset"):
        BringDown(ADDRESS, (), "none").perform(host)
    gateway.ipsec("stop")
    host.assign(f"{intree.folder(ADDRESS)}/auto_reset", b"on\n")
    undo = apply(_change(_switch(host), "sym;dc"), host)
    assert _switch(host) == intree.Switch(up=True, services="sym;dc", auto_reset=True, pm_idle=True, ring_pairs=64)
    assert unwind(undo, host) == ()
    assert (_switch(host).services, _switch(host).auto_reset) == ("asym;sym", True)

    gateway.ipsec("start")

    def requests() -> int:
        text = host.read(f"{DEBUGFS}/fw_counters").decode()
        return sum(engine.requests or 0 for engine in counters.parse(text, DEBUGFS))

    until(requests, "traffic")
    before = requests()
    until(lambda: requests() > before, "more traffic")


def test_what_going_down_loses_is_brought_back_by_a_restart(serve: Make) -> None:
    host = RealHost(serve(f"4xxx@{ADDRESS}", ipsec=False).root)
    registers = f"/sys/bus/pci/devices/{ADDRESS}/qat_rl"
    limits = (Limit("asym", 0x2, 100, 300), Limit("sym", 0x5, 250, 500), Limit("sym", 0x10, 50, 50))
    ratelimit.bring_back(host, ADDRESS, limits)
    host.assign(f"{registers}/id", b"5\n")
    host.assign(f"{registers}/sla_op", b"rm\n")
    host.assign(f"{DEBUGFS}/telemetry/control", b"2\n")
    host.assign(f"{intree.folder(ADDRESS)}/auto_reset", b"on\n")
    left = (limits[0], limits[2])
    assert ratelimit.read(host, ADDRESS) == left

    plan = QatTranslator().act(Invocation("device/restart", (ADDRESS,)), {"enabled": True}, host)
    assert ratelimit.read(host, ADDRESS) == left
    plan.steps[0].perform(host)
    assert ratelimit.read(host, ADDRESS) == ()
    plan.steps[1].perform(host)
    assert ratelimit.read(host, ADDRESS) == left
    assert host.read(f"{DEBUGFS}/telemetry/control") == b"2\n"
    assert _switch(host).auto_reset


def test_errors_are_accumulated_over_down_and_up(serve: Make) -> None:
    gateway = serve(f"4xxx@{ADDRESS}", ipsec=False)
    host = RealHost(gateway.root)
    total = ras.Accumulator(datetime(2026, 1, 1, tzinfo=UTC))
    faults.errors(gateway.root, ADDRESS, correctable=5, nonfatal=1)
    total = total.after(ras.read(host, ADDRESS))
    BringDown(ADDRESS, (), "none").perform(host)
    assert ras.read(host, ADDRESS) is None
    total = total.after(ras.read(host, ADDRESS))
    BringUp(ADDRESS, (), "none").perform(host)
    faults.errors(gateway.root, ADDRESS, correctable=2)
    assert total.after(ras.read(host, ADDRESS)).counts == ras.Counts(7, 1, 0)


def test_telemetry_and_heartbeat_are_read_while_the_device_is_up(serve: Make, until: Until) -> None:
    gateway = serve(f"4xxx@{ADDRESS}")
    host = RealHost(gateway.root)
    assert telemetry.read(host, ADDRESS, DEBUGFS) == telemetry.Telemetry(on=False)
    host.assign(f"{DEBUGFS}/telemetry/control", b"4\n")
    until(lambda: (telemetry.read(host, ADDRESS, DEBUGFS) or telemetry.Telemetry(on=False)).slices, "a sample")
    found = telemetry.read(host, ADDRESS, DEBUGFS)
    assert found is not None
    assert found.throughput_in
    assert found.kinds()["cph"] > found.kinds()["pke"] == 0
    assert heartbeat.read(host, DEBUGFS) == heartbeat.Heartbeat("healthy", 1, 0)
    gateway.ipsec("stop")
    BringDown(ADDRESS, (), "none").perform(host)
    assert telemetry.read(host, ADDRESS, DEBUGFS) is None
    assert heartbeat.read(host, DEBUGFS) is None


def test_a_device_that_does_not_start_and_one_that_lies(serve: Make) -> None:
    gateway = serve(f"4xxx@{ADDRESS}", ipsec=False)
    host = RealHost(gateway.root)
    BringDown(ADDRESS, (), "none").perform(host)
    faults.fail(gateway.root, "qat", "up", times=1)
    with pytest.raises(StepError, match="Bad address: the kernel log says why"):
        BringUp(ADDRESS, (), "none").perform(host)
    faults.lie(gateway.root, "qat", "up", times=1)
    with pytest.raises(StepError, match="says 'down' after 'up' was written"):
        BringUp(ADDRESS, (), "none").perform(host)
    BringUp(ADDRESS, (), "none").perform(host)
    assert simulator.commands(gateway.root) == tuple(f"sysfs {ADDRESS} state {word}" for word in ("down", *["up"] * 3))


def test_words_of_an_older_kernel_are_found_out(serve: Make) -> None:
    host = RealHost(serve(f"4xxx@{ADDRESS}", ipsec=False, kernel_release="6.1").root)
    BringDown(ADDRESS, (), "none").perform(host)
    SetAttribute(ADDRESS, "cfg_services", "dc", "sym;asym").perform(host)
    SetAttribute(ADDRESS, "cfg_services", "asym;sym", "dc").perform(host)
    assert _switch(host) == intree.Switch(up=False, services="sym;asym", auto_reset=None, pm_idle=None, ring_pairs=None)
    with pytest.raises(StepError, match="does not know one of the words"):
        SetAttribute(ADDRESS, "cfg_services", "sym", "sym;asym").perform(host)
