"""What a commit does to the machine, and what is left of one that fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import simulator
from tests.system.client import HA, device, enabled, qat, until

if TYPE_CHECKING:
    from tests.system.client import Client
    from tests.system.gateway import Gateway

ADDRESS = "0000:3d:00.0"
SECOND = "0000:3f:00.0"
ENABLING = ["ipsec stop", "qat_service start", "ipsec start"]
FAULT = "qat_dev0: firmware image 0x7a5 is not signed"
STATE = qat("<device><address/><oper-status/></device><configured/><active/>")


def test_enabling_stops_ipsec_starts_the_driver_and_starts_ipsec(gateway: Gateway, transport: str) -> None:
    client = gateway.build(f"c6xx@{ADDRESS}").start().connect(transport)
    files = gateway.confs()
    assert client.leafs(STATE, "oper-status", "active", "configured") == [["down"], ["false"], ["false"]]
    client.edit(enabled())
    assert gateway.commands() == []
    client.commit()
    assert gateway.commands() == ENABLING
    assert client.leafs(STATE, "oper-status", "active", "configured") == [["up"], ["true"], ["true"]]
    assert gateway.condition() == (files, {ADDRESS}, True)
    assert client.config_text() == enabled()
    assert enabled().encode() in gateway.stored


def test_enabling_what_is_enabled_runs_nothing(gateway: Gateway) -> None:
    client = gateway.build(f"c6xx@{ADDRESS}").start().connect()
    client.apply(enabled())
    assert gateway.commands() == ENABLING
    client.edit(enabled())
    assert client.plan() == []
    client.commit()
    client.apply(enabled())
    client.commit()
    assert gateway.commands() == ENABLING


def test_enabling_where_the_driver_runs_already_runs_nothing(gateway: Gateway) -> None:
    gateway.build(f"c6xx@{ADDRESS}", f"c6xx@{SECOND}").start_driver()
    client = gateway.start().connect()
    client.apply(enabled())
    assert gateway.commands() == []
    assert client.config_text() == enabled()
    assert client.leafs(STATE, "oper-status", "active") == [["up", "up"], ["true"]]


def test_without_ipsec_only_the_driver_is_started_and_stopped(gateway: Gateway) -> None:
    client = gateway.build(f"c6xx@{ADDRESS}", ipsec=False).start().connect()
    client.apply(enabled())
    client.apply(enabled(False))
    assert gateway.commands() == ["qat_service start", "qat_service stop"]
    assert gateway.up() == set()


def test_disabling_stops_the_driver_with_ipsec_stopped_around_it(gateway: Gateway) -> None:
    gateway.build(f"c6xx@{ADDRESS}").start_driver()
    client = gateway.start().connect()
    client.apply(enabled())
    client.apply(enabled(False))
    assert gateway.commands() == ["ipsec stop", "qat_service stop", "ipsec start"]
    assert gateway.condition()[1:] == (set(), True)
    assert client.leafs(STATE, "oper-status", "active", "configured") == [["down"], ["false"], ["false"]]


@pytest.mark.parametrize(
    ("exit_status", "transport"), [(1, "ssh"), (0, "unix")], ids=["fails", "exits 0 and no device comes up"]
)
def test_a_driver_that_does_not_start_is_undone_and_told(gateway: Gateway, transport: str, exit_status: int) -> None:
    gateway.build(f"c6xx@{ADDRESS}")
    before = gateway.condition()
    client = gateway.start().connect(transport)
    fault = simulator.faults.fail if exit_status else simulator.faults.lie
    fault(gateway.root, "qat_service", "start", FAULT)
    client.edit(enabled(more=device(ADDRESS, "<services>sym dc</services>")))
    refusal = client.refused(client.commit)
    assert refusal.kind == ("application", "operation-failed", None, "/ha:acceleration/ha:qat")
    for part in (
        "step 3 of 4 failed: start QAT 0000:3d:00.0 (/etc/init.d/qat_service start)",
        f"QAT 0000:3d:00.0 did not come up (exit status {exit_status})",
        "command: /etc/init.d/qat_service start",
        f"it printed: {FAULT}",
        "running is unchanged",
        "QAT 0000:3d:00.0 is down",
        "IPsec is running",
    ):
        assert part in refusal.message
    assert gateway.commands() == ENABLING
    assert gateway.condition() == before
    assert before[2]
    assert client.config_text() == ""
    assert b"acceleration" not in gateway.stored
    assert client.leafs(STATE, "oper-status", "active", "configured") == [["down"], ["false"], ["false"]]
    # The fault is gone, and so is all that it left: the same commit is done.
    simulator.faults.clear(gateway.root)
    client.commit()
    assert gateway.commands() == ENABLING * 2
    assert "ServicesEnabled = sym;dc" in gateway.conf("c6xx_dev0.conf")
    assert gateway.condition()[1:] == ({ADDRESS}, True)


def test_one_device_of_two_that_does_not_come_up_undoes_both(gateway: Gateway) -> None:
    gateway.build(f"c6xx@{ADDRESS}", f"c6xx@{SECOND}")
    (gateway.root / "etc/c6xx_dev1.conf").write_text("[GENERAL]\nServicesEnabled = nonsense\n")
    before = gateway.condition()
    client = gateway.start().connect()
    client.edit(enabled())
    refusal = client.refused(client.commit)
    assert refusal.tag == "operation-failed"
    assert f"QAT {SECOND} did not come up" in refusal.message
    assert f"QAT {ADDRESS} did not come up" not in refusal.message
    assert gateway.condition() == before
    assert gateway.commands() == ["ipsec stop", "qat_service start", "qat_service stop", "ipsec start"]
    assert client.config_text() == ""


def test_ipsec_that_does_not_start_takes_the_driver_down_again_and_gets_one_more_try(gateway: Gateway) -> None:
    gateway.build(f"c6xx@{ADDRESS}")
    before = gateway.condition()
    client = gateway.start().connect("ssh")
    simulator.faults.fail(gateway.root, "ipsec", "start", "no private key for gateway.example", times=1)
    client.edit(enabled())
    refusal = client.refused(client.commit)
    assert refusal.kind == ("application", "operation-failed", None, "/ha:acceleration/ha:qat")
    for part in (
        "step 3 of 3 failed: start IPsec (/usr/sbin/ipsec start): IPsec did not start (exit status 1)",
        "it printed: no private key for gateway.example",
        "running is unchanged. The machine now: IPsec is running; QAT 0000:3d:00.0 is down",
    ):
        assert part in refusal.message
    assert gateway.commands() == [*ENABLING, "qat_service stop", "ipsec start"]
    assert gateway.condition() == before
    assert client.config_text() == ""


def test_ipsec_that_never_starts_again_is_rollback_failed_with_the_machines_state(gateway: Gateway) -> None:
    gateway.build(f"c6xx@{ADDRESS}")
    client = gateway.start().connect()
    simulator.faults.fail(gateway.root, "ipsec", "start", "no private key for gateway.example")
    client.edit(enabled())
    refusal = client.refused(client.commit)
    assert refusal.kind == ("application", "rollback-failed", None, "/ha:acceleration/ha:qat")
    for part in ("Undoing failed too", "IPsec is stopped", f"QAT {ADDRESS} is down", "Running is unchanged"):
        assert part in refusal.message
    assert gateway.commands() == [*ENABLING, "qat_service stop", "ipsec start"]
    assert gateway.condition()[1:] == (set(), False)
    assert client.config_text() == ""
    assert client.leafs(f'<acceleration xmlns="{HA}"><ipsec/></acceleration>', "state") == [["stopped"]]


def test_services_of_one_device_go_into_its_file_and_restart_it_alone(gateway: Gateway) -> None:
    # Four devices of two types: the file's number counts within the type, the driver's name over all.
    gateway.build("c3xxx@01:00.0", f"c6xx@{ADDRESS}", "c3xxx@3e:00.0", f"c6xx@{SECOND}").start_driver()
    others = {"0000:01:00.0", ADDRESS, "0000:3e:00.0"}
    client = gateway.start().connect()
    client.apply(enabled())
    before = gateway.confs()
    until(lambda: all(total > 0 for total in _requests(client).values()), "all devices carry traffic")
    requests = _requests(client)
    client.edit(enabled(more=device(SECOND, "<services>asym dc sym</services>")))
    assert client.plan() == [
        "stop IPsec (/usr/sbin/ipsec stop)",
        "write /etc/c6xx_dev1.conf and restart QAT 0000:3f:00.0 (/etc/init.d/qat_service restart)",
        "start IPsec (/usr/sbin/ipsec start)",
    ]
    assert gateway.confs() == before
    client.commit()
    assert gateway.commands() == ["ipsec stop", "qat_service restart", "ipsec start"]
    after = gateway.confs()
    assert {name for name in before if before[name] != after[name]} == {"c6xx_dev1.conf"}
    changed = [
        (old, new)
        for old, new in zip(before["c6xx_dev1.conf"].splitlines(), after["c6xx_dev1.conf"].splitlines(), strict=True)
        if old != new
    ]
    assert changed == [(b"ServicesEnabled = cy", b"ServicesEnabled = cy;dc")]
    assert gateway.up() == {*others, SECOND}
    now = _requests(client)
    # A restart sets the counters to zero: those of the others went on from where they were.
    assert {address for address in now if now[address] >= requests[address]} >= others
    assert now[SECOND] < requests[SECOND] + 1
    found = client.leafs(qat(device(SECOND, "<active-services/>")), "active-services")
    assert found == [["asym sym dc"]]


def test_services_that_a_device_does_not_take_are_refused(gateway: Gateway) -> None:
    client = gateway.build(f"c6xx@{ADDRESS}").start().connect()
    before = gateway.condition()
    entry = f"/ha:acceleration/ha:qat/ha:device[ha:address='{ADDRESS}']"
    refusal = client.refused(client.edit, enabled(more=device(ADDRESS, "<services>decomp</services>")))
    assert refusal.kind == ("application", "operation-failed", "unsupported-services", f"{entry}/ha:services")
    assert "does not take the services 'decomp'; it takes 'asym sym dc'," in refusal.message
    absent = client.refused(client.edit, enabled(more=device("0000:7f:00.0", "")))
    assert absent.kind == (
        "application",
        "operation-failed",
        "no-such-device",
        "/ha:acceleration/ha:qat/ha:device[ha:address='0000:7f:00.0']",
    )
    assert gateway.condition() == before
    assert gateway.commands() == []


def test_running_is_what_an_agent_starts_with_and_boot_brings_the_machine_to_it(gateway: Gateway) -> None:
    client = gateway.build(f"c6xx@{ADDRESS}").start().connect()
    client.apply(enabled())
    running = client.config_text()
    gateway.stop()
    gateway.run("etc/init.d/qat_service", "stop")
    assert gateway.up() == set()
    client = gateway.start().connect()
    assert client.config_text() == running
    assert gateway.commands() == ENABLING * 2
    assert gateway.condition()[1:] == ({ADDRESS}, True)


def _requests(client: Client) -> dict[str, int]:
    found = client.get(qat("<device><address/><flows><requests/></flows></device>"))
    devices = found.iterfind(f".//{{{HA}}}device")
    return {
        str(entry.findtext(f"{{{HA}}}address")): int(entry.findtext(f"{{{HA}}}flows/{{{HA}}}requests") or 0)
        for entry in devices
    }
