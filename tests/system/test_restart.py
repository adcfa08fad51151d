"""The action that restarts a device: what it does to the machine, and what is left of one that fails."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import simulator
from tests.system.client import HA, NETCONF, device, enabled, qat, until

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.system.gateway import Gateway

ADDRESS = "0000:3d:00.0"
SECOND = "0000:3f:00.0"
ENTRY = f"/ha:acceleration/ha:qat/ha:device[ha:address='{ADDRESS}']"
RESTART = ["ipsec stop", "qat_service stop", "qat_service start", "ipsec start"]
FAULT = "qat_dev0: firmware image 0x7a5 is not signed"
NACM = "urn:ietf:params:xml:ns:yang:ietf-netconf-acm"
LARGE = 10**9
FAULTS = (simulator.faults.fail, simulator.faults.lie)


def restart(address: str = ADDRESS) -> str:
    """Return the request that restarts a device."""
    return f'<action xmlns="urn:ietf:params:xml:ns:yang:1">{qat(device(address, "<restart/>"))}</action>'


def mark(gateway: Gateway) -> None:
    """Have each device that is up count from a large number."""
    simulator.stop(gateway.root)
    for path in (gateway.root / "run/simulator/devices").iterdir():
        path.write_text(
            json.dumps(json.loads(path.read_text()) | {"requests": [LARGE] * 10, "responses": [LARGE] * 10})
        )


def marked(gateway: Gateway) -> set[str]:
    """Return the devices that have not been down since they were marked: a device that comes up counts from zero."""
    folder = gateway.root / "run/simulator/devices"
    return {path.name for path in folder.iterdir() if json.loads(path.read_text())["requests"][0] >= LARGE}


def test_one_device_goes_down_and_up_with_ipsec_stopped_around_it(gateway: Gateway, transport: str) -> None:
    client = gateway.build(f"c6xx@{ADDRESS}", f"c6xx@{SECOND}").start().connect(transport)
    client.apply(enabled())
    done, before = len(gateway.commands()), gateway.condition()
    mark(gateway)
    reply = client.rpc(restart())
    assert [child.tag.rpartition("}")[2] for child in reply] == ["ok"]
    # The name of a device that is down is asked for.
    assert [line for line in gateway.commands()[done:] if line != "qat_service status"] == RESTART
    assert gateway.condition() == before
    assert marked(gateway) == {SECOND}
    assert not (gateway.state / "journal.json").exists()


def test_without_ipsec_only_the_device_is_touched(gateway: Gateway) -> None:
    gateway.build(f"c6xx@{ADDRESS}", ipsec=False).start_driver()
    client = gateway.start().connect()
    client.rpc(restart())
    assert gateway.commands() == RESTART[1:3]
    assert gateway.up() == {ADDRESS}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_device_that_does_not_come_up_again_gets_one_more_try(gateway: Gateway, fault: Callable[..., None]) -> None:
    client = gateway.build(f"c6xx@{ADDRESS}").start().connect()
    client.apply(enabled())
    before = gateway.condition()
    fault(gateway.root, "qat_service", "start", FAULT, times=1)
    refusal = client.refused(client.rpc, restart())
    assert refusal.kind == ("application", "operation-failed", None, "/ha:acceleration/ha:qat")
    for part in (
        f"step 2 of 3 failed: restart QAT {ADDRESS}",
        f"QAT {ADDRESS} did not come up",
        f"it printed: {FAULT}",
        f"QAT {ADDRESS} is up",
        "IPsec is running",
    ):
        assert part in refusal.message
    assert gateway.condition() == before


def test_one_that_never_comes_up_again_is_told_and_owed(gateway: Gateway) -> None:
    client = gateway.build(f"c6xx@{ADDRESS}").start().connect()
    client.apply(enabled())
    before = gateway.condition()
    simulator.faults.fail(gateway.root, "qat_service", "start", FAULT)
    refusal = client.refused(client.rpc, restart())
    assert (refusal.tag, gateway.condition()[1:]) == ("rollback-failed", (set(), True))
    assert f"QAT {ADDRESS} is down" in refusal.message
    simulator.faults.clear(gateway.root)
    until(lambda: gateway.condition() == before, "the device comes back")


@pytest.mark.parametrize("fault", FAULTS)
def test_a_device_that_does_not_go_down_stays_as_it_is(gateway: Gateway, fault: Callable[..., None]) -> None:
    client = gateway.build(f"c6xx@{ADDRESS}").start().connect()
    client.apply(enabled())
    before = gateway.condition()
    mark(gateway)
    fault(gateway.root, "qat_service", "stop", FAULT)
    refusal = client.refused(client.rpc, restart())
    assert refusal.tag == "operation-failed"
    assert f"QAT {ADDRESS} did not go down" in refusal.message
    assert gateway.condition() == before
    assert marked(gateway) == {ADDRESS}


def test_a_device_that_is_down_is_not_restarted(gateway: Gateway) -> None:
    client = gateway.build(f"c6xx@{ADDRESS}").start().connect()
    refusal = client.refused(client.rpc, restart())
    assert refusal.kind == ("application", "operation-failed", None, ENTRY)
    assert "can't be restarted, as it is not up: the device is stopped" in refusal.message
    assert gateway.commands() == []


def test_a_device_that_is_not_there_has_no_action(gateway: Gateway) -> None:
    client = gateway.build(f"c6xx@{ADDRESS}").start().connect()
    refusal = client.refused(client.rpc, restart(SECOND))
    assert refusal.kind == ("application", "data-missing", None, ENTRY.replace(ADDRESS, SECOND))
    assert gateway.commands() == []


def test_a_configured_device_that_died_is_there_and_can_not_be_restarted(gateway: Gateway) -> None:
    gateway.build(f"c6xx@{ADDRESS}", f"c6xx@{SECOND}")
    client = gateway.start().connect()
    client.apply(enabled(more=device(ADDRESS, "")))
    done = len(gateway.commands())
    (gateway.root / f"sys/bus/pci/devices/{ADDRESS}/vendor").write_text("0xffff\n")
    refusal = client.refused(client.rpc, restart())
    assert refusal.kind == ("application", "operation-failed", None, ENTRY)
    assert f"there is no supported QAT device at {ADDRESS}" in refusal.message
    assert gateway.commands()[done:] == []


def test_a_commit_waits_for_a_restart(gateway: Gateway) -> None:
    client = gateway.build(f"c6xx@{ADDRESS}").start().connect()
    client.apply(enabled())
    done = len(gateway.commands())
    other = gateway.connect()
    other.edit(enabled(False))
    simulator.faults.delay(gateway.root, "qat_service", "stop", 0.5, times=1)
    asked = client.start(restart())
    until(lambda: "qat_service stop" in gateway.commands()[done:], "the restart begins")
    committed = other.start_commit()
    assert asked.result() is None
    assert committed.result() is None
    found = [line for line in gateway.commands()[done:] if line != "qat_service status"]
    assert found == [*RESTART, "ipsec stop", "qat_service stop", "ipsec start"]
    assert gateway.up() == set()


def test_the_successor_of_an_agent_that_was_killed_brings_the_device_up(gateway: Gateway) -> None:
    client = gateway.build(f"c6xx@{ADDRESS}").start().connect()
    client.apply(enabled())
    before = gateway.condition()
    simulator.faults.delay(gateway.root, "qat_service", "start", 0.5, times=1)
    done = len(gateway.commands())
    client.start(restart())
    until(lambda: "qat_service start" in gateway.commands()[done:], "the device is down")
    gateway.kill()
    gateway.start()
    assert gateway.condition() == before


def test_the_input_of_the_action_is_empty(gateway: Gateway) -> None:
    client = gateway.build(f"c6xx@{ADDRESS}").start().connect()
    asked = restart().replace("<restart/>", f'<restart xmlns="{HA}"><now/></restart>')
    refusal = client.refused(client.rpc, asked)
    assert refusal.kind == ("application", "unknown-element", None, f"{ENTRY}/ha:restart")
    assert gateway.commands() == []


def test_it_takes_a_rule_to_restart_a_device(gateway: Gateway) -> None:
    recovery = gateway.build(f"c6xx@{ADDRESS}").start().connect("unix")
    recovery.apply(enabled())
    # Nothing but the defaults: the model denies the action to all.
    recovery.apply(f'<nacm xmlns="{NACM}"><rule-list xmlns:nc="{NETCONF}" nc:operation="delete"><name>admin</name>'
                   "</rule-list></nacm>")  # fmt: skip
    operator = gateway.connect("ssh")
    done = len(gateway.commands())
    refusal = operator.refused(operator.rpc, restart())
    where = f"/ha:acceleration/ha:qat/ha:device[ha:address='{ADDRESS}']/ha:restart"
    assert refusal.kind == ("application", "access-denied", None, where)
    refusal = operator.refused(operator.rpc, restart(SECOND))
    assert refusal.tag == "access-denied"
    assert gateway.commands()[done:] == []
    rule = "<name>restart</name><access-operations>exec</access-operations><action>permit</action>"
    path = f'<path xmlns:ha="{HA}">/ha:acceleration/ha:qat/ha:device/ha:restart</path>'
    recovery.apply(
        f'<nacm xmlns="{NACM}"><rule-list><name>operators</name><group>*</group><rule>{rule}'
        f"<module-name>hardware-acceleration</module-name>{path}</rule></rule-list></nacm>"
    )
    operator.rpc(restart())
    assert "qat_service stop" in gateway.commands()[done:]
